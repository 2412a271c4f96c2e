"""What lessons were worth on a stream of real runs: first-try success, paired by task, with 95 % intervals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from _lessons_stream import ARMS, LEARNED, PLAIN, SHUFFLED, Row
from _self_correction_statistics import interval

from tracer_hooks.datasets import Journal

_PAIRS: Final = ((LEARNED, PLAIN), (SHUFFLED, PLAIN), (LEARNED, SHUFFLED))


@dataclass(frozen=True)
class Streamed:
    """One stream as its journals hold it."""

    name: str
    runs: Mapping[str, Mapping[str, Row]]
    """By arm and place."""
    learned: Sequence[Row]
    """What each look at the failures came to."""
    states: Mapping[str, Mapping[str, str]]
    """By arm: the last known state of each lesson."""

    @classmethod
    def read(cls, folder: Path) -> Streamed:
        """The stream in a folder."""
        journals = {arm: Journal(folder / arm.replace(" ", "_")) for arm in ARMS}
        states = {arm: [dict(row["states"]) for row in one.results("states/")][-1:] for arm, one in journals.items()}
        return cls(
            folder.name,
            {arm: {str(row["unit"]): dict(row) for row in one.results("run/")} for arm, one in journals.items()},
            [dict(row) for row in journals[LEARNED].results("learn/")],
            {arm: found[0] if found else {} for arm, found in states.items()},
        )


def save_outcomes(folder: Path, out: Path) -> None:
    """Write the journals without the run stores: what the report needs, and the lessons."""
    for place in sorted(folder.glob("*/*/journal.jsonl")):
        journal, kept = Journal(place.parent), Journal(out / place.parent.relative_to(folder))
        for prefix in ("run/", "learn/", "states/"):
            for row in journal.results(prefix):
                if row["unit"] not in kept:
                    kept.add(str(row["unit"]), {key: value for key, value in row.items() if key != "unit"})


def report(folder: Path, out: Path | None) -> int:
    """Print the figures of all streams of one model and suite together, and write them as JSON."""
    streams = [Streamed.read(one) for one in sorted(folder.iterdir()) if one.is_dir()]
    document: dict[str, Any] = {}
    for experiment in sorted({one.name.rpartition("-")[0] for one in streams}):
        found = document[experiment] = figures([one for one in streams if one.name.rpartition("-")[0] == experiment])
        print(f"\n{experiment}: {found['streams']} streams, {found['tasks']} tasks that every arm has run")
        for arm, row in found["arms"].items():
            print(f"  {arm:<11} passed {row['passed']:.1%} at first try, {row['tokens']:.0f} tokens a run; "
                  f"with a lesson {row['with_lesson']} runs; lessons {row['lessons']}")  # fmt: skip
        for row in found["differences"]:
            middle, low, high = (100 * value for value in row["difference"])
            print(f"  {row['of']} minus {row['minus']}, {row['on']} (n={row['n']}): {middle:+.1f} points "
                  f"[{low:+.1f}, {high:+.1f}]")  # fmt: skip
        print(f"  written: {found['learned']} lessons, {found['refused']} refused, {found['writing_tokens']} tokens")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def figures(streams: Sequence[Streamed]) -> dict[str, Any]:
    """The figures of several streams; only places that every arm has run count."""
    places = [
        (stream, unit)
        for stream in streams
        for unit in stream.runs[PLAIN]
        if all(unit in stream.runs[arm] for arm in ARMS)
    ]
    rows = {arm: [stream.runs[arm][unit] for stream, unit in places] for arm in ARMS}
    return {
        "streams": len(streams),
        "tasks": len(places),
        "arms": {arm: _arm(rows[arm], streams, arm) for arm in ARMS} if places else {},
        "differences": [row for of, minus in _PAIRS for row in _differences(of, minus, rows)],
        "learned": sum(len(row["learned"]) for stream in streams for row in stream.learned),
        "refused": sum(len(row["refused"]) for stream in streams for row in stream.learned),
        "writing_tokens": sum(row["tokens"] for stream in streams for row in stream.learned),
    }


def _arm(rows: Sequence[Row], streams: Sequence[Streamed], arm: str) -> dict[str, Any]:
    return {
        "passed": sum(row["passed"] for row in rows) / len(rows),
        "tokens": sum(row["tokens"] for row in rows) / len(rows),
        "with_lesson": sum(bool(row["lessons"]) for row in rows),
        "lessons": dict(Counter(state for stream in streams for state in stream.states[arm].values())),
    }


def _differences(of: str, minus: str, rows: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """On all places, on each part of the stream, and on those where the first arm's run had a lesson.

    Which runs had a lesson was drawn by a coin, so that choosing these by it chooses no easier tasks.
    """
    pairs = list(zip(rows[of], rows[minus], strict=True))
    groups = {"all": pairs}
    for part in sorted({mine["part"] for mine, _ in pairs}):
        groups[f"part {part + 1}"] = [pair for pair in pairs if pair[0]["part"] == part]
    groups["runs with a lesson"] = [pair for pair in pairs if pair[0]["lessons"]]
    return [
        {"of": of, "minus": minus, "on": name, "n": len(group), "difference": _paired(group)}
        for name, group in groups.items()
        if group
    ]


def _paired(pairs: Sequence[tuple[Row, Row]]) -> tuple[float, float, float]:
    values = [float(mine["passed"]) - float(other["passed"]) for mine, other in pairs]
    return interval(values, [str(mine["task"]) for mine, _ in pairs])
