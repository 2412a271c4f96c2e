"""Recurring findings: what is found in stored runs again and again, grouped, counted and said in one sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from pydantic import AwareDatetime, Field

from tracer_hooks.schema import Finding, FindingKind, Record, RunKind, RunOutcome, Text

if TYPE_CHECKING:
    from tracer_hooks.store import RunStore, RunSummary

_BURST = timedelta(seconds=60)
"""Runs of a group that are less than this apart are one incident."""
_FOUND_AS_IT_SHOULD_BE = ("tool", "task", "derived")
"""Origins of an answer that are no issue."""
_LONGEST_NAME = 80
_CLAUSES: Mapping[tuple[FindingKind, str], str] = {
    (FindingKind.ENDING, "endpoint_error"): "the model's endpoint ended the run with an error",
    (FindingKind.ENDING, "limit"): "a limit ended the run",
    (FindingKind.ENDING, "gave_up"): "{who} gave up",
    (FindingKind.ENDING, "empty"): "the run ended without an answer",
    (FindingKind.ENDING, "exception"): "an exception ended the run",
    (FindingKind.ENDING, "broken_off"): "the run was broken off",
    (FindingKind.ENDING, ""): "the run did not end by itself",
    (FindingKind.ANSWER_ORIGIN, "memory"): "{who} gave the answer from memory",
    (FindingKind.ANSWER_ORIGIN, "typed_in"): "{who} typed the answer into code or data",
    (FindingKind.ANSWER_ORIGIN, ""): "nothing in the run gave the answer",
    (FindingKind.MADE_UP_DATA, ""): "{who} used made-up data",
    (FindingKind.ANNOUNCED_NOT_DONE, ""): "{who} claimed an act that did not take place",
    (FindingKind.LOOP, ""): "{who} did the same again and again",
    (FindingKind.RECORD_CONTRADICTED, ""): "{who} said otherwise than a tool's record",
    (FindingKind.WRONG_CALCULATION, ""): "a calculation of {who} did not come out",
    (FindingKind.DROPPED_ITEM, ""): "{who} left out an item",
    (FindingKind.REPLACED_VALUE, ""): "{who} replaced an earlier value",
    (FindingKind.IGNORED_ERROR, ""): "{who} went on as if a failed tool had answered",
    (FindingKind.WRONG_REQUEST, ""): "{who} made a request that goes against the task or cannot be read",
    (FindingKind.CONSTRAINT_LOST, ""): "{who} lost a condition of the task",
    (FindingKind.DIFFERENT_FORM, ""): "the answer was the expected one in another form",
    (FindingKind.REASON_MATCHED, ""): "the check's reason pointed to {who}",
}
"""What happened, by kind and detail; a detail that has no clause of its own has that of its kind."""


class FindingExample(Record):
    """A finding in one stored run."""

    run_id: Text
    """The run."""
    step: int | None = Field(default=None, ge=0)
    """Where in it; None where it is about the run as a whole."""
    text: Text
    """What was found there, in one sentence."""


class RecurringFinding(Record):
    """One kind of finding about one agent and subject, in all stored runs where it stands."""

    sentence: Text
    """All of it in one sentence: "In 6 of 11 failures the model's endpoint ended the run with an error"."""
    kind: FindingKind
    """The sort of thing."""
    detail: Text = ""
    """A closer kind; may be empty."""
    agent: Text | None = None
    """The agent; None where it is about the run as a whole."""
    subject: Text = ""
    """The tool, field or normalised error that it is about; may be empty."""
    teams: tuple[Text, ...] = ()
    """Names of the teams."""
    incidents: int = Field(ge=1)
    """How often it happened; a burst of runs counts once."""
    runs: int = Field(ge=1)
    """Runs where it stands."""
    failed: int = Field(ge=0)
    """How many of them failed."""
    share: float = Field(ge=0, le=1)
    """Their share of the runs that were looked at."""
    first_seen: AwareDatetime
    """When the earliest of them began."""
    last_seen: AwareDatetime
    """When the newest of them began."""
    tokens: int = Field(ge=0)
    """Tokens that they used."""
    came_back_after: int | None = None
    """Newest version of a team's prompts that did not end it: it stood in runs before the version, and again in runs
    on it; None where there is no such version."""
    example: FindingExample
    """The plainest of the findings."""


class RecurringFindings(Record):
    """What recurs in the stored runs that were looked at."""

    looked_at: int = 0
    """Runs that were looked at."""
    failed: int = 0
    """How many of them failed."""
    unread: int = 0
    """Runs whose diagnosis could not be read, beside those."""
    undiagnosed: int = 0
    """Runs that were never diagnosed, beside those."""
    undiagnosed_failures: int = 0
    """How many of these did not succeed."""
    issues: tuple[RecurringFinding, ...] = ()
    """The most frequent first."""


_Key = tuple[FindingKind, str, str]


class _Seen(NamedTuple):
    """A run in which something of one group stands."""

    run: RunSummary
    finding: Finding

    @property
    def plainness(self) -> tuple[bool, bool, bool, datetime]:
        found, is_failed = self.finding, self.run.outcome is RunOutcome.FAILED
        return found.leads_to_answer, is_failed, bool(found.quote), self.run.started_at


def recurring_findings(
    store: RunStore,
    *,
    since: datetime | None = None,
    team: str | None = None,
    agent: str | None = None,
    kind: FindingKind | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int = 1_000,
) -> RecurringFindings:
    """Group what is found in stored runs by kind, agent and subject.

    Findings are those of a run's stored diagnosis. Runs that have none are counted and left out: to work findings out
    takes a hundred times as long as to read them, and pages on many runs are to open at once.

    Args:
        store: The runs; it is only read.
        since: Only runs that began at or after this moment; a time zone is needed.
        team: Only runs of this team.
        agent: Only findings about this agent.
        kind: Only findings of this kind.
        tags: Only runs with all of these tags.
        limit: How many of the newest runs are looked at, or left out.

    Raises:
        StoreError: The store cannot be read.
    """
    listed = store.list(limit=limit, team=team, since=since, tags=tags, with_replays=False)
    known = store.attributions(*(run.run_id for run in listed if run.confidence is not None))
    read = [run for run in listed if run.run_id in known]
    missing = [run for run in listed if run.confidence is None]
    groups: dict[_Key, list[_Seen]] = defaultdict(list)
    for run in read:
        for key, best in _by_group(run, known[run.run_id].findings).items():
            if (agent is None or best.finding.agent == agent) and (kind is None or best.finding.kind is kind):
                groups[key].append(best)
    failed = sum(run.outcome is RunOutcome.FAILED for run in read)
    issues = [_recurring(seen, len(read), failed) for seen in groups.values()]
    issues.sort(key=lambda issue: (-issue.incidents, -issue.runs, issue.kind, issue.agent or "", issue.subject))
    return RecurringFindings(
        looked_at=len(read),
        failed=failed,
        unread=len(listed) - len(read) - len(missing),
        undiagnosed=len(missing),
        undiagnosed_failures=sum(run.outcome is not RunOutcome.SUCCEEDED for run in missing),
        issues=tuple(issues),
    )


def _by_group(run: RunSummary, findings: Sequence[Finding]) -> dict[_Key, _Seen]:
    """The plainest finding of each group; a run counts once, however often something stands in it."""
    best: dict[_Key, _Seen] = {}
    for found in findings:
        if found.kind is FindingKind.ANSWER_ORIGIN and found.detail in _FOUND_AS_IT_SHOULD_BE:
            continue
        key, seen = (found.kind, found.agent or "", _subject(found) or found.detail), _Seen(run, found)
        if key not in best or best[key].plainness < seen.plainness:
            best[key] = seen
    return best


def _subject(found: Finding) -> str:
    return _short(found.values.subject or "") if found.values is not None else ""


def _short(name: str) -> str:
    line = " ".join(name[: 4 * _LONGEST_NAME].split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _recurring(seen: list[_Seen], looked_at: int, failed: int) -> RecurringFinding:
    seen = sorted(seen, key=lambda each: (each.run.started_at, each.run.run_id))
    best = max(seen, key=lambda each: each.plainness)
    own_failed = sum(each.run.outcome is RunOutcome.FAILED for each in seen)
    total = f"{failed} failure" if own_failed == len(seen) else f"{looked_at} run"
    return RecurringFinding(
        sentence=_sentence(best.finding, len(seen), total),
        kind=best.finding.kind,
        detail=best.finding.detail,
        agent=best.finding.agent,
        subject=_subject(best.finding),
        teams=tuple(dict.fromkeys(each.run.team for each in seen)),
        incidents=_incidents([each.run for each in seen]),
        runs=len(seen),
        failed=own_failed,
        share=len(seen) / looked_at,
        first_seen=seen[0].run.started_at,
        last_seen=seen[-1].run.started_at,
        tokens=sum(each.run.usage.input_tokens + each.run.usage.output_tokens for each in seen),
        came_back_after=_came_back_after([each.run for each in seen]),
        example=FindingExample(run_id=best.run.run_id, step=best.finding.step, text=best.finding.text),
    )


def _sentence(found: Finding, runs: int, total: str) -> str:
    clause = _CLAUSES.get((found.kind, found.detail)) or _CLAUSES[found.kind, ""]
    said = clause.replace("{who}", repr(_short(found.agent)) if found.agent else "the team")
    subject = _subject(found)
    return f"In {runs} of {total}{'' if total.startswith('1 ') else 's'} {said}{f' ({subject})' if subject else ''}."


def _incidents(runs: Sequence[RunSummary]) -> int:
    """Bursts among runs in the order in which they began; of imported runs without times each counts alone."""
    count, end = 0, None
    for run in runs:
        if run.kind is RunKind.IMPORTED and run.ended_at is None:
            count += 1
            continue
        count += end is None or run.started_at - end >= _BURST
        own = run.ended_at or run.started_at
        end = own if end is None else max(end, own)
    return count


def _came_back_after(runs: Sequence[RunSummary]) -> int | None:
    """The newest version told to agents of a team whose earlier runs, on other prompts, are in the group, too."""
    told_before: dict[str, set[int | None]] = defaultdict(set)
    back: list[int] = []
    for run in runs:
        told = run.prompts.told if run.prompts is not None else None
        if told is not None and any(other is None or other < told for other in told_before[run.team]):
            back.append(told)
        told_before[run.team].add(told)
    return max(back, default=None)
