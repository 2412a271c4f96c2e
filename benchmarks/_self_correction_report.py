"""Tables and JSON of what the arms did, with intervals from a bootstrap over tasks."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from _self_correction_journal import ARMS, MOST_ROUNDS, Course, Journal, Row, chosen_courses, courses, cross_gated
from numpy.typing import NDArray

RESAMPLES: Final = 4_000
_ALPHA_Z: Final = 1.96
_POWER_Z: Final = 0.8416


def interval(values: Sequence[float], tasks: Sequence[str], seed: int = 0) -> tuple[float, float, float]:
    """Mean with its 95 % interval, tasks drawn with all of their failures."""
    means = resampled(np.asarray(values, float)[:, None], tasks, seed)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.mean(values)), float(low), float(high)


def resampled(values: NDArray[Any], tasks: Sequence[str], seed: int = 0) -> NDArray[Any]:
    """Means of each column in resamples over tasks, ``[resamples, columns]``."""
    names = sorted(set(tasks))
    place = {name: at for at, name in enumerate(names)}
    sums = np.zeros((len(names), values.shape[1]))
    counts = np.zeros(len(names))
    for row, task in zip(values, tasks, strict=True):
        sums[place[task]] += row
        counts[place[task]] += 1
    chance = np.random.default_rng(seed)
    drawn = chance.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    return np.asarray((drawn @ sums) / (drawn @ counts)[:, None])


def compared(arm: Mapping[str, Course], plain: Mapping[str, Course], rounds: int) -> dict[str, Any]:
    """An arm beside plain retry, on the failures that both were run on."""
    both = [(arm[name], plain[name]) for name in plain if name in arm]
    if not both:
        return {"n": 0}
    tasks = [one.task for one, _ in both]
    own = [float(one.passed(rounds)) for one, _ in both]
    control = [float(other.passed(rounds)) for _, other in both]
    difference = [mine - theirs for mine, theirs in zip(own, control, strict=True)]
    tokens = [one.spent(rounds) for one, _ in both]
    control_tokens = [other.spent(rounds) for _, other in both]
    return {
        "n": len(both),
        "tasks": len(set(tasks)),
        "solved": interval(own, tasks),
        "plain": float(np.mean(control)),
        "difference": interval(difference, tasks),
        "won": int(sum(value > 0 for value in difference)),
        "lost": int(sum(value < 0 for value in difference)),
        "tokens": float(np.mean(tokens)),
        "plain_tokens": float(np.mean(control_tokens)),
        "share_of_tokens": interval_of_ratio(tokens, control_tokens, tasks),
        "written": float(np.mean([sum(one.written[:rounds]) for one, _ in both])),
    }


def interval_of_ratio(
    above: Sequence[float], below: Sequence[float], tasks: Sequence[str]
) -> tuple[float, float, float]:
    """The ratio of two means with its 95 % interval."""
    means = resampled(np.column_stack([above, below]).astype(float), tasks)
    low, high = np.quantile(means[:, 0] / means[:, 1], [0.025, 0.975])
    return float(np.sum(above) / np.sum(below)), float(low), float(high)


def at_equal_tokens(arm: Mapping[str, Course], plain: Mapping[str, Course], budget: float) -> dict[str, Any]:
    """Solved within a budget, in first attempts, minus what plain retry solves within the same."""
    both = [(arm[name], plain[name]) for name in plain if name in arm]
    if not both:
        return {"n": 0}
    tasks = [one.task for one, _ in both]
    within: Callable[[Course], float] = lambda one: float(one.solved_at <= budget + 1e-9)  # noqa: E731
    return {
        "n": len(both),
        "budget": budget,
        "solved": float(np.mean([within(one) for one, _ in both])),
        "plain": float(np.mean([within(other) for _, other in both])),
        "difference": interval([within(one) - within(other) for one, other in both], tasks),
    }


def failures_needed(discordance: float, effect: float) -> int:
    """Failures for 80 % power at 5 %, two sided, when this share of the pairs differs (McNemar)."""
    spread = _ALPHA_Z * math.sqrt(discordance) + _POWER_Z * math.sqrt(max(discordance - effect**2, 0.0))
    return math.ceil((spread / effect) ** 2)


_NEARLY_ALL: Final = 0.95
PLAIN_ARM: Final = "plain"
GATED: Final = {"gated resume": "resume", "gated resume+feedback": "resume+feedback_in_message"}
_SHOWN_BUDGETS: Final = (0.6, 1.1, 1.6, 2.2, 3.3)
"""In tokens of the failed first attempt; a retry may take a little more than the first attempt: a tenth is allowed."""


def report(path: Path, json_path: Path) -> int:
    """Print the tables, and write JSON."""
    journal = Journal(path)
    document: dict[str, Any] = {}
    for suite in dict.fromkeys(row["suite"] for row in journal.firsts.values()):
        failures = journal.failures(suite)
        if failures:
            document[suite] = suite_report(journal, suite, failures)
            print(markdown(suite, document[suite]))
    journal.close()
    json_path.parent.mkdir(parents=True, exist_ok=True)
    json_path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return 0


def suite_report(journal: Journal, suite: str, failures: Sequence[Row]) -> dict[str, Any]:
    """Everything about one suite."""
    firsts = [row for row in journal.firsts.values() if row["suite"] == suite]
    by_round: dict[str, Any] = {}
    found_cuts: dict[str, list[float]] = {}
    equal: dict[str, Any] = {}
    for rounds in range(1, MOST_ROUNDS + 1):
        arms, cuts = all_courses(journal, failures, rounds)
        found_cuts |= cuts
        by_round[str(rounds)] = arm_rows(arms, rounds)
        if rounds == MOST_ROUNDS:
            plain = arms.get(PLAIN_ARM, {})
            equal = {
                name: [at_equal_tokens(arm, plain, budget) for budget in _SHOWN_BUDGETS]
                for name, arm in arms.items()
                if name != PLAIN_ARM
            }
    return {
        "steps": steps_of(firsts, failures),
        "rungs": rungs(journal, failures),
        "first_attempts": len(firsts),
        "failures": len(failures),
        "tasks": len({row["task"] for row in failures}),
        "blame": blame(failures),
        "tokens_of_first": float(np.mean([row["tokens_in"] + row["tokens_out"] for row in failures])),
        "rounds": by_round,
        "cuts": found_cuts,
        "equal_tokens": equal,
        "power": power(by_round["1"]),
    }


def steps_of(firsts: Sequence[Row], failures: Sequence[Row]) -> dict[str, Any]:
    """Of a chain: the share of first attempts that were right in each step, and of failures with a single error."""
    wrong = [row["wrong_steps"] for row in failures if row.get("wrong_steps")]
    if not wrong:
        return {}
    missed = Counter(step for steps in wrong for step in steps)
    right = [1 - missed[step] / len(firsts) for step in range(len(failures[0]["turns"]))]
    return {
        "right": right,
        "single_errors": interval([len(steps) == 1 for steps in wrong], [r["task"] for r in failures]),
    }


def rungs(journal: Journal, failures: Sequence[Row]) -> dict[str, dict[str, int]]:
    """How often each rung was taken by the arms that the ladder chose."""
    ours = {row["id"] for row in failures}
    taken = {arm: [row.get("rung") for one, row in of.items() if one in ours] for arm, of in journal.chosen.items()}
    return {arm: dict(Counter(names)) for arm, names in taken.items() if any(names)}


def all_courses(
    journal: Journal, failures: Sequence[Row], rounds: int
) -> tuple[dict[str, dict[str, Course]], dict[str, list[float]]]:
    """The courses of all arms, and the cuts of the gated ones: chosen on the other half of the tasks.

    Beyond the first retry only arms that were run on nearly all failures are shown: those that are still under way are
    the hard ones. So it is with the step drawn at random: other arms have run it where it is theirs.
    """
    arms = {name: courses(journal, failures, name, rounds) for name in ARMS}
    cuts: dict[str, list[float]] = {}
    for name, arm in GATED.items():
        if arms[arm]:
            arms[name], cuts[name] = cross_gated(journal, failures, arm, rounds)
    enough = _NEARLY_ALL * len(failures)
    least = {name: 1 if rounds == 1 and name != "resume_random" else enough for name in arms}
    arms = {name: arm for name, arm in arms.items() if len(arm) >= least[name]}
    chosen = {name: chosen_courses(journal, failures, name) for name in journal.chosen}
    return arms | {name: arm for name, arm in chosen.items() if arm and PLAIN_ARM in arms}, cuts


def arm_rows(arms: Mapping[str, Mapping[str, Course]], rounds: int) -> dict[str, Any]:
    """Each arm beside plain retry: on all failures, and by whether the right step was blamed."""
    plain, rows = arms.get(PLAIN_ARM, {}), {}
    for name, arm in arms.items():
        rows[name] = compared(arm, plain, rounds)
        for what, is_right in (("blame_right", True), ("blame_wrong", False)):
            part = {key: one for key, one in arm.items() if one.is_right is is_right}
            rows[name][what] = compared(part, plain, rounds)
    return rows


def blame(failures: Sequence[Row]) -> dict[str, Any]:
    """How often the attribution named the step that is really the first wrong one."""
    tasks = [row["task"] for row in failures]
    right = [float(row["blame"]["step"] == row["truth"]) for row in failures]
    pairs = Counter((row["truth"], row["blame"]["step"]) for row in failures)
    return {
        "right": interval(right, tasks),
        "confidence_tells": _auc(failures),
        "true_steps": dict(sorted(Counter(str(row["truth"]) for row in failures).items())),
        "true_and_blamed": {f"{true} blamed {said}": count for (true, said), count in sorted(pairs.items(), key=str)},
    }


def _auc(failures: Sequence[Row]) -> float | None:
    """How probably a right diagnosis is surer than a wrong one; 0.5 is chance."""
    sure: dict[bool, list[float]] = {True: [], False: []}
    for row in failures:
        sure[row["blame"]["step"] == row["truth"]].append(row["blame"]["confidence"] or 0.0)
    pairs = [(right > wrong) + 0.5 * (right == wrong) for right in sure[True] for wrong in sure[False]]
    return sum(pairs) / len(pairs) if pairs else None


def power(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Failures needed to see +10 points with 80 % power, from how often each arm and plain retry differed."""
    found = {}
    for name, row in rows.items():
        if name != PLAIN_ARM and row["n"]:
            discordance = (row["won"] + row["lost"]) / row["n"]
            needed = failures_needed(discordance, 0.1) if discordance >= 0.1 else None
            found[name] = {"n": row["n"], "discordance": discordance, "needed_for_10_points": needed}
    return found


def markdown(suite: str, found: Mapping[str, Any]) -> str:
    """The tables of one suite."""
    told = found["blame"]
    lines = [
        f"\n## {suite}\n",
        f"{found['failures']} failures on {found['tasks']} tasks, of {found['first_attempts']} first attempts; "
        f"{found['tokens_of_first']:.0f} tokens each. Blame right: {_percent(told['right'])}, a right one "
        f"surer than a wrong one: {told['confidence_tells']}. First wrong step: {told['true_steps']}; true and blamed: "
        f"{told['true_and_blamed']}. Cuts: {found['cuts']}",
    ]
    if found["steps"]:
        right = ", ".join(f"{100 * share:.0f}" for share in found["steps"]["right"])
        single = _percent(found["steps"]["single_errors"])
        lines.append(
            f"\nRight in each step: {right} %; failures with a single error: {single}; rungs: {found['rungs']}"
        )
    for rounds, rows in found["rounds"].items():
        lines += _table(rounds, rows) if rows else []
    if found["equal_tokens"]:
        lines.append("\nSolved within a budget (in tokens of the failed first attempt), minus plain retry:\n")
        lines.append("| arm | " + " | ".join(f"{budget} x" for budget in _SHOWN_BUDGETS) + " |")
        lines.append("|---|" + "---|" * len(_SHOWN_BUDGETS))
        for name, cells in found["equal_tokens"].items():
            lines.append(f"| {name} | " + " | ".join(_points(cell["difference"]) for cell in cells) + " |")
    lines.append("\nFailures needed for +10 points (80 % power, 5 %, two sided): ")
    needed = (f"{name} {one['needed_for_10_points']} (n={one['n']})" for name, one in found["power"].items())
    lines.append("; ".join(needed))
    return "\n".join(lines)


def _table(rounds: str, rows: Mapping[str, Any]) -> list[str]:
    head = "| arm | n | solved | minus plain | won, lost | tokens | of plain's | written | blame right | blame wrong |"
    lines = [f"\nUp to {rounds} retries:\n", head, "|" + "---|" * 10]
    for name, row in rows.items():
        if not row["n"]:
            continue
        parts = [_part(row[what]) for what in ("blame_right", "blame_wrong")]
        lines.append(
            f"| {name} | {row['n']} | {_percent(row['solved'])} | {_points(row['difference'])} | "
            f"+{row['won']} -{row['lost']} | {row['tokens']:.0f} | {_percent(row['share_of_tokens'])} | "
            f"{row['written']:.0f} | {parts[0]} | {parts[1]} |"
        )
    return lines


def _part(row: Mapping[str, Any]) -> str:
    return f"{_points(row['difference'])} (n={row['n']})" if row["n"] else "none"


def _percent(value: Sequence[float]) -> str:
    middle, low, high = (100 * one for one in value)
    return f"{middle:.1f} % [{low:.0f}, {high:.0f}]"


def _points(value: Sequence[float]) -> str:
    middle, low, high = (100 * one for one in value)
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"
