"""Is anything lost or doubled when processes are killed at work?

    python benchmarks/kills.py [--kills 360] [--kinds runs,prompts,labels,data-set,calibrate,calibrated,improve]
                               [--seed 1] [--json FILE]

Processes are forked, do their work, and are ended with ``kill -9`` at moments drawn by chance; others take their place.
After each call of tracer-hooks has returned they write down what it did, in one write to a file, which their death
cannot take back. In the end everything that was written down is looked for.

- runs: four processes call a hooked team with one store. prompts: three propose, try, accept and roll back versions of
  prompts in one store. labels: three sessions add to one file.
- data-set, calibrate, improve: a job is killed and started again until it comes to its end, which must be that of a job
  that nobody killed; what its progress said was done must not be done again. A fitted attributor is whole or absent.
- calibrated: a fitted attributor is stored over another one again and again; it must be one of both, whole.

"Early" is a call that returned before its commit, since others had kept it from writing for half a second: it promises
nothing yet, as in decision 0034, and what is lost of it is counted apart.

Each store is opened afterwards, a tenth of its runs are read, and ``PRAGMA integrity_check`` must say "ok".
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from pathlib import Path

from _kills_ground import Found, Work, killed
from _kills_jobs import Calibrate, Calibrated, DataSet, Improve
from _kills_stores import Labels, Prompts, Runs

KINDS: dict[str, tuple[type[Work], int]] = {
    "runs": (Runs, 100),
    "prompts": (Prompts, 60),
    "labels": (Labels, 40),
    "data-set": (DataSet, 60),
    "calibrate": (Calibrate, 20),
    "calibrated": (Calibrated, 60),
    "improve": (Improve, 20),
}
"""With how many of 360 kills each gets."""
_ALL = sum(share for _, share in KINDS.values())


def main() -> None:
    """Kill, count, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kills", type=int, default=_ALL)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger().setLevel(logging.ERROR)
    rows = {}
    for kind in asked.kinds.split(","):
        work, share = KINDS[kind]
        rows[kind] = row(work(), max(1, asked.kills * share // _ALL), asked.seed)
        print(f"{kind}: {rows[kind]['seconds']:.0f} s", file=sys.stderr)
    show(rows)
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if any(one["lost"] or one["doubled"] or one["damaged"] for one in rows.values()):
        sys.exit(1)


def row(work: Work, kills: int, seed: int) -> dict[str, object]:
    """What came of one kind."""
    home, begun = Path(tempfile.mkdtemp()), time.monotonic()
    try:
        found: Found = killed(work, home / "work", kills, seed)
    finally:
        shutil.rmtree(home)
    return {"name": work.name, "kills": kills, "seconds": round(time.monotonic() - begun, 1), **asdict(found)}


def show(rows: dict[str, dict[str, object]]) -> None:
    """Print the table."""
    columns = ("kills", "acknowledged", "early", "early_lost", "lost", "doubled", "damaged", "rounds")
    print("| work | kills | acknowledged | of these early | early and lost | lost | doubled | damaged | jobs ended |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for one in rows.values():
        cells = [str(len(one[name]) if name == "damaged" else one[name]) for name in columns]  # type: ignore[arg-type]
        print(f"| {one['name']} | " + " | ".join(cells) + " |")
    for one in rows.values():
        for line in one["damaged"]:  # type: ignore[attr-defined]
            print(f"DAMAGED: {one['name']}: {line}")


if __name__ == "__main__":
    main()
