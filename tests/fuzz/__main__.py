"""``python -m tests.fuzz``: damaged inputs for hours, counted; what fails is kept in the corpus."""

import argparse
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from ._formats import FORMATS, Format
from ._trying import CORPUS, files_of, try_files, write_files


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all formats together (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same inputs (default: 0)")
    parser.add_argument("--inputs", type=int, default=200_000, help="at most so many for each format")
    parser.add_argument("--format", choices=sorted(FORMATS), action="append", help="only this one; may be repeated")
    given = parser.parse_args()
    names = given.format or list(FORMATS)
    if len(names) == 1:
        return _run(FORMATS[names[0]], given.seed, given.inputs, given.seconds)
    share = given.seconds / len(names)
    codes = []
    for name in names:  # each in a process of its own, so that one that dies does not end the others
        command = [sys.executable, "-m", "tests.fuzz", "--format", name, "--seed", str(given.seed)]
        done = subprocess.run([*command, "--inputs", str(given.inputs), "--seconds", str(share)], check=False)
        if done.returncode not in (0, 1):
            print(f"{name}: the process died with {done.returncode}; its last input is in the folder that it named")
        codes.append(done.returncode)
    return 1 if any(codes) else 0


def _run(format: Format, seed: int, inputs: int, seconds: float) -> int:
    failures: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    began, number = time.monotonic(), 0
    with TemporaryDirectory(prefix=f"tracer-hooks-fuzz-{format.name}-") as place:
        folder = Path(place) / "input"
        while number < inputs and time.monotonic() - began < seconds:
            files = files_of(format, seed, number)
            tried = try_files(format, files, folder)
            if tried.failure:
                if _kind_of(tried.failure) not in map(_kind_of, failures):
                    write_files(files, CORPUS / format.name / f"seed-{seed}-{number}")
                failures[tried.failure] += 1
            elif tried.caught:
                caught[tried.caught] += 1
            number += 1
    passed = time.monotonic() - began
    print(
        f"{format.name}: {number:,} inputs in {passed:,.0f} s (seed {seed}), "
        f"{failures.total():,} failures, {caught.total():,} caught by the boundary",
        flush=True,
    )
    for what, counts in (("FAILED", failures), ("caught", caught)):
        for line, count in counts.most_common(12):
            print(f"  {what} {count:,} times: {line}", flush=True)
    return 1 if failures else 0


def _kind_of(failure: str) -> str:
    return failure.split(": ")[0]


if __name__ == "__main__":
    sys.exit(main())
