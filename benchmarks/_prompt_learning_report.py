"""The tables of the experiment on prompts: success on tasks never used, formerly passed tasks, and the acceptance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from _prompt_learning_arms import AGAIN, ARMS, LARGE_MODEL, NO_CHANGE, file_name

from tracer_hooks.datasets import Journal
from tracer_hooks.improvement import AcceptanceRule, AcceptanceTest

_RESAMPLES: Final = 4_000
_PARTS: Final = ("accept", "unused")


@dataclass(frozen=True)
class Repeated:
    """One repetition as its journals hold it.

    Attributes:
        name: Model, suite and seed.
        found: What each arm's search came to.
        passed: By part and arm: whether each task passed, in the order of the tasks.
        tokens: By part and arm.
    """

    name: str
    found: Mapping[str, Mapping[str, Any]]
    passed: Mapping[tuple[str, str], Sequence[bool]]
    tokens: Mapping[tuple[str, str], int]

    @classmethod
    def read(cls, folder: Path) -> Repeated:
        """The repetition in a folder."""
        found, passed, tokens = {}, {}, {}
        names = [*(arm.name for arm in ARMS), LARGE_MODEL]
        for name in names:
            journal = Journal(folder / file_name(name))
            if "result" in journal:
                found[name] = {"runs": _runs_in(journal), **journal["result"]}
        for part in _PARTS:
            for name in (NO_CHANGE, AGAIN, *names):
                place = folder / file_name(f"{part} {name}")
                journal = Journal(place) if place.exists() else None
                if journal is not None and "outcomes" in journal:
                    passed[part, name] = journal["outcomes"]["passed"]
                    tokens[part, name] = journal["outcomes"]["tokens"]
        return cls(folder.name, found, passed, tokens)


def report(folder: Path, out: Path) -> int:
    """Print the tables, and write them as JSON."""
    repeated = [Repeated.read(one) for one in sorted(folder.iterdir()) if one.is_dir()]
    document: dict[str, Any] = {}
    for experiment in sorted({one.name.rpartition("-")[0] for one in repeated}):
        those = [one for one in repeated if one.name.rpartition("-")[0] == experiment]
        rows = [_row(name, those) for name in (*(arm.name for arm in ARMS), LARGE_MODEL)]
        document[experiment] = {"seeds": len(those), "no change": _plain(those), "arms": rows}
        print(f"\n{experiment}, {len(those)} seeds; no change: {_said(_plain(those))}")
        for row in rows:
            print(_line(row))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def save_outcomes(folder: Path, out: Path) -> None:
    """Write what the report needs, without the runs, as journals that it can read."""
    for place in sorted(folder.glob("*/*/journal.jsonl")):
        journal = Journal(place.parent)
        kept = {unit: journal[unit] for unit in ("result", "outcomes") if unit in journal}
        if "result" in kept:
            kept["result"] = {"runs": _runs_in(journal), **kept["result"]}
        for unit, row in kept.items():
            Journal(out / place.parent.relative_to(folder)).add(
                unit, {key: value for key, value in row.items() if key != "unit"}
            )


def _runs_in(journal: Journal) -> int:
    return sum(1 for _ in journal.results("run/"))


def _plain(repeated: Sequence[Repeated]) -> dict[str, Any]:
    both = [
        float(value)
        for one in repeated
        for name in (NO_CHANGE, AGAIN)
        for value in one.passed.get(("unused", name), ())
    ]
    return {"runs": len(both), "passed": float(np.mean(both)) if both else None}


def _row(arm: str, repeated: Sequence[Repeated]) -> dict[str, Any]:
    unused = _differences(arm, repeated, "unused")
    formerly = _formerly_passed(arm, repeated)
    found = [one.found[arm] for one in repeated if arm in one.found]
    return {
        "arm": arm,
        "searches": len(found),
        "changed": sum(_has_changed(one, arm) for one in repeated),
        "own_score": [one["own_score"] for one in found],
        "best_score": [one["score"] for one in found],
        "candidates": [one["candidates"] for one in found],
        "refused": [len(one["refused"]) for one in found],
        "runs": [one["runs"] for one in found],
        "writing_tokens": [sum(one["writing"].values()) for one in found],
        "unused": {"n": len(unused), "gain": _interval(unused), "passed": _rate(arm, repeated)},
        "formerly_passed": {"n": len(formerly), "gain": _interval(formerly)},
        "acceptance": [_accepted(arm, one) for one in repeated if ("accept", arm) in one.passed],
    }


def _has_changed(one: Repeated, arm: str) -> bool:
    found = one.found.get(arm)
    return found is not None and found["score"] > found["own_score"]


def _rate(arm: str, repeated: Sequence[Repeated]) -> float | None:
    values = [float(value) for one in repeated for value in one.passed.get(("unused", arm), ())]
    return float(np.mean(values)) if values else None


def _differences(arm: str, repeated: Sequence[Repeated], part: str) -> list[float]:
    """New minus old by task; old is the mean of its two runs."""
    found = []
    for one in repeated:
        new, old = one.passed.get((part, arm)), _old(one, part)
        if new is not None and old is not None:
            found += [float(after) - before for after, before in zip(new, old, strict=True)]
    return found


def _old(one: Repeated, part: str) -> list[float] | None:
    runs = [one.passed[part, name] for name in (NO_CHANGE, AGAIN) if (part, name) in one.passed]
    return [float(np.mean(values)) for values in zip(*runs, strict=True)] if runs else None


def _formerly_passed(arm: str, repeated: Sequence[Repeated]) -> list[float]:
    """New minus old on tasks that a first run with the old prompts passed; the old run that counts is another one."""
    found = []
    for one in repeated:
        for part in _PARTS:
            runs = [one.passed.get((part, name)) for name in (NO_CHANGE, AGAIN, arm)]
            if any(run is None for run in runs):
                continue
            for first, again, new in zip(*runs, strict=True):  # type: ignore[arg-type]
                if first:
                    found.append(float(new) - float(again))
    return found


def _accepted(arm: str, one: Repeated) -> dict[str, Any]:
    """What the acceptance test says of an arm's prompts, on tasks that proposed nothing."""
    test = AcceptanceTest(AcceptanceRule())
    new, first, again = (one.passed.get(("accept", name)) for name in (arm, NO_CHANGE, AGAIN))
    if new is None or first is None or again is None:
        return {}
    for after, before, old in zip(new, first, again, strict=True):
        test.add(float(after), float(old), formerly_passed=before)
    return {"seed": one.name.rpartition("-")[2], "decision": test.decision.value, "reason": test.reason}


def _interval(values: Sequence[float]) -> list[float] | None:
    """Mean with its 95 % interval, tasks drawn anew."""
    if not values:
        return None
    known = np.asarray(values)
    chance = np.random.default_rng(0)
    means = known[chance.integers(0, len(known), (_RESAMPLES, len(known)))].mean(axis=1)
    return [float(known.mean()), *(float(end) for end in np.quantile(means, [0.025, 0.975]))]


def _line(row: Mapping[str, Any]) -> str:
    gain, formerly = row["unused"]["gain"], row["formerly_passed"]["gain"]
    parts = [f"{row['arm']:<32}", f"{row['changed']} of {row['searches']} searches found something"]
    parts.append(f"never used {_points(gain)} (n={row['unused']['n']})")
    parts.append(f"formerly passed {_points(formerly)} (n={row['formerly_passed']['n']})")
    parts.append(f"writing {row['writing_tokens']} tokens, refused {row['refused']}")
    decisions = [one.get("decision", "-") for one in row["acceptance"]]
    return "; ".join(parts) + f"; trial: {decisions}"


def _points(gain: Sequence[float] | None) -> str:
    return "-" if gain is None else f"{100 * gain[0]:+.1f} [{100 * gain[1]:+.1f}, {100 * gain[2]:+.1f}]"


def _said(plain: Mapping[str, Any]) -> str:
    return "-" if plain["passed"] is None else f"{100 * plain['passed']:.1f} % of {plain['runs']} runs"
