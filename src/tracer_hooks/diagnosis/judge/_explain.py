"""A diagnosis in other words, by the judge's model: it adds no facts, and what it says is checked against the run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tracer_hooks.diagnosis._diagnose import fault_of_answer
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.judge._attributor import JudgeAttributor
from tracer_hooks.diagnosis.judge._calls import JudgeBudgetSpentError, JudgeSession, Question, variable_of
from tracer_hooks.diagnosis.judge._prompts import find_quote, flat
from tracer_hooks.diagnosis.judge._replies import UNNAMED, JudgeCase, JudgeReply, ReplyError
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Attribution, Explanation, ExplanationQuote, Text, Trajectory, Usage
from tracer_hooks.telemetry import ContentPolicy, redacted_attribution, suppressed

_PROMPT = "in_other_words"
_MOST_CANDIDATES, _MOST_FINDINGS = 3, 8
_STEP_TOKENS = 3_000
"""Tokens that the excerpts of all steps take together."""
_MOST_CHARS = 600
"""Characters of an explanation: the eighty words that are asked for, and some more."""


class ExplainingSentence(JudgeReply):
    """One sentence of an explanation, the step and agent that it is about, and a passage that bears it out."""

    step: int
    agent: Text
    text: Text
    quote: Text = ""


class ExplanationReply(JudgeReply):
    """What findings and candidates mean, sentence by sentence."""

    sentences: tuple[ExplainingSentence, ...]


def explain_diagnosis(
    run: Trajectory, attribution: Attribution, *, judge: JudgeAttributor | None = None
) -> Explanation:
    """Have the judge's model say what a diagnosis means, in one call.

    It is told the task, how the run ended, what was found, and the first three candidates with excerpts of their steps.
    Sentences that name a step, an agent or a number that it was not told of are left out, and so are quotations that
    do not stand in their step.

    Args:
        run: The run that was diagnosed.
        attribution: Its diagnosis; the tokens that it took count in the judge's budget.
        judge: Whose model is asked, with its settings; None makes it of the variables ``TRACER_HOOKS_JUDGE_*``.

    Raises:
        ConfigError: There is no model, or an option cannot be used; the message says what to set.
        MissingExtraError: The model needs a distribution that is not installed.
        OutputParseError: The model gave no usable reply, also when shown its error; ``.raw`` holds it.
        AttributionError: There is nothing to explain or no reply, or the budget is spent.
    """
    judge = judge if judge is not None else JudgeAttributor()
    gate = ContentPolicy.of_record()
    if fault := fault_of_answer(attribution, run):
        raise AttributionError(f"the diagnosis {fault}. Hand over the run that it is about")
    if gate.blocks_all:
        raise AttributionError("no text of a run may go to a model. Set TRACER_HOOKS_RECORD to 'redacted' or 'full'")
    if not run.steps or not (attribution.findings or attribution.candidates):
        raise AttributionError("there is no finding and no candidate. If the run failed, say so with --failed")
    found = redacted_attribution(attribution, gate)
    session = judge.session(run, found.expected, protocol=_PROMPT, system="explainer")
    before = session.meter.usage = attribution.usage or Usage()
    values = _values(session, found)
    told = {word.casefold() for word in _words(session.messages(_PROMPT, values)[1].content)}
    question = Question(
        prompt=_PROMPT,
        values=values,
        kind=ExplanationReply,
        steps=range(len(run.steps)),
        read=lambda reply, _: _checked(reply, session.case, told),
    )
    try:
        with suppressed():
            explanation = session.ask(question)
    except JudgeBudgetSpentError as spent:
        raise AttributionError(f"{spent}. Raise {variable_of('budget')}") from spent
    asked = {"model": session.resources.model.name, "usage": session.meter.usage - before}
    return explanation.model_copy(update=asked)


def _values(session: JudgeSession, found: Attribution) -> dict[str, object]:
    """The values of the template: what was found, the first candidates, and excerpts of their steps."""
    findings, candidates = found.findings[:_MOST_FINDINGS], found.candidates[:_MOST_CANDIDATES]
    shown = [*(each.step for each in candidates), *(each.step for each in findings[:_MOST_CANDIDATES])]
    steps = sorted({step for step in shown if step is not None}) or [len(session.case.steps) - 1]
    values = {
        "headline": flat(found.headline),
        "findings": [
            f"{each.kind.value} | {'the run' if each.step is None else each.step} | {flat(each.agent or '')} | "
            f'{flat(each.text, 300)} | "{flat(each.quote)}"'
            for each in findings
        ],
        "candidates": [
            f"{each.step} | {session.case.shown_owner(each.step)} | {each.score:.2f}" for each in candidates
        ],
        "shown": ", ".join(map(str, steps)),
    }
    room = min(_STEP_TOKENS, session.room(_PROMPT, **values))
    return {**values, "steps": session.transcript.fitted(steps, room)}


def _checked(reply: ExplanationReply, case: JudgeCase, told: set[str]) -> Explanation:
    """The sentences that are borne out, and of their quotations those that stand in their step.

    Raises:
        ReplyError: No sentence is left.
    """
    kept: list[str] = []
    quotes: list[ExplanationQuote] = []
    left_out = 0
    for sentence in reply.sentences:
        text = flat(sentence.text, _MOST_CHARS)
        words = _words(text)
        if not _is_borne_out(sentence, words, case, told) or len(" ".join((*kept, text))) > _MOST_CHARS:
            left_out += 1
            continue
        is_placed = ("step", str(sentence.step)) in pairwise(map(str.casefold, words))
        kept.append(text if is_placed else f"{text.rstrip('.')} (step {sentence.step}).")
        if passage := find_quote(case.steps[sentence.step], sentence.quote):
            quotes.append(ExplanationQuote(step=sentence.step, text=passage))
        elif sentence.quote.strip():
            left_out += 1
    if not kept:
        raise ReplyError("no sentence keeps to the steps, agents and numbers that you were shown")
    return Explanation(text=" ".join(kept), quotes=tuple(quotes), left_out=left_out)


def _is_borne_out(sentence: ExplainingSentence, words: Sequence[str], case: JudgeCase, told: set[str]) -> bool:
    """Tell whether a sentence names only steps and agents of the run, and numbers and names that the model was told."""
    agents = {fold(flat(name)) for name in (*case.trajectory.agent_names, UNNAMED)}
    if not words or fold(sentence.agent) not in agents or not 0 <= sentence.step < len(case.steps):
        return False
    of_steps = ""  # "step" or "steps" where the numbers of steps may follow
    for word in words:
        is_index = bool(of_steps) and word.isdecimal()
        is_written_name = "_" in word or (word[1:] != word[1:].lower() and not word.isupper())
        needs_source = is_written_name or any(map(str.isdecimal, word))
        is_known = int(word) < len(case.steps) if is_index else not needs_source or word.casefold() in told
        if not is_known:
            return False
        if word.casefold() in ("step", "steps"):
            of_steps = word.casefold()
        elif of_steps != "steps" or not (is_index or word in ("and", "to")):
            of_steps = ""
    return True


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
