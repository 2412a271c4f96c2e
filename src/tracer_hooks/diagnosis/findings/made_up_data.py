"""``made_up_data``: an agent goes on with mock, sample, assumed, simulated or placeholder data.

Read from what the agent says of its own data, in words or in code. Silent where the task asks for such data, and in a
run that passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._language import MADE_UP, MAKES_UP, PLACEHOLDER_IN_CODE
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.MADE_UP_DATA
_WORD_END = re.compile(r"[\w./]*")


def find(run: RunReading) -> Iterator[Finding]:
    """The first step of each agent that does."""
    task = run.trajectory.task[:20_000]
    if run.trajectory.outcome is RunOutcome.SUCCEEDED or MADE_UP.search(task):
        return
    told: set[str] = set()
    for index in run.acts:
        agent, passage = run.steps[index].agent, run.content(index)
        if passage is None or agent in told or run.is_brief(index):
            continue
        lower = passage.text.lower()
        told_of = MADE_UP.finditer(passage.prose) if any(part in lower for part in MAKES_UP) else iter(())
        # "assuming that x is even" belongs to a derivation, and makes no data up
        said = next((match for match in told_of if not match.group().lower().startswith("assuming")), None)
        found = said or PLACEHOLDER_IN_CODE.search(passage.text)
        if found is not None:
            told.add(agent)
            rest = _WORD_END.match(passage.text, found.end())
            words = passage.text[found.start() : rest.end() if rest else found.end()]
            text = f"{agent!r} goes on with data that it calls its own: {one_line(words, 60)!r}"
            yield finding(run, _KIND, text, step=index, quote=passage.quote_at(found.start(), found.end()))


KIND = KindOfFinding(
    kind=_KIND,
    definition="An agent says that it goes on with mock, sample, assumed, simulated or placeholder data.",
    find=find,
    mode=ErrorMode.FM_2_2,
    advice=lambda found: f"Tell {found.agent!r} to say what is missing instead of making it up.",
)
