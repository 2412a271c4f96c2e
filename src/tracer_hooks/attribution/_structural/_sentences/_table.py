"""Which feature is told how. A feature that is not named here is never shown as evidence.

The sentences say no more than the text of the run does: each teller looks at the step again and keeps silent when the
text does not bear the sentence out. Words of the run stand in quotation marks.
"""

from __future__ import annotations

import re

from tracer_hooks.attribution._features import View, _code, _failure, _language, _shape
from tracer_hooks.attribution._rules import _language as rule_language
from tracer_hooks.attribution._rules._errors import ERROR_MARKER
from tracer_hooks.attribution._rules._signal import Family
from tracer_hooks.attribution._structural._sentences import _around, _places, _values
from tracer_hooks.attribution._structural._sentences._telling import (
    Said,
    Sentence,
    Teller,
    code_words,
    plain,
    shown,
    words,
)

_ERROR = (Family.ERROR, Family.TOOL)
_UNBACKED = "yet it has no code and calls no tool, and no terminal reports right before it"


def _bare_claim(view: View, step: int) -> Said | None:
    return _CLAIM(view, step) if _values.is_bare(view, step) else None


def _ledger(view: View, step: int) -> Said | None:
    match = _shape.LEDGER.search(view.steps[step].content[:300])
    return None if match is None else Said(f"It keeps the notes of the one who leads: {shown(match.group())}.")


_CLAIM = words(f"It has words of work done ({{words}}), {_UNBACKED}.", _language.CLAIM)
_MEMORY = re.compile(_language.MEMORY.pattern.replace("known (?:to|that|facts)", "known facts"), re.IGNORECASE)
_ASSUMES = Sentence(
    words("It speaks of something assumed, simulated, hypothetical or a placeholder: {words}.", rule_language.MADE_UP),
    (Family.ASSUMPTION,),
)
_PLACEHOLDER = code_words("Its code has a placeholder or stand-in: {words}.", rule_language.PLACEHOLDER_IN_CODE)


def _assumes_first(view: View, step: int) -> Said | None:
    return _ASSUMES.tell(view, step) or _PLACEHOLDER(view, step)


def _place(teller: Teller) -> Sentence:
    return Sentence(teller, is_place=True)


_ERROR_NEXT = Sentence(_around.error_follows, _ERROR)
_OBJECTED = Sentence(_around.objected_to)
_RAN = Sentence(_around.ran_well)
_EMPTY = Sentence(
    words(
        "It speaks of something missing, not found or not possible: {words}.",
        _failure.EMPTY_HANDED,
        parts=("content", "arguments", "result", "tool error", "error"),
    )
)
_LAST_REPLY = _place(_places.last_reply_before_leader)
_EARLY_REPLY = _place(_places.early_under_leader)
_DISAPPOINTED = Sentence(_around.leader_disappointed)

_FAILURE = {
    "failure: error printed here": Sentence(
        words("It shows an error: {words}.", ERROR_MARKER, parts=("content", "result", "tool error", "error")), _ERROR
    ),
    "failure: the machine reports an error next": _ERROR_NEXT,
    "failure: first to cause an error": _ERROR_NEXT,
    "failure: last to cause an error": _ERROR_NEXT,
    "failure: right after an error": Sentence(_around.error_before),
    "failure: repairs after an error": Sentence(_around.repairs),
    "failure: empty-handed": _EMPTY,
    "failure: first to come back empty-handed": _EMPTY,
    "failure: next step is empty-handed": Sentence(_around.empty_follows),
    "failure: asked for code that was not there": Sentence(_around.no_code_follows),
    "failure: objects to others": Sentence(
        words("Its words are those of an objection or a correction: {words}.", _failure.OBJECTS)
    ),
    "failure: objected to by the next speaker": _OBJECTED,
    "failure: first objected to": _OBJECTED,
}
_CODE = {
    "code: first of the run": Sentence(_around.first_code),
    "code: last of the run": Sentence(_around.last_code),
    "code: ran without an error": _RAN,
    "code: first that ran without an error": _RAN,
    "code: last that ran without an error": _RAN,
    "code: last that failed": _ERROR_NEXT,
    "code: fetches from outside": Sentence(code_words("Its code reaches outside: {words}.", _code.FETCHES)),
    "code: first to fetch from outside": Sentence(code_words("Its code reaches outside: {words}.", _code.FETCHES)),
    "code: reads a file": Sentence(code_words("Its code reads or opens something: {words}.", _code.READS)),
    "code: calculates": Sentence(code_words("Its code calculates: {words}.", _code.CALCULATES)),
    "code: guards against failure": Sentence(code_words("Its code guards against a failure: {words}.", _code.GUARDS)),
    "code: carries its data inside": Sentence(code_words("Data is written into its code: {words}.", _code.LITERALS)),
    "shape: has code": Sentence(_around.has_some_code),
}
_BRIEF = {
    "brief: says the task again": Sentence(_around.says_task_again),
    "shape: hands the task on": Sentence(_around.says_task_again),
    "brief: the first act leaves part of the task out": Sentence(_values.leaves_task_words_out),
    "brief: first act after it": _place(_places.first_after_task),
    "brief: second act after it": _place(_places.second_after_task),
    "brief: third act after it": _place(_places.third_after_task),
}
_LANGUAGE = {
    "language: assumes or simulates": _ASSUMES,
    "language: first to assume or simulate": Sentence(_assumes_first, (Family.ASSUMPTION,)),
    "language: placeholder in code": Sentence(_PLACEHOLDER, (Family.ASSUMPTION,)),
    "language: from memory": Sentence(words("It appeals to memory or to what is already known: {words}.", _MEMORY)),
    "language: hedges": Sentence(words("It hedges: {words}.", _language.HEDGE)),
    "language: sounds certain": Sentence(words("It sounds certain: {words}.", _language.CERTAIN)),
    "language: announces what it will do": Sentence(words("It announces what comes next: {words}.", _language.INTENT)),
    "language: apologises": Sentence(words("It apologises or admits a mistake: {words}.", _language.APOLOGY)),
    "language: corrects": Sentence(words("Its words are those of a correction: {words}.", _language.CORRECTION)),
    "language: refuses": Sentence(words("Its words are those of a refusal: {words}.", _language.REFUSAL)),
    "language: leaves something out": Sentence(
        words("Its words are those of a short cut or a way round: {words}.", _language.SKIP)
    ),
    "language: by hand": Sentence(words("It speaks of work by hand or by eye: {words}.", _language.MANUAL)),
    "language: declares the end": Sentence(words("It speaks of the end: {words}.", rule_language.ENDS)),
    "language: approves": Sentence(
        words("Its words are those of approval: {words}.", rule_language.APPROVES), (Family.VERIFICATION,)
    ),
    "language: rejects": Sentence(words("Its words are those of doubt or refusal: {words}.", rule_language.REJECTS)),
    "language: speaks of checking": Sentence(words("It speaks of checking: {words}.", _language.VERIFY)),
    "language: calculates": Sentence(words("It writes a formula or a sum: {words}.", _language.EQUATION)),
}
_CLAIMS = {
    "claims: says that it has done something": Sentence(words("It has words of work done: {words}.", _language.CLAIM)),
    "claims: done, with nothing to show": Sentence(_bare_claim),
    "claims: first done with nothing to show": Sentence(_bare_claim),
    "claims: states an answer with nothing to show": Sentence(_values.states_bare),
    "claims: first to state an answer": Sentence(_values.states_first),
    "agreement: changes its own answer": Sentence(_values.states_another),
    "agreement: first to state the last answer": Sentence(_values.states_first),
    "novelty: first new number of the run": Sentence(_values.first_new_number),
    "survival: says most of the answer first": Sentence(_values.first_words_of_answer),
    "survival: share of the answer's words first said here": Sentence(_values.first_words_of_answer),
    "survival: numbers of the answer first said here": Sentence(_values.first_number_of_answer),
    "survival: first number of the answer": Sentence(_values.first_number_of_answer),
    "repetition: the same again": Sentence(_around.says_again, (Family.REPETITION,)),
    "repetition: like an earlier step": Sentence(_around.says_again, (Family.REPETITION,)),
}
_SHAPE = {
    "role: reports what a machine printed": Sentence(plain("{agent} only reports here what a machine printed.")),
    "role: a person": Sentence(plain("{agent} is a person or a given text here, and no member of the team.")),
    "shape: only routes": Sentence(plain("It only says who acts next, or does nothing at all.")),
    "shape: keeps a ledger": Sentence(_ledger),
    "shape: plans": Sentence(words("It speaks of a plan or of next steps: {words}.", _shape.PLAN)),
    "shape: fewer than 120 characters": Sentence(_around.is_short),
    "shape: hand-off": Sentence(_around.hands_over),
    "shape: tool call": Sentence(_around.calls_tools),
    "shape: raised": _ERROR_NEXT,
    "flow: hands work to another": Sentence(_around.hands_over),
    "flow: answers a hand-off": Sentence(_around.answers_hand_off),
    "flow: first answer to a hand-off": Sentence(_around.answers_hand_off),
}
_WORK = {
    "work: early reply under a planner in a run that was cut off": _EARLY_REPLY,
    "work: last reply before the planner's answer": _LAST_REPLY,
    "work: first reply that the planner is disappointed of": _DISAPPOINTED,
    "work: reply that the planner is disappointed of": _DISAPPOINTED,
    "work: reply after which the request is made again": Sentence(_around.asked_again),
    "position: first act": _place(plain("it is the first act of the team")),
    "position: last act": _place(plain("it is the last act of the team")),
    "position: step 0": _place(plain("it is the first step of the run")),
    "position: last step": _place(plain("it is the last step of the run")),
    "turns: the agent's only step": _place(plain("it is the only step of {agent}")),
}

SENTENCES: dict[str, Sentence] = {
    **_FAILURE,
    **_CODE,
    **_BRIEF,
    **_LANGUAGE,
    **_CLAIMS,
    **_SHAPE,
    **_WORK,
}
"""Sentence by the name of the feature."""
