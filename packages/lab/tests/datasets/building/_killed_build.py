"""A build in a process of its own, which kills itself after so many units."""

import os
import signal
import sys
from pathlib import Path

from _team import builder

from tracer_hooks_lab.datasets import BuildObserver


def main() -> None:
    folder, at = Path(sys.argv[1]), int(sys.argv[2])
    seen = 0

    def tell(progress: BuildObserver) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)

    builder(folder, workers=2, on_progress=tell).build()


if __name__ == "__main__":
    main()
