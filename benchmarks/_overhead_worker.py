"""One measurement in a process of its own: ``python _overhead_worker.py JOB.json RESULT.json``.

Lines on stdout that begin with ``@@`` carry progress; the frameworks may print anything else.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from _overhead_memory import measure_memory
from _overhead_modes import make
from _overhead_pairs import Pairs


def main(job_file: str, result_file: str) -> None:
    job = json.loads(Path(job_file).read_text())
    # The frameworks warn about scripted models at each call; formatting that is no part of a run.
    logging.getLogger().setLevel(logging.ERROR)
    bench_type = importlib.import_module(f"_overhead_{job['framework']}").BenchTeam
    with tempfile.TemporaryDirectory() as scratch:
        result = _measure(job, bench_type, Path(scratch))
    Path(result_file).write_text(json.dumps(result))


def _measure(job: dict[str, Any], bench_type: Any, scratch: Path) -> dict[str, Any]:
    switch = make(job["mode"], job["framework"], scratch)
    if job["kind"] == "memory":
        return measure_memory(bench_type(), switch, job["runs"], new_team=job["new_team"], progress=_progress)
    pairs = Pairs(bench_type, switch)
    return {**pairs.measure(job["pairs"], job["warm_up"], _progress), "census": pairs.census()}


def _progress(done: int) -> None:
    print(f"@@ {done}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
