"""Signals in how a run ended: cut off, given up, or left open."""

from __future__ import annotations

import re

from tracer_hooks.attribution._detection._run_reading import NOTHING, Finding, RunReading
from tracer_hooks.attribution._reading._roles import fold, is_person
from tracer_hooks.attribution._rules._errors import ERROR_MARKER
from tracer_hooks.attribution._rules._repetition import limit_reached
from tracer_hooks.attribution._rules._signal import Family
from tracer_hooks.schema import StepKind

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


def code_not_run(run: RunReading) -> Finding:
    """The last act of a team whose code is run is code that nobody ran."""
    if not run.telling:
        return NOTHING
    last, texts = run.telling[-1], run.view.texts
    is_run = any(run.view.is_report[index] for index in range(last))
    after = any(run.view.is_report[index] for index in range(last + 1, len(run.steps)))
    if not is_run or after or not texts[last].code:
        return NOTHING
    return Finding(1.0, last, run.quote(last))


def request_unanswered(run: RunReading) -> Finding:
    """The run stops on a hand-over, a call without a result, or a question or request to a colleague."""
    if run.person_had_last_word:
        return NOTHING
    step = run.steps[run.last_step]
    recipient = step.recipient
    handed = recipient is not None and not is_person(recipient) and fold(recipient) not in ("end", "none", "finish", "")
    results_kept = any(call.result is not None for one in run.steps for call in one.tool_calls)
    called = results_kept and any(call.result is None and call.error is None for call in step.tool_calls)
    if (handed and step.kind is StepKind.HANDOFF) or called:
        return Finding(1.0, step.index, run.quote(step.index))
    tail = run.view.texts[step.index].prose.strip()[-_TAIL:]
    asks = tail.endswith("?") or (
        run.view.agents[step.index] in run.view.planners and _REQUEST.search(tail) is not None
    )
    if asks and not run.has_person and not run.is_closed and not run.view.is_report[step.index]:
        return Finding(1.0 if not tail.endswith("?") or handed else 0.5, step.index, run.quote(step.index))
    return NOTHING


def machine_last(run: RunReading) -> Finding:
    """The last words are a machine's, and nobody took them up."""
    last = run.last_step
    if not run.view.is_report[last] or run.is_closed:
        return NOTHING
    asked = [index for index in run.trace.acts if last - 2 <= index < last]
    if any(_FINAL_CALL.search(run.view.texts[index].said) for index in asked):
        return NOTHING
    return Finding(1.0, last, run.quote(last))


def error_last(run: RunReading) -> Finding:
    """The run ends on an error."""
    last = run.last_step
    wrong = run.columns["failure: error printed here"][last] > 0 or run.steps[last].error is not None
    if (wrong or run.steps[last].failed_tools) and (run.view.is_report[last] or not run.steps[last].content.strip()):
        return Finding(1.0, last, run.quote(last, ERROR_MARKER))
    return NOTHING


def announcement_last(run: RunReading) -> Finding:
    """The last words announce work that is not there."""
    if run.person_had_last_word or run.is_closed or not run.telling or run.telling[-1] != run.last_step:
        return NOTHING
    last = run.last_step
    text = run.view.texts[last]
    if text.answer is not None or not _ANNOUNCES.search(text.prose.rstrip()[-_LAST_WORDS:]):
        return NOTHING
    return Finding(1.0, last, run.quote(last, _ANNOUNCES))


def no_answer(run: RunReading) -> Finding:
    """The final words say that no answer was found, or there are none."""
    speaker = run.telling[-1] if run.telling else run.last_step
    final = run.trace.final_text
    if not final.strip():
        answered = any(call.result is not None for call in run.steps[run.last_step].tool_calls)
        return NOTHING if answered else Finding(1.0, run.last_step, run.quote(run.last_step))
    if not _NO_ANSWER.search(final[-_TAIL:]):
        return NOTHING
    return Finding(1.0, speaker, run.quote(speaker, _NO_ANSWER))


def doubted_answer(run: RunReading) -> Finding:
    """The last words of the team doubt what they say."""
    for index in reversed(run.late[-2:]):
        if _DOUBTS.search(run.view.texts[index].prose[-2 * _TAIL :]):
            return Finding(1.0, index, run.quote(index, _DOUBTS))
    return NOTHING


def work_left(run: RunReading) -> Finding:
    """The last speaker names work that is not done, and no person closed the run after it."""
    signal = run.strongest(Family.TERMINATION)
    if signal is None or run.person_had_last_word:
        return NOTHING
    return Finding(1.0, signal.step, signal.quote)


def off_the_task(run: RunReading) -> Finding:
    """The last words, though long, have hardly a word in common with the task."""
    task = run.view.task_words
    if not run.telling or len(task) < _FEW_WORDS or run.has_person:
        return NOTHING
    last = run.telling[-1]
    own = set(run.view.texts[last].words)
    if len(own) < _MANY_WORDS:
        return NOTHING
    shared = len(own & task) / len(task)
    return Finding(max(0.0, 1.0 - 5.0 * shared), last, run.quote(last)) if shared < 0.2 else NOTHING


def stopped_for_length(run: RunReading) -> Finding:
    """The framework stopped the run for its length."""
    return Finding(1.0, run.last_step, run.quote(run.last_step)) if limit_reached(run.trace) else NOTHING
