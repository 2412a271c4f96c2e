"""Signals of a failed run, in how it was worked on and how it ended, each with the sentence that tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._features import FeatureTable
from tracer_hooks.diagnosis._features._language import (
    APOLOGY,
    CLAIM,
    EMPTY_HANDED,
    MEMORY,
    REFUSAL,
    claims,
    failure,
    language,
)
from tracer_hooks.diagnosis._features._view import Column, View
from tracer_hooks.diagnosis._features._work import agreement, repetition, work
from tracer_hooks.diagnosis._reading._roles import Role, fold, is_person
from tracer_hooks.diagnosis._reading._run import says_something
from tracer_hooks.diagnosis._reading._text import number_set
from tracer_hooks.diagnosis._rules._errors import ERROR_MARKER
from tracer_hooks.diagnosis._rules._language import ENDS, MADE_UP
from tracer_hooks.diagnosis._rules._repetition import limit_reached
from tracer_hooks.diagnosis._rules._signal import DECISIVE, MODERATE, Family, Signal
from tracer_hooks.schema import RunOutcome, StepKind, Trajectory

_CLOSES = re.compile(r"#{2,}\s*[A-Z]|\bfinal[ _]answer\b", re.IGNORECASE)
_INSTRUCTS = re.compile(r"\W*(?:type\W+text\W+text\W+)?You are (?:an?|the|now|in)\b", re.IGNORECASE)
_LATE = 3


@dataclass(frozen=True, slots=True)
class Amount:
    """Amount of one signal in a run, from 0 to 1, and where it shows."""

    value: float
    step: int | None = None
    quote: str | None = None


NOTHING = Amount(0.0)


class DetectorReading:
    """Reading of a run for the signals. The outcome of the run is not looked at, even when it is known.

    Args:
        trajectory: What happened.
        table: Its features, when they are at hand.
        view: The trajectory as the features see it, when it is at hand; used where it knows of no outcome either.
    """

    def __init__(self, trajectory: Trajectory, table: FeatureTable | None = None, view: View | None = None) -> None:
        if view is None or view.trajectory.outcome is not RunOutcome.UNKNOWN or view.trace.reference is not None:
            view = View(trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN, "reference": None}))
        self.view = view
        self.trace = self.view.trace
        self.steps = self.view.steps
        self._table = table

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Features by name, one number for each step."""
        if self._table is not None:
            return {name: self._table.values[:, place] for place, name in enumerate(self._table.names)}
        columns: dict[str, Column] = {}
        for group in (failure, language, claims, repetition, agreement, work):
            columns.update(self.view.columns(group))
        return columns

    @cached_property
    def signals(self) -> list[Signal]:
        """Signals of the rules."""
        return self.view.signals

    def strongest(self, *families: Family) -> Signal | None:
        """The strongest word of these families of rules."""
        return max((one for one in self.signals if one.family in families), key=lambda one: one.weight, default=None)

    @cached_property
    def telling(self) -> list[int]:
        """The acts that say something: no routing, no instructions, no handing on of the task, no bare sign-off."""
        view = self.view
        return [
            index
            for index in self.trace.acts
            if view.is_act[index]
            and not view.is_routing[index]
            and not self.trace.is_brief(index)
            and _INSTRUCTS.match(self.steps[index].content) is None
            and (says_something(self.steps[index].content) or self.steps[index].tool_calls or self.steps[index].error)
        ]

    @cached_property
    def first_of_two(self) -> list[int]:
        """The first of the telling acts, and the first by another agent: of any agent, one of them is another's."""
        agents = self.view.agents
        other = (index for index in self.telling if agents[index] != agents[self.telling[0]])
        return [*self.telling[:1], *islice(other, 1)]

    @cached_property
    def late(self) -> list[int]:
        """The last few of them."""
        return self.telling[-_LATE:]

    @cached_property
    def last_step(self) -> int:
        """The last step that holds anything."""
        for step in reversed(self.steps):
            if step.content.strip() or step.tool_calls or step.error or step.recipient:
                return step.index
        return len(self.steps) - 1

    @cached_property
    def person_had_last_word(self) -> bool:
        """Tell whether a person, not the team, spoke last: the run then ended since that person was done."""
        return self.view.roles[self.last_step] is Role.PERSON

    @cached_property
    def has_person(self) -> bool:
        """Tell whether a person takes part beyond setting the task."""
        return any(role is Role.PERSON for role in self.view.roles[1:])

    @cached_property
    def is_closed(self) -> bool:
        """Tell whether somebody declared the end or stated a final answer in the last words of the run."""
        if self.person_had_last_word:
            return True
        texts = [
            self.view.texts[index].said[-2_000:] for index in range(max(0, self.last_step - 1), self.last_step + 1)
        ]
        return any(ENDS.search(text) or _CLOSES.search(text) for text in texts)

    @cached_property
    def machine_words(self) -> list[tuple[int, bool]]:
        """Every report and answered tool call, in order: its step, and whether it tells of a failure."""
        own, found = self.columns["failure: error printed here"], []
        for index, step in enumerate(self.steps):
            if self.view.is_report[index] and step.content.strip():
                found.append((index, own[index] > 0))
            elif step.kind is StepKind.ERROR or step.error is not None:
                found.append((index, True))
            elif any(call.result is not None or call.error is not None for call in step.tool_calls):
                found.append((index, own[index] > 0 or bool(step.failed_tools)))
        return found

    def quote(self, index: int, pattern: re.Pattern[str] | None = None) -> str | None:
        """Words of a step around the pattern's first match; None when no passage shows what is said of it."""
        for passage in self.trace.passages(index) if pattern is not None else ():
            found = passage.search(pattern) if pattern is not None else None
            if found:
                return found
        return None

    def count(self, column: str, steps: list[int], *, most: float) -> Amount:
        """Measure how often a feature is seen at ``steps``, as a share of ``most``, with the last step that has it."""
        seen = [index for index in steps if self.columns[column][index] > 0]
        if not seen:
            return NOTHING
        return Amount(min(1.0, len(seen) / most), seen[-1], self.quote(seen[-1]))


_ANNOUNCES = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| am going to| are going to| need to| should| must) (?:now |then |next |first |also )?"
    r"(?:proceed|start|begin|try|check|look|search|use|run|execute|write|verify|review|continue|analy[sz]e|calculate|find"
    r"|visit|open|navigate|go|attempt|extract|wait|get back|work on|focus)\b"
    r"|let(?:'s| us| me) (?!know)\w+|next steps?\b|(?:i|we)(?:'ll| will) (?:now|next)\b|proceed(?:ing)? (?:to|with)\b)",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"\b(?:(?:could|can|was|were|am|is|are)(?: ?not|n't) (?:be )?(?:able to |possible to )?(?:find|found|determined?"
    r"|access(?:ed)?|retrieved?|obtain(?:ed)?|answer(?:ed)?|identif(?:y|ied)|located?|verif(?:y|ied)|confirm(?:ed)?"
    r"|conclude|completed?)|(?:unable|failed) to (?:find|determine|access|retrieve|obtain|answer|identify|locate|verify"
    r"|complete|provide|calculate)|no (?:definitive |final |clear |conclusive )?answer"
    r"|(?:insufficient|not enough) (?:data|information)|inconclusive)\b",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"\b(?:(?:may|might) (?:not )?(?:be|have been|contain) (?:\w+ )?(?:accurate|correct|complete|exact|up to date|wrong"
    r"|outdated|errors?)|(?:is|are|was|were|been) (?:only )?(?:an? )?(?:\w+ )?(?:assum(?:ed|ption)|estimates?|guess\w*"
    r"|hypothetical\w*)|not (?:been )?(?:verified|confirmed|checked)|without (?:verif\w+|confirm\w+|access)|unverified"
    r"|please (?:verify|double[- ]check|note that (?:this|these|the))"
    r"|further (?:verification|research|investigation|confirmation)"
    r"|(?:recommend|suggest|advis)\w* (?:\w+ ){0,3}(?:check|verify|consult)\w*|best guess|educated guess"
    r"|based on (?:the )?(?:limited|available|general|typical|my) (?:knowledge|information|data|understanding))\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^\W*(?:[A-Z]\w+,\s*)?(?:please|could you|can you|kindly|now,? please)\b"
    r"|\bplease (?!let me know|feel free|note)\w+",
    re.IGNORECASE,
)
_FINAL_CALL = re.compile(r"final_answer\(")
_TAIL = 1_200
_LAST_WORDS = 300
_FEW_WORDS = 5
_MANY_WORDS = 25


def code_not_run(run: DetectorReading) -> Amount:
    """The last act of a team whose code is run is code that nobody ran."""
    if not run.telling:
        return NOTHING
    last, texts = run.telling[-1], run.view.texts
    is_run = any(run.view.is_report[index] for index in range(last))
    after = any(run.view.is_report[index] for index in range(last + 1, len(run.steps)))
    if not is_run or after or not texts[last].code:
        return NOTHING
    return Amount(1.0, last, run.quote(last))


def request_unanswered(run: DetectorReading) -> Amount:
    """The run stops on a hand-over, a call without a result, or a question or request to a colleague."""
    if run.person_had_last_word:
        return NOTHING
    step = run.steps[run.last_step]
    recipient = step.recipient
    handed = recipient is not None and not is_person(recipient) and fold(recipient) not in ("end", "none", "finish", "")
    results_kept = any(call.result is not None for one in run.steps for call in one.tool_calls)
    called = results_kept and any(call.result is None and call.error is None for call in step.tool_calls)
    if (handed and step.kind is StepKind.HANDOFF) or called:
        return Amount(1.0, step.index, run.quote(step.index))
    tail = run.view.texts[step.index].prose.strip()[-_TAIL:]
    asks = tail.endswith("?") or (
        run.view.agents[step.index] in run.view.planners and _REQUEST.search(tail) is not None
    )
    if asks and not run.has_person and not run.is_closed and not run.view.is_report[step.index]:
        return Amount(1.0 if not tail.endswith("?") or handed else 0.5, step.index, run.quote(step.index))
    return NOTHING


def machine_last(run: DetectorReading) -> Amount:
    """The last words are a machine's, and nobody took them up."""
    last = run.last_step
    if not run.view.is_report[last] or run.is_closed:
        return NOTHING
    asked = [index for index in run.trace.acts if last - 2 <= index < last]
    if any(_FINAL_CALL.search(run.view.texts[index].said) for index in asked):
        return NOTHING
    return Amount(1.0, last, run.quote(last))


def error_last(run: DetectorReading) -> Amount:
    """The run ends on an error."""
    last = run.last_step
    wrong = run.columns["failure: error printed here"][last] > 0 or run.steps[last].error is not None
    if (wrong or run.steps[last].failed_tools) and (run.view.is_report[last] or not run.steps[last].content.strip()):
        return Amount(1.0, last, run.quote(last, ERROR_MARKER))
    return NOTHING


def announcement_last(run: DetectorReading) -> Amount:
    """The last words announce work that is not there."""
    if run.person_had_last_word or run.is_closed or not run.telling or run.telling[-1] != run.last_step:
        return NOTHING
    last = run.last_step
    text = run.view.texts[last]
    if text.answer is not None or not _ANNOUNCES.search(text.prose.rstrip()[-_LAST_WORDS:]):
        return NOTHING
    return Amount(1.0, last, run.quote(last, _ANNOUNCES))


def no_answer(run: DetectorReading) -> Amount:
    """The final words say that no answer was found, or there are none."""
    speaker = run.telling[-1] if run.telling else run.last_step
    final = run.trace.final_text
    if not final.strip():
        answered = any(call.result is not None for call in run.steps[run.last_step].tool_calls)
        return NOTHING if answered else Amount(1.0, run.last_step, run.quote(run.last_step))
    if not _NO_ANSWER.search(final[-_TAIL:]):
        return NOTHING
    return Amount(1.0, speaker, run.quote(speaker, _NO_ANSWER))


def doubted_answer(run: DetectorReading) -> Amount:
    """The last words of the team doubt what they say."""
    for index in reversed(run.late[-2:]):
        if _DOUBTS.search(run.view.texts[index].prose[-2 * _TAIL :]):
            return Amount(1.0, index, run.quote(index, _DOUBTS))
    return NOTHING


def work_left(run: DetectorReading) -> Amount:
    """The last speaker names work that is not done, and no person closed the run after it."""
    signal = run.strongest(Family.TERMINATION)
    if signal is None or run.person_had_last_word:
        return NOTHING
    return Amount(1.0, signal.step, signal.quote)


def off_the_task(run: DetectorReading) -> Amount:
    """The last words, though long, have hardly a word in common with the task."""
    task = run.view.task_words
    if not run.telling or len(task) < _FEW_WORDS or run.has_person:
        return NOTHING
    last = run.telling[-1]
    own = set(run.view.texts[last].words)
    if len(own) < _MANY_WORDS:
        return NOTHING
    shared = len(own & task) / len(task)
    return Amount(max(0.0, 1.0 - 5.0 * shared), last, run.quote(last)) if shared < 0.2 else NOTHING


def stopped_for_length(run: DetectorReading) -> Amount:
    """The framework stopped the run for its length."""
    return Amount(1.0, run.last_step, run.quote(run.last_step)) if limit_reached(run.trace) else NOTHING


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


def error_not_overcome(run: DetectorReading) -> Amount:
    """The last that a machine said is a failure."""
    if not run.machine_words or not run.machine_words[-1][1]:
        return NOTHING
    index = run.machine_words[-1][0]
    return Amount(1.0, index, run.quote(index, ERROR_MARKER))


def errors_reported(run: DetectorReading) -> Amount:
    """Much of what machines said is failure."""
    words = run.machine_words
    failed = [index for index, wrong in words if wrong]
    if not failed:
        return NOTHING
    return Amount(min(1.0, 2 * len(failed) / (len(words) + 2)), failed[-1], run.quote(failed[-1], ERROR_MARKER))


def empty_handed(run: DetectorReading) -> Amount:
    """Acts and reports that found nothing, over all that was done."""
    column = run.columns["failure: empty-handed"]
    steps = sorted({*run.telling, *(index for index, _ in run.machine_words)})
    seen = [index for index in steps if column[index] > 0]
    if not seen:
        return NOTHING
    return Amount(len(seen) / (len(steps) + 2), seen[-1], run.quote(seen[-1], EMPTY_HANDED))


def made_up(run: DetectorReading) -> Amount:
    """Assumed, simulated or placeholder data, unless the task asks for it."""
    if _ASKS_FOR_IT.search(run.view.trajectory.task[:20_000]):
        return NOTHING
    assumed = run.columns["language: assumes or simulates"]
    seen = [index for index in run.telling if assumed[index] > 0 or _PLACED.search(run.view.texts[index].said)]
    if not seen:
        return NOTHING
    pattern = MADE_UP if assumed[seen[0]] > 0 else _PLACED
    return Amount(min(1.0, (1 + len(seen)) / 4), seen[0], run.quote(seen[0], pattern))


def from_memory(run: DetectorReading) -> Amount:
    """Answers from what the model remembers."""
    seen = [index for index in run.telling if run.columns["language: from memory"][index] > 0]
    return Amount(min(1.0, (1 + len(seen)) / 4), seen[0], run.quote(seen[0], MEMORY)) if seen else NOTHING


def bare_claims(run: DetectorReading) -> Amount:
    """Agents say that they have done something, and neither they nor a machine has just shown it."""
    claimed = run.columns["claims: says that it has done something"]
    seen = [index for index in run.telling if claimed[index] > 0 and not _shown(run, index)]
    return Amount(min(1.0, len(seen) / 4), seen[-1], run.quote(seen[-1], CLAIM)) if seen else NOTHING


def _shown(run: DetectorReading, index: int) -> bool:
    near = range(max(0, index - _NEAR), index + 1)
    return any(run.steps[one].tool_calls or run.view.is_report[one] or run.view.texts[one].code for one in near)


def apologies(run: DetectorReading) -> Amount:
    """Apologies and refusals in the last acts."""
    for index in reversed(run.late):
        for column, pattern in (("language: refuses", REFUSAL), ("language: apologises", APOLOGY)):
            if run.columns[column][index] > 0:
                return Amount(1.0, index, run.quote(index, pattern))
    return NOTHING


def hedged_end(run: DetectorReading) -> Amount:
    """The last acts hedge."""
    hedges = [(len(_HEDGES.findall(run.view.texts[index].prose)), index) for index in run.late[-2:]]
    if not hedges or max(hedges)[0] == 0:
        return NOTHING
    times, index = max(hedges)
    return Amount(min(1.0, times / 4), index, run.quote(index, _HEDGES))


def answers_differ(run: DetectorReading) -> Amount:
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
    return Amount(len(other) / (len(last) - 1), other[-1], run.quote(other[-1])) if other else NOTHING


def _same(answer: str, other: str) -> bool:
    """Tell whether two stated answers agree: in their numbers when both have some, else in their words."""
    numbers, others = number_set(answer), number_set(other)
    if numbers and others:
        return bool(numbers & others)
    return answer in other or other in answer


def answer_changes(run: DetectorReading) -> Amount:
    """Agents go back on answers that they had stated."""
    return run.count("agreement: changes its own answer", run.telling, most=4)


def objection_open(run: DetectorReading) -> Amount:
    """The last acts object to what another said, and no act after them puts it right."""
    for index in reversed(run.late[-2:]):
        if _objects(run, index):
            times = len(_OBJECTS.findall(run.view.texts[index].prose))
            return Amount(min(1.0, times / 2), index, run.quote(index, _OBJECTS))
    return NOTHING


def objections(run: DetectorReading) -> Amount:
    """Acts find fault with what another said, over all acts."""
    seen = [index for index in run.telling if _objects(run, index)]
    if not seen:
        return NOTHING
    return Amount(len(seen) / (len(run.telling) + 2), seen[0], run.quote(seen[0], _OBJECTS))


def _objects(run: DetectorReading, index: int) -> bool:
    if _OBJECTS.search(run.view.texts[index].prose) is None:
        return False
    return any(before < index and run.view.agents[before] != run.view.agents[index] for before in run.first_of_two)


def no_progress(run: DetectorReading) -> Amount:
    """Whoever leads finds that the work goes in a circle or nowhere, or begins anew with the whole task."""
    verdict = run.columns["work: the planner is disappointed"]
    seen = {index for index in range(len(run.steps)) if verdict[index] > 0}
    briefs = [i for i in run.trace.acts if run.trace.is_brief(i) and run.view.agents[i] in run.view.planners]
    seen |= {later for before, later in pairwise(briefs) if later > before + 1}
    if not seen:
        return NOTHING
    return Amount(min(1.0, len(seen) / 3), max(seen), run.quote(max(seen)))


def loops(run: DetectorReading) -> Amount:
    """The last acts say again what the same agent had said: a loop that nobody broke."""
    own, last = run.columns["repetition: like the agent's own earlier steps"], run.telling[-_LAST_ACTS:]
    seen = [index for index in last if own[index] > 0.9]
    if not seen or own[last[-1]] <= 0.5:
        return NOTHING
    return Amount(min(1.0, len(seen) / 3), seen[0], run.quote(seen[0]))


def silent(run: DetectorReading) -> Amount:
    """Members of the team who were asked and gave no reply at all."""
    acts = [index for index in range(len(run.steps)) if run.view.is_act[index]]
    blank = [
        index
        for index in acts
        if _BLANK.fullmatch(run.steps[index].content[:50])
        and not (run.steps[index].tool_calls or run.steps[index].recipient or run.steps[index].error)
    ]
    return Amount(min(1.0, 3 * len(blank) / (len(acts) + 2)), blank[-1], run.quote(blank[-1])) if blank else NOTHING


def shortcuts(run: DetectorReading) -> Amount:
    """Acts that leave something out or go round it, over all acts."""
    seen = [index for index in run.telling if _SHORTCUTS.search(run.view.texts[index].prose)]
    if not seen:
        return NOTHING
    return Amount(len(seen) / (len(run.telling) + 2), seen[0], run.quote(seen[0], _SHORTCUTS))


def _rule(run: DetectorReading, *families: Family) -> Amount:
    """Measure the rules' strongest signal; one no more than often at fault counts nothing: passing runs hold it too."""
    signal = run.strongest(*families)
    if signal is None or signal.weight <= MODERATE:
        return NOTHING
    return Amount(min(1.0, (signal.weight - MODERATE) / (DECISIVE - MODERATE)), signal.step, signal.quote)


def rule_error(run: DetectorReading) -> Amount:
    """The rules about errors and tools."""
    return _rule(run, Family.ERROR, Family.TOOL)


def rule_value(run: DetectorReading) -> Amount:
    """The rules about sums and values that contradict each other."""
    return _rule(run, Family.ARITHMETIC, Family.CONTRADICTION)


def rule_ignored(run: DetectorReading) -> Amount:
    """The rule about corrections that were not taken up."""
    return _rule(run, Family.IGNORED_INPUT)


def rule_handoff(run: DetectorReading) -> Amount:
    """The rules about transfers to nobody, to the wrong agent, and in circles."""
    return _rule(run, Family.HANDOFF)


SIGNALS: dict[str, Callable[[DetectorReading], Amount]] = {
    "ends on code that nobody ran": code_not_run,
    "ends on a request that nobody answered": request_unanswered,
    "ends on the words of a machine": machine_last,
    "ends on an error": error_last,
    "ends on an announcement": announcement_last,
    "ends without an answer": no_answer,
    "ends with doubt in its answer": doubted_answer,
    "ends with work left to do": work_left,
    "ends off the task": off_the_task,
    "was stopped for its length": stopped_for_length,
    "an error that was not overcome": error_not_overcome,
    "many errors": errors_reported,
    "empty-handed": empty_handed,
    "made-up data": made_up,
    "answers from memory": from_memory,
    "claims with nothing to show": bare_claims,
    "late apologies and refusals": apologies,
    "hedges at the end": hedged_end,
    "the last answers differ": answers_differ,
    "answers change": answer_changes,
    "an objection left open": objection_open,
    "objections": objections,
    "no progress, says who leads": no_progress,
    "ends in a loop": loops,
    "no reply at all": silent,
    "leaves something out": shortcuts,
    "rules: errors and tools": rule_error,
    "rules: sums and contradictions": rule_value,
    "rules: corrections not taken up": rule_ignored,
    "rules: transfers": rule_handoff,
}
"""Each is evidence of a failure in any team, whatever its domain, so that none may count against one."""


def amounts_of(
    trajectory: Trajectory, table: FeatureTable | None = None, view: View | None = None
) -> dict[str, Amount]:
    """Collect what every signal finds in a run with at least one step."""
    run = DetectorReading(trajectory, table, view)
    return {name: read(run) for name, read in SIGNALS.items()}
