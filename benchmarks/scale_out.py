"""Many traces of ten steps, diagnosed here and on a Ray cluster: traces a second, memory, and equal results.

    python benchmarks/scale_out.py --traces 1000 10000 100000 --workers 1 2

The rates of a cluster are measured twice: with what starts it, and between the first and the last part that came back.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory, to_json

_JOB = """
import json, sys, time
from pathlib import Path
from tracer_hooks.batch import BatchJob, DiagnoseSettings, in_process, on_ray
from tracer_hooks.datasets import parts_of

path, out, workers = sys.argv[1:]
engine = on_ray(workers=int(workers)) if int(workers) else in_process
times = []
job = BatchJob(parts_of(path), DiagnoseSettings(attributor="structural"), out=Path(out))
counts = job.run(engine, lambda told: times.append((time.monotonic(), told.runs)))
print(json.dumps({"parts": len(job.parts), "runs": counts.runs, "named": counts.named, "times": times}))
"""


def traces(count: int, seed: int) -> Iterator[Trajectory]:
    """Runs of five agents; every second one has a wrong sum that its answer repeats."""
    draw = random.Random(seed)
    for number in range(count):
        price, fee, wrong = draw.randint(10, 99), draw.randint(10, 99), 3 * (number % 2)
        looked_up = ToolCall(name="price", arguments={"order": number}, result=f'{{"price": {price}, "fee": {fee}}}')
        words = {
            3: ("lookup", f"The price is {price} EUR and the fee {fee} EUR."),
            6: ("calculator", f"{price} + {fee} = {price + fee + wrong} EUR"),
            9: ("writer", f"The total is {price + fee + wrong} EUR."),
        }
        steps = []
        for at in range(10):
            agent, text = words.get(at, (f"helper{at % 2}", f"Part {at} of request {number} is under way, as asked."))
            steps.append(Step(index=at, agent=agent, content=text, tool_calls=(looked_up,) if at == 3 else ()))
        yield Trajectory(
            run_id=f"run-{number:08d}", team="desk", task=f"What do price and fee of order {number} come to?",
            steps=tuple(steps), final_output=steps[-1].content,
            outcome=RunOutcome.FAILED if wrong else RunOutcome.SUCCEEDED,
        )  # fmt: skip


def measured(path: Path, out: Path, workers: int) -> dict[str, Any]:
    """One job in a process of its own; ``workers`` 0 is this library's own process."""
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", _JOB, path, out, str(workers)], stdout=subprocess.PIPE) as process:
        driver = cluster = 0
        while process.poll() is None:
            driver, cluster = (max(pair) for pair in zip((driver, cluster), _memory(process.pid), strict=True))
            time.sleep(0.5)
        seconds = time.monotonic() - began
        assert process.stdout is not None
        told = json.loads(process.stdout.read())
    (_, _), *later = told["times"]
    rate = (later[-1][1] - later[0][1]) / max(1e-9, later[-1][0] - later[0][0]) if len(later) > 1 else 0.0
    return {
        "workers": workers,
        "seconds": round(seconds, 1),
        "traces_per_second": round(told["runs"] / seconds, 1),
        "at_work": round(rate, 1),
        "driver_mb": driver >> 20,
        "workers_mb": cluster >> 20,
        "result_bytes": out.stat().st_size,
        "named": told["named"],
    }


def _memory(pid: int) -> tuple[int, int]:
    """Bytes of the process, and of the largest worker below it."""
    try:
        own = psutil.Process(pid)
        below = [each for each in own.children(recursive=True) if "MapWorker" in "".join(each.cmdline())]
        return own.memory_info().rss, max((each.memory_info().rss for each in below), default=0)
    except psutil.Error:  # it has just ended
        return 0, 0


def results(path: Path) -> Iterator[dict[str, Any]]:
    """The results without what differs from one time to the next."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield {name: value for name, value in json.loads(line).items() if name != "elapsed_s"}


def main() -> None:
    """Measure, and print a JSON document a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], help="0 is one process without Ray")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for count in given.traces:
            path = Path(folder) / f"{count}.jsonl"
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{to_json(each)}\n" for each in traces(count, given.seed))
            outs = [Path(folder) / f"{count}-{workers}.jsonl" for workers in given.workers]
            for workers, out in zip(given.workers, outs, strict=True):
                row = {"traces": count, "bytes": path.stat().st_size, **measured(path, out, workers)}
                pairs = zip(results(out), results(outs[0]), strict=True)
                print(json.dumps({**row, "equal": all(one == other for one, other in pairs)}), flush=True)


if __name__ == "__main__":
    main()
