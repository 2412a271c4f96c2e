"""Sentences of features: which feature is told how, and where a step stands in the run."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._features import View, _language, _table
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._rules import _language as rule_language
from tracer_hooks.diagnosis._rules._errors import ERROR_MARKER
from tracer_hooks.diagnosis._rules._signal import Family
from tracer_hooks.diagnosis._structural import _observations
from tracer_hooks.diagnosis._structural._observations import (
    FeatureSentence,
    Said,
    Teller,
    code_words,
    plain,
    shown,
    words,
)
from tracer_hooks.schema import StepKind

_INTENT = re.compile(r"\b(?:i(?:'ll| will| am going to)|we(?:'ll| will)|let(?:'s| us| me))\b", re.IGNORECASE)
_CLOSING = re.compile(r"final answer\W{1,6}(?P<answer>[^\n]{1,200})", re.IGNORECASE)
_DID = re.compile(
    r"\bI (?:have )?(?:typed|clicked|visited|opened|scrolled|searched|navigated|went|read|ran|looked|found|hovered)\b"
)
_MOST_PARTS = 8


def first_after_task(view: View, step: int) -> Said | None:
    """The team's first act after the task was given, with what it announces."""
    if not is_act_after_task(view, step, 0):
        return None
    text = "it is the team's first act after the task was given"
    for passage in view.trace.passages(step, "content"):
        match = _INTENT.search(passage.prose)
        if match is not None:
            return Said(
                f"{text}, and it says what comes next ({shown(match.group())})",
                passage.quote_at(match.start(), match.end()),
            )
    return Said(text)


def second_after_task(view: View, step: int) -> Said | None:
    """The team's second act after the task was given."""
    return Said("it is the team's second act after the task was given") if is_act_after_task(view, step, 1) else None


def third_after_task(view: View, step: int) -> Said | None:
    """The team's third act after the task was given."""
    return Said("it is the team's third act after the task was given") if is_act_after_task(view, step, 2) else None


def is_act_after_task(view: View, step: int, before: int) -> bool:
    """Whether the task was given, and the team acted ``before`` times since, other than by handing it on word for word.

    In a conversation that the team opens, a person gives the task later.
    """
    people = [index for index, role in enumerate(view.trace.roles) if role is Role.PERSON]
    if people and people[0] > step:
        return False
    return sum(view.is_act[earlier] and not view.trace.is_brief(earlier) for earlier in range(step)) == before


def last_reply_before_leader(view: View, step: int) -> Said | None:
    """The last reply before the leader ends the run, with what the final answer has from it."""
    last = view.count - 1
    if view.agents[last] not in view.planners or step == last:
        return None
    text = f"it is the last reply before {view.agents[last]!r} ends the run in step {last}"
    closing = _CLOSING.search(view.trace.final_text)
    for part in re.split(r"[,;]\s*", closing.group("answer"))[:_MOST_PARTS] if closing is not None else ():
        word = part.strip(" .*'\"")
        quote = view.trace.locate(step, word, "content") if len(word) > 1 else None
        if quote:
            return Said(f"{text}, and {shown(word)} of the final answer stands in it", quote)
    return Said(text)


def early_under_leader(view: View, step: int) -> Said | None:
    """One of the first replies in a run that did not come to an end of its own."""
    leader = next((name for name in view.agents if name in view.planners), None)
    if leader is None:
        return None
    text = f"it is one of the first three replies under {leader!r}, in a run that {_end(view, leader)}"
    for passage in view.trace.passages(step, "content"):
        match = _DID.search(passage.prose)
        if match is not None:
            did = passage.quote_at(match.start(), match.end())
            return Said(f"{text}; it says what was done ({shown(match.group())})", did)
    return Said(text)


def _end(view: View, leader: str) -> str:
    last = view.steps[-1]
    if last.agent not in view.planners:
        return f"ends without a last word of {leader!r}"
    return "ends on a hand-over" if last.kind is StepKind.HANDOFF or view.is_routing[-1] else "stopped at a limit"


_ERROR = (Family.ERROR, Family.TOOL)
_UNBACKED = "yet it has no code and calls no tool, and no terminal reports right before it"


def _bare_claim(view: View, step: int) -> Said | None:
    return _CLAIM(view, step) if _observations.is_bare(view, step) else None


def _ledger(view: View, step: int) -> Said | None:
    match = _table.LEDGER.search(view.steps[step].content[:300])
    return None if match is None else Said(f"It keeps the notes of the one who leads: {shown(match.group())}.")


_CLAIM = words(f"It has words of work done ({{words}}), {_UNBACKED}.", _language.CLAIM)
_MEMORY = re.compile(_language.MEMORY.pattern.replace("known (?:to|that|facts)", "known facts"), re.IGNORECASE)
_ASSUMES = FeatureSentence(
    words("It speaks of something assumed, simulated, hypothetical or a placeholder: {words}.", rule_language.MADE_UP),
    (Family.ASSUMPTION,),
)
_PLACEHOLDER = code_words("Its code has a placeholder or stand-in: {words}.", rule_language.PLACEHOLDER_IN_CODE)


def _assumes_first(view: View, step: int) -> Said | None:
    return _ASSUMES.tell(view, step) or _PLACEHOLDER(view, step)


def _place(teller: Teller) -> FeatureSentence:
    return FeatureSentence(teller, is_place=True)


_ERROR_NEXT = FeatureSentence(_observations.error_follows, _ERROR)
_OBJECTED = FeatureSentence(_observations.objected_to)
_RAN = FeatureSentence(_observations.ran_well)
_EMPTY = FeatureSentence(
    words(
        "It speaks of something missing, not found or not possible: {words}.",
        _language.EMPTY_HANDED,
        parts=("content", "arguments", "result", "tool error", "error"),
    )
)
_LAST_REPLY = _place(last_reply_before_leader)
_EARLY_REPLY = _place(early_under_leader)
_DISAPPOINTED = FeatureSentence(_observations.leader_disappointed)
_FAILURE = {
    "failure: error printed here": FeatureSentence(
        words("It shows an error: {words}.", ERROR_MARKER, parts=("content", "result", "tool error", "error")), _ERROR
    ),
    "failure: the machine reports an error next": _ERROR_NEXT,
    "failure: first to cause an error": _ERROR_NEXT,
    "failure: last to cause an error": _ERROR_NEXT,
    "failure: right after an error": FeatureSentence(_observations.error_before),
    "failure: repairs after an error": FeatureSentence(_observations.repairs),
    "failure: empty-handed": _EMPTY,
    "failure: first to come back empty-handed": _EMPTY,
    "failure: next step is empty-handed": FeatureSentence(_observations.empty_follows),
    "failure: asked for code that was not there": FeatureSentence(_observations.no_code_follows),
    "failure: objects to others": FeatureSentence(
        words("Its words are those of an objection or a correction: {words}.", _language.OBJECTS)
    ),
    "failure: objected to by the next speaker": _OBJECTED,
    "failure: first objected to": _OBJECTED,
}
_CODE = {
    "code: first of the run": FeatureSentence(_observations.first_code),
    "code: last of the run": FeatureSentence(_observations.last_code),
    "code: ran without an error": _RAN,
    "code: first that ran without an error": _RAN,
    "code: last that ran without an error": _RAN,
    "code: last that failed": _ERROR_NEXT,
    "code: fetches from outside": FeatureSentence(code_words("Its code reaches outside: {words}.", _table.FETCHES)),
    "code: first to fetch from outside": FeatureSentence(
        code_words("Its code reaches outside: {words}.", _table.FETCHES)
    ),
    "code: reads a file": FeatureSentence(code_words("Its code reads or opens something: {words}.", _table.READS)),
    "code: calculates": FeatureSentence(code_words("Its code calculates: {words}.", _table.CALCULATES)),
    "code: guards against failure": FeatureSentence(
        code_words("Its code guards against a failure: {words}.", _table.GUARDS)
    ),
    "code: carries its data inside": FeatureSentence(
        code_words("Data is written into its code: {words}.", _table.LITERALS)
    ),
    "shape: has code": FeatureSentence(_observations.has_some_code),
}
_BRIEF = {
    "brief: says the task again": FeatureSentence(_observations.says_task_again),
    "shape: hands the task on": FeatureSentence(_observations.says_task_again),
    "brief: the first act leaves part of the task out": FeatureSentence(_observations.leaves_task_words_out),
    "brief: first act after it": _place(first_after_task),
    "brief: second act after it": _place(second_after_task),
    "brief: third act after it": _place(third_after_task),
}
_LANGUAGE = {
    "language: assumes or simulates": _ASSUMES,
    "language: first to assume or simulate": FeatureSentence(_assumes_first, (Family.ASSUMPTION,)),
    "language: placeholder in code": FeatureSentence(_PLACEHOLDER, (Family.ASSUMPTION,)),
    "language: from memory": FeatureSentence(
        words("It appeals to memory or to what is already known: {words}.", _MEMORY)
    ),
    "language: hedges": FeatureSentence(words("It hedges: {words}.", _language.HEDGE)),
    "language: sounds certain": FeatureSentence(words("It sounds certain: {words}.", _language.CERTAIN)),
    "language: announces what it will do": FeatureSentence(
        words("It announces what comes next: {words}.", _language.INTENT)
    ),
    "language: apologises": FeatureSentence(words("It apologises or admits a mistake: {words}.", _language.APOLOGY)),
    "language: corrects": FeatureSentence(words("Its words are those of a correction: {words}.", _language.CORRECTION)),
    "language: refuses": FeatureSentence(words("Its words are those of a refusal: {words}.", _language.REFUSAL)),
    "language: leaves something out": FeatureSentence(
        words("Its words are those of a short cut or a way round: {words}.", _language.SKIP)
    ),
    "language: by hand": FeatureSentence(words("It speaks of work by hand or by eye: {words}.", _language.MANUAL)),
    "language: declares the end": FeatureSentence(words("It speaks of the end: {words}.", rule_language.ENDS)),
    "language: approves": FeatureSentence(
        words("Its words are those of approval: {words}.", rule_language.APPROVES), (Family.VERIFICATION,)
    ),
    "language: rejects": FeatureSentence(
        words("Its words are those of doubt or refusal: {words}.", rule_language.REJECTS)
    ),
    "language: speaks of checking": FeatureSentence(words("It speaks of checking: {words}.", _language.VERIFY)),
    "language: calculates": FeatureSentence(words("It writes a formula or a sum: {words}.", _language.EQUATION)),
}
_CLAIMS = {
    "claims: says that it has done something": FeatureSentence(
        words("It has words of work done: {words}.", _language.CLAIM)
    ),
    "claims: done, with nothing to show": FeatureSentence(_bare_claim),
    "claims: first done with nothing to show": FeatureSentence(_bare_claim),
    "claims: states an answer with nothing to show": FeatureSentence(_observations.states_bare),
    "claims: first to state an answer": FeatureSentence(_observations.states_first),
    "agreement: changes its own answer": FeatureSentence(_observations.states_another),
    "agreement: first to state the last answer": FeatureSentence(_observations.states_first),
    "novelty: first new number of the run": FeatureSentence(_observations.first_new_number),
    "survival: says most of the answer first": FeatureSentence(_observations.first_words_of_answer),
    "survival: share of the answer's words first said here": FeatureSentence(_observations.first_words_of_answer),
    "survival: numbers of the answer first said here": FeatureSentence(_observations.first_number_of_answer),
    "survival: first number of the answer": FeatureSentence(_observations.first_number_of_answer),
    "repetition: the same again": FeatureSentence(_observations.says_again, (Family.REPETITION,)),
    "repetition: like an earlier step": FeatureSentence(_observations.says_again, (Family.REPETITION,)),
}
_SHAPE = {
    "role: reports what a machine printed": FeatureSentence(plain("{agent} only reports here what a machine printed.")),
    "role: a person": FeatureSentence(plain("{agent} is a person or a given text here, and no member of the team.")),
    "shape: only routes": FeatureSentence(plain("It only says who acts next, or does nothing at all.")),
    "shape: keeps a ledger": FeatureSentence(_ledger),
    "shape: plans": FeatureSentence(words("It speaks of a plan or of next steps: {words}.", _table.PLAN)),
    "shape: fewer than 120 characters": FeatureSentence(_observations.is_short),
    "shape: hand-off": FeatureSentence(_observations.hands_over),
    "shape: tool call": FeatureSentence(_observations.calls_tools),
    "shape: raised": _ERROR_NEXT,
    "flow: hands work to another": FeatureSentence(_observations.hands_over),
    "flow: answers a hand-off": FeatureSentence(_observations.answers_hand_off),
    "flow: first answer to a hand-off": FeatureSentence(_observations.answers_hand_off),
}
_WORK = {
    "work: early reply under a planner in a run that was cut off": _EARLY_REPLY,
    "work: last reply before the planner's answer": _LAST_REPLY,
    "work: first reply that the planner is disappointed of": _DISAPPOINTED,
    "work: reply that the planner is disappointed of": _DISAPPOINTED,
    "work: reply after which the request is made again": FeatureSentence(_observations.asked_again),
    "position: first act": _place(plain("it is the first act of the team")),
    "position: last act": _place(plain("it is the last act of the team")),
    "position: step 0": _place(plain("it is the first step of the run")),
    "position: last step": _place(plain("it is the last step of the run")),
    "turns: the agent's only step": _place(plain("it is the only step of {agent}")),
}
SENTENCES: dict[str, FeatureSentence] = {
    **_FAILURE,
    **_CODE,
    **_BRIEF,
    **_LANGUAGE,
    **_CLAIMS,
    **_SHAPE,
    **_WORK,
}
"""Sentence by the name of the feature."""
