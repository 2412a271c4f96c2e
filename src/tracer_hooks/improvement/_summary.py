"""An improvement in words, for the terminal and for the page: every sentence no surer than its figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from tracer_hooks._text import counted
from tracer_hooks.improvement._improvement import BeforeAfter, Improvement, Outcome, PassShare
from tracer_hooks.improvement._prompt_writer import TriedPrompt
from tracer_hooks.report import ReportComparison, ReportImprovement, ReportRefused

_OUTCOMES: dict[Outcome, tuple[str, str, str]] = {
    "accepted": ("succeeded", "Accepted", "The new prompts are accepted, as version {}."),
    "rejected": ("failed", "Rejected", "The new prompts (version {}) are rejected."),
    "on trial": (
        "spread",
        "On trial",
        "It is not decided yet whether the new prompts are better: version {} stays on trial.",
    ),
    "nothing found": ("unknown", "Nothing found", "No better prompts were found."),
    "nothing to improve": ("unknown", "Nothing to improve", "There is nothing to learn from."),
    "stopped": ("spread", "Broken off", "Broken off before better prompts were found."),
}
"""Tone, badge and heading."""
_EVIDENCE = {"accept": "enough evidence of a gain", "reject": "enough evidence to reject them"}
_PARTS = {
    "propose": ("proposed", "for failures to learn from, and to compare what was written"),
    "accept": ("tried", "new prompts against old ones"),
    "unused": ("never used", "run once at the end with both"),
    "passed": ("passed in earlier runs", "from the run store, to see that nothing is lost"),
}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def summarize(found: Improvement, *, next_steps: Sequence[str] = ()) -> ReportImprovement:
    """The words and figures of an improvement."""
    tone, badge, heading = _OUTCOMES[found.outcome]
    return ReportImprovement(
        team=found.team_name or found.team,
        framework=found.framework,
        heading=heading.format(found.version),
        tone=tone,
        badge=badge,
        reason=_reason(found),
        notes=found.notes,
        parts=tuple((done, found.tasks[name], why) for name, (done, why) in _PARTS.items() if found.tasks.get(name)),
        baseline=_baseline(found),
        blame=tuple(sorted(found.blame.items(), key=lambda share: -share[1])) if any(found.blame.values()) else (),
        prompts=tuple(
            (agent, found.old.get(agent, ""), text)
            for agent, text in found.texts.items()
            if found.old.get(agent, "") != text
        ),
        trial=_trial(found),
        compared=tuple(_compared_runs(found)),
        search=_search(found),
        refused=tuple(grouped(found.refused)),
        spent=tuple(_spent(found)),
        provenance=tuple(_provenance(found)),
        next=tuple(next_steps),
    )


def grouped(refused: Sequence[TriedPrompt]) -> Iterator[ReportRefused]:
    """Group the refused versions by agent and kind of reason, one entry each, the most frequent first."""

    def kind(one: TriedPrompt) -> tuple[str, str]:
        return one.agent, _NUMBER.sub("#", one.why)

    groups = [list(group) for _, group in groupby(sorted(refused, key=kind), key=kind)]
    for group in sorted(groups, key=len, reverse=True):
        shown = next((version for version in group if version.text), group[0])
        is_same = len({version.why for version in group}) == 1
        why = shown.why if is_same else f"{shown.why}, and the like"
        yield ReportRefused(agent=shown.agent, why=why, count=len(group), text=shown.text)


def _reason(found: Improvement) -> str:
    said = _sentence(found.reason)
    if not found.stopped or found.stopped == found.reason:
        return said
    return f"{said} Then it was broken off: {_sentence(found.stopped)}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text else text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _baseline(found: Improvement) -> str:
    share = found.baseline
    if not share.runs:
        count = found.provenance.get("failures")
        return f"{count} failures of earlier runs were read." if found.provenance.get("from_store") else ""
    return f"As it was, the team passed {_share_words(share)} of the runs in which failures were sought."


def _trial(found: Improvement) -> str:
    pairs = found.pairs
    if not pairs:
        return ""
    count, new, old = len(pairs), sum(pair.new for pair in pairs), sum(pair.old for pair in pairs)
    figures = f"Passed {new:g} of {count} with the new prompts, {old:g} of {count} with the old"
    if any(score not in (0, 1) for pair in pairs for score in (pair.new, pair.old)):
        figures = f"Mean score {new / count:.2f} with the new prompts, {old / count:.2f} with the old"
    wins, losses = sum(pair.new > pair.old for pair in pairs), sum(pair.new < pair.old for pair in pairs)
    decided = found.evidence.get("decided_after")
    is_late = isinstance(decided, int) and 0 < decided < count
    after = f" It was decided after {decided} of them, when the others were under way." if is_late else ""
    evidence = _EVIDENCE.get(str(found.evidence.get("decision")), "not yet enough evidence")
    return (
        f"{figures}: {evidence}. {counted(count, 'pair')}, the same task with both: better in {wins}, worse in "
        f"{losses}, the same in {count - wins - losses}.{after}"
    )


def _compared_runs(found: Improvement) -> Iterator[ReportComparison]:
    if found.unused is not None:
        yield _comparison(f"{found.unused.before.runs} tasks that were never used before", found.unused)
    if found.passed is not None:
        title = f"{found.passed.before.runs} pairs of the trial on tasks that had passed before"
        yield _comparison(title, found.passed)


def _comparison(title: str, both: BeforeAfter) -> ReportComparison:
    figures = (
        f"passed {_share_words(both.before)} before and {_share_words(both.after)} after: {_points(both.gain)} points, "
        f"95 % interval {_points(both.low)} to {_points(both.high)}"
    )
    if any(share.score != share.passes for share in (both.before, both.after)):
        means = (share.score / share.runs if share.runs else 0.0 for share in (both.before, both.after))
        figures += "; mean score {:.2f} before and {:.2f} after".format(*means)
    meaning = "By themselves these runs show no difference: the interval holds 0." if both.low <= 0 <= both.high else ""
    return ReportComparison(
        title=title, before=both.before.rate, after=both.after.rate, figures=figures + ".", meaning=meaning
    )


def _search(found: Improvement) -> str:
    if not found.search:
        return ""
    others = max(0, found.candidates - 1)
    were = f"{counted(others, 'new candidate')} {'was' if others == 1 else 'were'}"
    return f"{were} run on all comparing tasks. The search ended because: {found.search}."


def _spent(found: Improvement) -> Iterator[str]:
    yield f"{counted(found.runs, 'run')} of the team"
    usage, writing = found.usage, found.writing
    if usage.total:
        yield f"{usage.input_tokens:,} tokens read and {usage.output_tokens:,} written"
        if writing.total == usage.total:
            yield "all of them for writing prompts: the team's runs report no tokens"
        elif writing.total:
            yield f"{writing.total:,} of them for writing prompts"
    if found.cost:
        yield f"cost {found.cost:.4g}"
    yield f"{found.seconds:,.0f} s this time"


_FACTS = {"failures": "Failures read", "writer": "Written by", "job": "Journal"}


def _provenance(found: Improvement) -> Iterator[tuple[str, str]]:
    facts = found.provenance
    yield from ((words, str(facts[name])) for name, words in _FACTS.items() if name in facts)
    yield "Seed", str(facts.get("seed"))
    yield "Team", found.team
    runs = facts.get("runs")
    if isinstance(runs, list) and runs:
        shown = ", ".join(str(run)[:12] for run in runs[:12])
        yield "Failed runs", shown + (f" and {len(runs) - 12} more" if len(runs) > 12 else "")


def _share_words(share: PassShare) -> str:
    return f"{share.passes} of {share.runs} ({share.rate:.0%})".replace("%", " %")


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"
