"""Signals in how the work was done: errors, made-up data, bare claims, loops, discord."""

from __future__ import annotations

import re
from itertools import pairwise

from tracer_hooks.attribution._detection._run_reading import NOTHING, Finding, RunReading
from tracer_hooks.attribution._features._failure import EMPTY_HANDED
from tracer_hooks.attribution._features._language import APOLOGY, CLAIM, MEMORY, REFUSAL
from tracer_hooks.attribution._reading._numbers import number_set
from tracer_hooks.attribution._rules._errors import ERROR_MARKER
from tracer_hooks.attribution._rules._language import MADE_UP
from tracer_hooks.attribution._rules._signal import DECISIVE, MODERATE, Family

_OBJECTS = re.compile(
    r"\b(?:incorrect(?:ly)?|wrong|mistakes?|flaw(?:ed|s)?|inaccurate|misinterpret\w*|mislead\w*|contradict\w*|discrepanc\w+"
    r"|disagree\w*|inconsistent|not (?:correct|accurate|consistent|align\w*)|does not (?:match|align|follow)"
    r"|fail(?:s|ed)? to|(?:overlook|ignor)(?:s|ed|ing)|needs? (?:to be )?(?:correct|fix|revis)\w*)\b",
    re.IGNORECASE,
)
_ASKS_FOR_IT = re.compile(
    r"\b(?:assum|suppos|simulat|hypothe|pretend|imagin|estimat|mock|dummy|placeholder)\w*", re.IGNORECASE
)
_PLACED = re.compile(
    r"YOUR_[A-Z_]{3,}|your_?api_?key|path[_/]to[_/]\w|\bX{4,}\b"
    r"|(?i:#.{0,40}\b(?:placeholder|replace (?:this )?with|dummy|mock|hypothetical|assum\w+)\b|<(?:insert|your)[ _-]\w)"
)
_HEDGES = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|likely|appears? to|seems? to|i think|i believe|it is possible|not sure"
    r"|unclear)\b",
    re.IGNORECASE,
)
_SHORTCUTS = re.compile(
    r"\b(?:no need to|not necessary|unnecessary|skip(?:ping|ped)?|without (?:verif|check|test)\w*|ignor(?:e|ed|ing)"
    r"|regardless|irrelevant|for (?:the sake of )?simplicity|bypass\w*|gloss\w* over|disregard\w*)\b",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\W*(?:none|null|nil|undefined|n/?a)?\W*", re.IGNORECASE)
_LAST_ACTS = 5
_NEAR = 3


def error_not_overcome(run: RunReading) -> Finding:
    """The last that a machine said is a failure."""
    if not run.machine_words or not run.machine_words[-1][1]:
        return NOTHING
    index = run.machine_words[-1][0]
    return Finding(1.0, index, run.quote(index, ERROR_MARKER))


def errors_reported(run: RunReading) -> Finding:
    """Much of what machines said is failure."""
    words = run.machine_words
    failed = [index for index, wrong in words if wrong]
    if not failed:
        return NOTHING
    return Finding(min(1.0, 2 * len(failed) / (len(words) + 2)), failed[-1], run.quote(failed[-1], ERROR_MARKER))


def empty_handed(run: RunReading) -> Finding:
    """Acts and reports that found nothing, over all that was done."""
    column = run.columns["failure: empty-handed"]
    steps = sorted({*run.telling, *(index for index, _ in run.machine_words)})
    seen = [index for index in steps if column[index] > 0]
    if not seen:
        return NOTHING
    return Finding(len(seen) / (len(steps) + 2), seen[-1], run.quote(seen[-1], EMPTY_HANDED))


def made_up(run: RunReading) -> Finding:
    """Assumed, simulated or placeholder data, unless the task asks for it."""
    if _ASKS_FOR_IT.search(run.view.trajectory.task[:20_000]):
        return NOTHING
    assumed = run.columns["language: assumes or simulates"]
    seen = [index for index in run.telling if assumed[index] > 0 or _PLACED.search(run.view.texts[index].said)]
    if not seen:
        return NOTHING
    pattern = MADE_UP if assumed[seen[0]] > 0 else _PLACED
    return Finding(min(1.0, (1 + len(seen)) / 4), seen[0], run.quote(seen[0], pattern))


def from_memory(run: RunReading) -> Finding:
    """Answers from what the model remembers."""
    seen = [index for index in run.telling if run.columns["language: from memory"][index] > 0]
    return Finding(min(1.0, (1 + len(seen)) / 4), seen[0], run.quote(seen[0], MEMORY)) if seen else NOTHING


def bare_claims(run: RunReading) -> Finding:
    """Agents say that they have done something, and neither they nor a machine has just shown it."""
    claimed = run.columns["claims: says that it has done something"]
    seen = [index for index in run.telling if claimed[index] > 0 and not _shown(run, index)]
    return Finding(min(1.0, len(seen) / 4), seen[-1], run.quote(seen[-1], CLAIM)) if seen else NOTHING


def _shown(run: RunReading, index: int) -> bool:
    near = range(max(0, index - _NEAR), index + 1)
    return any(run.steps[one].tool_calls or run.view.is_report[one] or run.view.texts[one].code for one in near)


def apologies(run: RunReading) -> Finding:
    """Apologies and refusals in the last acts."""
    for index in reversed(run.late):
        for column, pattern in (("language: refuses", REFUSAL), ("language: apologises", APOLOGY)):
            if run.columns[column][index] > 0:
                return Finding(1.0, index, run.quote(index, pattern))
    return NOTHING


def hedged_end(run: RunReading) -> Finding:
    """The last acts hedge."""
    hedges = [(len(_HEDGES.findall(run.view.texts[index].prose)), index) for index in run.late[-2:]]
    if not hedges or max(hedges)[0] == 0:
        return NOTHING
    times, index = max(hedges)
    return Finding(min(1.0, times / 4), index, run.quote(index, _HEDGES))


def answers_differ(run: RunReading) -> Finding:
    """Members of the team end with different answers."""
    last: dict[str, tuple[str, int]] = {}
    for index in run.telling:
        answer = run.view.texts[index].answer
        if answer is not None:
            last[run.view.agents[index]] = (answer, index)
    if len(last) < 2:
        return NOTHING
    final = max(last.values(), key=lambda pair: pair[1])
    other = [index for answer, index in last.values() if not _same(answer, final[0])]
    return Finding(len(other) / (len(last) - 1), other[-1], run.quote(other[-1])) if other else NOTHING


def _same(answer: str, other: str) -> bool:
    """Whether two stated answers agree: in their numbers when both have some, else in their words."""
    numbers, others = number_set(answer), number_set(other)
    if numbers and others:
        return bool(numbers & others)
    return answer in other or other in answer


def answer_changes(run: RunReading) -> Finding:
    """Agents go back on answers that they had stated."""
    return run.count("agreement: changes its own answer", run.telling, most=4)


def objection_open(run: RunReading) -> Finding:
    """The last acts object to what another said, and no act after them puts it right."""
    for index in reversed(run.late[-2:]):
        if _objects(run, index):
            times = len(_OBJECTS.findall(run.view.texts[index].prose))
            return Finding(min(1.0, times / 2), index, run.quote(index, _OBJECTS))
    return NOTHING


def objections(run: RunReading) -> Finding:
    """Acts find fault with what another said, over all acts."""
    seen = [index for index in run.telling if _objects(run, index)]
    if not seen:
        return NOTHING
    return Finding(len(seen) / (len(run.telling) + 2), seen[0], run.quote(seen[0], _OBJECTS))


def _objects(run: RunReading, index: int) -> bool:
    if _OBJECTS.search(run.view.texts[index].prose) is None:
        return False
    return any(before < index and run.view.agents[before] != run.view.agents[index] for before in run.first_of_two)


def no_progress(run: RunReading) -> Finding:
    """Whoever leads finds that the work goes in a circle or nowhere, or begins anew with the whole task."""
    verdict = run.columns["work: the planner is disappointed"]
    seen = {index for index in range(len(run.steps)) if verdict[index] > 0}
    briefs = [i for i in run.trace.acts if run.trace.is_brief(i) and run.view.agents[i] in run.view.planners]
    seen |= {later for before, later in pairwise(briefs) if later > before + 1}
    if not seen:
        return NOTHING
    return Finding(min(1.0, len(seen) / 3), max(seen), run.quote(max(seen)))


def loops(run: RunReading) -> Finding:
    """The last acts say again what the same agent had said: a loop that nobody broke."""
    own, last = run.columns["repetition: like the agent's own earlier steps"], run.telling[-_LAST_ACTS:]
    seen = [index for index in last if own[index] > 0.9]
    if not seen or own[last[-1]] <= 0.5:
        return NOTHING
    return Finding(min(1.0, len(seen) / 3), seen[0], run.quote(seen[0]))


def silent(run: RunReading) -> Finding:
    """Members of the team who were asked and gave no reply at all."""
    acts = [index for index in range(len(run.steps)) if run.view.is_act[index]]
    blank = [
        index
        for index in acts
        if _BLANK.fullmatch(run.steps[index].content[:50])
        and not (run.steps[index].tool_calls or run.steps[index].recipient or run.steps[index].error)
    ]
    return Finding(min(1.0, 3 * len(blank) / (len(acts) + 2)), blank[-1], run.quote(blank[-1])) if blank else NOTHING


def shortcuts(run: RunReading) -> Finding:
    """Acts that leave something out or go round it, over all acts."""
    seen = [index for index in run.telling if _SHORTCUTS.search(run.view.texts[index].prose)]
    if not seen:
        return NOTHING
    return Finding(len(seen) / (len(run.telling) + 2), seen[0], run.quote(seen[0], _SHORTCUTS))


def _rule(run: RunReading, *families: Family) -> Finding:
    """What is no more than often at fault counts nothing: passing runs hold it too."""
    signal = run.strongest(*families)
    if signal is None or signal.weight <= MODERATE:
        return NOTHING
    return Finding(min(1.0, (signal.weight - MODERATE) / (DECISIVE - MODERATE)), signal.step, signal.quote)


def rule_error(run: RunReading) -> Finding:
    """The rules about errors and tools."""
    return _rule(run, Family.ERROR, Family.TOOL)


def rule_value(run: RunReading) -> Finding:
    """The rules about sums and values that contradict each other."""
    return _rule(run, Family.ARITHMETIC, Family.CONTRADICTION)


def rule_ignored(run: RunReading) -> Finding:
    """The rule about corrections that were not taken up."""
    return _rule(run, Family.IGNORED_INPUT)


def rule_handoff(run: RunReading) -> Finding:
    """The rules about transfers to nobody, to the wrong agent, and in circles."""
    return _rule(run, Family.HANDOFF)
