"""What a run store on a PostgreSQL server costs and keeps: processes that store, a million runs, and kills.

    python benchmarks/store_servers.py [--seconds 20] [--runs 1000000] [--kills 100] [--server-kills 20] [--json FILE]

The server is one of its own in a temporary folder on the disk, with PostgreSQL's defaults (``fsync`` among them).

- load: eight processes (``--processes``) store 200 runs a second of ten steps. The figure is how long a call is kept.
- list: how long the newest 50 runs, the counts, the issues of 1,000 runs and a search by the beginning of an id take
  among so many runs.
- kills: the processes store all the time; one after the other is killed, and the server between. What a call had
  returned for, with nothing waiting, has to be there, and nothing twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "unit" / "store"))

from tracer_hooks.config import place_of  # noqa: E402
from tracer_hooks.diagnosis import recurring_findings  # noqa: E402
from tracer_hooks.runtime._store_writer import PendingCall, writer_for  # noqa: E402
from tracer_hooks.schema import Attribution, Finding, FindingKind, RunOutcome, Step, Trajectory, Usage  # noqa: E402
from tracer_hooks.store import PackedRun, RunStore, StoredRun  # noqa: E402

_RECOVERED_S = 8.0
"""A server that failed is tried again after five seconds; until then nobody waits, and nothing is acknowledged."""
_WARM_S = 3.0
"""The first seconds of a process do not count: it connects, and compiles its statements."""


def make_run(run_id: str) -> StoredRun:
    """A run of ten steps, 8 kB of tape among them."""
    letters = random.Random(run_id)
    words = ["".join(letters.choices("abcdefgh", k=7)) for _ in range(200)]
    steps = [
        Step(index=n, agent=f"agent{n % 3}", content=" ".join(words[n * 20 : n * 20 + 20]), usage=Usage(input_tokens=9))
        for n in range(10)
    ]
    trajectory = Trajectory(run_id=run_id, team="office", task=f"task {run_id}", steps=tuple(steps))
    tape = {"run_id": run_id, "messages": [{"role": "user", "content": " ".join(letters.choices(words, k=1000))}]}
    return StoredRun.of(trajectory, session_id=run_id, outcome=RunOutcome.FAILED, tape=tape)


def work(url: str, name: str, rate: float, seconds: float) -> None:
    """Store runs at a rate, or as fast as it goes; says each on a line once its call has returned."""
    place = place_of(url)
    writer, said = writer_for(place), sys.stdout
    began = time.monotonic()
    for number in range(1_000_000_000):
        due = began + number / rate if rate else 0.0
        time.sleep(max(0.0, due - time.monotonic()))
        if time.monotonic() - began > seconds:
            break
        run = PackedRun.of(make_run(f"{name}-{number}"))
        at = time.monotonic()
        call = PendingCall([run])
        writer.store(call)
        took = time.monotonic() - at
        line = {"run": f"{name}-{number}", "took": took, "kept": call.is_settled, "warm": at - began > _WARM_S}
        said.write(json.dumps(line) + "\n")
        said.flush()
    writer.drain(time.monotonic() + 30)


def start(url: str, name: str, folder: Path, *, rate: float = 0.0, seconds: float = 1e9) -> subprocess.Popen[bytes]:
    """Start a process that stores; what it says is in ``folder``."""
    command = [sys.executable, __file__, "--work", url, name, str(rate), str(seconds)]
    with open(folder / f"{name}.jsonl", "ab") as out, open(folder / "errors", "ab") as errors:
        return subprocess.Popen(command, stdout=out, stderr=errors)


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """What the processes said; a line that a kill cut is none."""
    texts = (line for path in folder.glob("*.jsonl") for line in path.read_text().split("\n")[:-1])
    return [json.loads(line) for line in texts]


def stored_in(url: str) -> Counter[str]:
    """How often each run is there."""
    import psycopg

    with psycopg.connect(url) as connection:
        return Counter(run_id for (run_id,) in connection.execute("SELECT run_id FROM tracer_hooks.runs"))


def load(url: str, seconds: float, processes: int) -> dict[str, Any]:
    """The wait of callers at 200 runs a second in all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = {"rate": 200.0 / processes, "seconds": seconds + _WARM_S}
        workers = [start(url, f"w{number}", folder, **own) for number in range(processes)]
        for worker in workers:
            worker.wait()
        said = lines_in(folder)
    taken = sorted(line["took"] for line in said if line["warm"])
    return {
        "runs_per_s": round(len(taken) / seconds, 1),
        "median_ms": round(taken[len(taken) // 2] * 1e3, 1),
        "p99_ms": round(taken[int(len(taken) * 0.99)] * 1e3, 1),
        "most_ms": round(taken[-1] * 1e3, 1),
        "stored": len(stored_in(url)),
        "said": len(said),
    }


def fill(url: str, number: int) -> None:
    """So many runs of ten teams over three months, made by the server."""
    import psycopg

    found = Finding(kind=FindingKind.MADE_UP_DATA, step=4, agent="agent1", text="agent1 made 12 up", quote="12")
    blame = Attribution(run_id="first", agent="agent1", step=4, confidence=0.7, findings=(found,))
    with RunStore(url) as store:
        store.save(make_run("first").model_copy(update={"attribution": blame}))
    columns = "session_id, attempt, kind, framework, task, outcome_reason, steps, input_tokens, output_tokens, agent, "
    columns += "step, error_mode, confidence, abstained, trajectory, attribution, rewrite, tape, prompts, tags, parent"
    begin = int(datetime.now(UTC).timestamp() * 1e6)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = tracer_hooks")
        connection.execute(
            f"INSERT INTO runs (run_id, team, outcome, started_us, {columns}) SELECT md5(n::text), 'team ' || n % 10, "
            f"CASE WHEN n % 4 = 0 THEN 'failed' ELSE 'succeeded' END, {begin} - n * 7776000::bigint, {columns} "
            f"FROM runs, generate_series(1, {number}) AS n WHERE run_id = 'first'".encode()
        )
        connection.execute("VACUUM ANALYZE runs")


def listing(url: str, number: int) -> dict[str, Any]:
    """Milliseconds of what looks at a store of so many runs, the least of five and the first."""
    fill(url, number)
    found: dict[str, Any] = {"runs": number}
    with RunStore(url, read_only=True, stays_open=True) as store:
        store.list(limit=1)
        looks: dict[str, Callable[[], object]] = {
            "list": store.list,
            "list_team_failed": lambda: store.list(team="team 4", outcome=RunOutcome.FAILED),
            "list_at_the_end": lambda: store.list(offset=number - 60),
            "counts": store.counts,
            "issues": lambda: recurring_findings(store),
            "find": lambda: store.find_id("c4ca4238a0b9"),
        }
        for name, look in looks.items():
            taken = []
            for _ in range(5):
                began = time.monotonic()
                look()
                taken.append(time.monotonic() - began)
            found[f"{name}_ms"] = round(min(taken) * 1e3, 1)
    return found


def kills(server: Any, url: str, number: int, of_server: int, processes: int) -> dict[str, Any]:
    """What is lost and doubled where writers and the server are killed."""
    draw = random.Random(7)
    at_server = set(draw.sample(range(number), min(of_server, number)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = [start(url, f"w{each}", folder, rate=20) for each in range(processes)]
        time.sleep(_WARM_S)
        for turn in range(number):
            time.sleep(draw.uniform(0.1, 0.6))
            if turn in at_server:
                server.kill()
                server.start()
                time.sleep(_RECOVERED_S)
            place = draw.randrange(processes)
            workers[place].send_signal(signal.SIGKILL)
            workers[place].wait()
            workers[place] = start(url, f"k{turn}", folder, rate=20)
        time.sleep(10)  # the last kill of the server is got over
        for worker in workers:
            worker.kill()
            worker.wait()
        said = lines_in(folder)
        errors = (folder / "errors").read_text()
    stored = stored_in(url)
    kept = {line["run"] for line in said if line["kept"]}
    return {
        "kills": number,
        "server_kills": len(at_server),
        "acknowledged": len(kept),
        "returned_early": len(said) - len(kept),
        "lost": len(kept - stored.keys()),
        "doubled": sum(stored.values()) - len(stored) + len(said) - len({line["run"] for line in said}),
        "tracebacks": errors.count("Traceback"),
    }


def main() -> None:
    """Print a table of all, and write it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--runs", type=int, default=1_000_000, help="0 leaves the lists out")
    parser.add_argument("--kills", type=int, default=100, help="0 leaves the kills out")
    parser.add_argument("--server-kills", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", nargs=4, metavar=("URL", "NAME", "RATE", "SECONDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        url, name, rate, seconds = given.work
        return work(url, name, float(rate), float(seconds))
    from _server import PostgresServer

    server = PostgresServer(in_memory=False)
    try:
        found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "load_before": os.getloadavg()[0]}
        found["load"] = load(server.new_database(), given.seconds, given.processes)
        if given.runs:
            found["list"] = listing(server.new_database(), given.runs)
        if given.kills:
            found["kills"] = kills(server, server.new_database(), given.kills, given.server_kills, given.processes)
    finally:
        server.stop()
    for part, figures in found.items():
        print(part, *(f"{name}={value}" for name, value in figures.items()) if isinstance(figures, dict) else [figures])
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
