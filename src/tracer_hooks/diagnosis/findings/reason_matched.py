"""``reason_matched``: the check's reason names an agent, or a fact that one step has and the answer lacks.

The step with the fact is no step to blame: who wrote the answer left it out. Silent where the words of the reason stand
in several agents' steps, or nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import quoted_in
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome

_KIND = FindingKind.REASON_MATCHED
AGENT, MISSING = "agent", "missing"
_WORD = re.compile(r"[^\W\d_]{5,}")
_COMMON = frozenset(
    (
        *("about", "answer", "check", "contains", "correct", "doesn", "expected", "failed", "false", "final"),
        *("mentioned", "missing", "named", "nothing", "other", "output", "result", "returned", "right", "should"),
        *("their", "there", "value", "which", "wrong"),
    )
)
_LEAST = 2
_LONGEST = 600


def find(run: RunReading) -> Iterator[Finding]:
    """The one match of a failed run's reason."""
    reason = (run.trajectory.outcome_reason or "").removeprefix("check:").strip()
    if run.trajectory.outcome is not RunOutcome.FAILED or not reason or len(reason) > _LONGEST:
        return
    own_words = reason.replace(run.final_text.strip() or "\0", "")  # a reason may quote the answer, names and all
    for quoted, _ in quoted_in(own_words):
        own_words = own_words.replace(quoted, "")
    folded = {fold(word) for word in re.findall(r"[\w-]+", own_words)}
    named = [agent for agent in dict.fromkeys(run.steps[index].agent for index in run.acts) if fold(agent) in folded]
    if len(named) == 1:
        step = max(index for index in run.acts if run.steps[index].agent == named[0])
        yield finding(run, _KIND, f"The check names {named[0]!r}: {reason!r}", step=step, detail=AGENT)
        return
    yield from _missing(run, own_words)


def _missing(run: RunReading, reason: str) -> Iterator[Finding]:
    """Telling words of the reason that one agent's step has, and the answer lacks."""
    answer = run.final_text.casefold()
    words = [word for word in dict.fromkeys(_WORD.findall(reason.casefold())) if word not in _COMMON]
    lacking = [word for word in words if word not in answer]
    if len(lacking) < _LEAST:
        return
    having = [index for index in run.acts if all(word in run.steps[index].content.casefold() for word in lacking)]
    author = run.last_speaker
    if author is None or not having or having[-1] >= author or len({run.steps[index].agent for index in having}) > 1:
        return
    source, said = having[0], " and ".join(repr(word) for word in lacking[:3])
    first, last = run.steps[source].agent, run.steps[author].agent
    yield finding(
        run,
        _KIND,
        f"{first!r} speaks of {said} in step {source}; the answer of {last!r} does not",
        step=author,
        detail=MISSING,
        source=source,
        leads_to_answer=True,
    )


KIND = KindOfFinding(
    kind=_KIND,
    definition="The check's reason names an agent, or words that one agent's step has and the answer lacks.",
    find=find,
    advice=lambda found: f"Have {found.agent!r} take up what the earlier step says." if found.detail == MISSING else "",
)
