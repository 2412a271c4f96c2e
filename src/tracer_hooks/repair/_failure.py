"""Failed runs as those see them who repair them: with why the answer was wrong, and never what the right one is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from tracer_hooks.repair._repair import PastTrial, Repair, RepairTarget
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, Finding, Trajectory
from tracer_hooks.values import items_of, mentions, mentions_in

_SHORTEST_ITEM = 3


@dataclass(frozen=True)
class Secrets:
    """The value of the reference answer, recognised in any writing that ``expected=`` would accept.

    Args:
        reference: The expected answer; None where none is known, and nothing can be recognised.
    """

    reference: str | None = None

    @classmethod
    def of(cls, run: Trajectory) -> Secrets:
        """The secrets of one run."""
        return cls(run.reference)

    @property
    def are_known(self) -> bool:
        """Tell whether a text can be checked at all."""
        return bool(self.reference and self.reference.strip())

    def are_in(self, text: str) -> bool:
        """Tell whether ``text`` tells the expected answer."""
        return self.are_known and mentions(text, self.reference or "")

    def are_added(self, text: str, before: str) -> bool:
        """Tell whether ``text`` gives the expected answer in lines that ``before``, known anyway, does not have.

        For new instructions: an answer "3" is not given away by an old "reply in 3 lines".
        """
        known = set(before.splitlines())
        return self.are_in(text) and self.are_in("\n".join(line for line in text.splitlines() if line not in known))

    def places_in(self, text: str) -> list[tuple[int, int]]:
        """Return the places of ``text`` to be hidden, in order: the expected answer, and the items of a list.

        An item under 3 characters is hidden only where all of them stand.
        """
        if not self.are_known:
            return []
        found = mentions_in(text, self.reference or "")
        for item in items_of(self.reference or ""):
            if len(item) >= _SHORTEST_ITEM:
                found += mentions_in(text, item)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


NOT_RIGHT = "The answer was not right."
"""What is said where nothing of the reason may be said."""
HIDDEN = "[hidden]"
"""What stands in the place of the expected answer."""

FeedbackMode = Literal["reason", "masked", "none"]
"""What a team is told: the reason as the check gives it, without the expected answer, or nothing."""

_SHORT = 3
"""A shorter expected answer is found in too many texts: of the reason, only what was answered is told."""
_LONGEST = 800
"""Characters of a reason that are told: more of its end than of its beginning, since errors say there what they are."""
_SHOWN = 80
_ROUNDS = 4
"""Hiding one value can make the digits beside it read as another: after so many rounds nothing is said."""
_GOT = re.compile(
    r"\b(?:got|but was|received):?\s+(?P<what>.+?)"
    r"(?=[,.;:]?\s+(?:but|instead of|not|rather than|when|where|and)\b|[,;]?\s*\(?\bexpected\b|;\s|\n|$)",
    re.IGNORECASE,
)


class MaskedFeedback(NamedTuple):
    """Text that a team may be told, and what is known of it."""

    text: str | None
    """What may be told; None where nothing may be."""
    is_specific: bool
    """Whether it says how the answer was wrong; false where it says no more than that it was, or which one it was."""
    is_checked: bool
    """Whether it is sure that it does not hold the expected answer; false where none is known, or where the user wrote
    the text."""


def masked_feedback(reason: str | None, reference: str | None, *, answer: str = "") -> MaskedFeedback:
    """The reason of a check without the expected answer.

    The expected answer, and each item of a list, is replaced wherever it stands, in any writing that ``expected=``
    takes for it. Of a short one, and of a comparison with ``expected=``, only the wrong answer is told.

    Args:
        reason: Why the run failed.
        reference: The expected answer; None where none is known, and the reason is told as it is.
        answer: What the run answered.
    """
    said = (reason or "").removeprefix("check:").strip()
    secrets = Secrets(reference)
    if not secrets.are_known:
        return MaskedFeedback(shortened(said, _LONGEST) or NOT_RIGHT, is_specific=bool(said), is_checked=False)
    expected = (reference or "").strip()
    if len(expected.strip(" \"'.,;:!?")) < _SHORT:
        return _without_reason(said, answer, secrets, "Expected something else, got {}.")
    got = _compared(said, expected)
    if got is not None or not said:
        return _without_reason(got or "", answer, secrets, "The answer was not right. It was: {}")
    text = hidden(shortened(said, _LONGEST), secrets)
    if text is None or not any(letter.isalnum() for letter in text.replace(HIDDEN, "")):
        return _nothing(secrets)
    return MaskedFeedback(text, is_specific=True, is_checked=True)


def feedback_of(
    mode: FeedbackMode, told: str | None, reason: str | None, reference: str | None, answer: str = ""
) -> MaskedFeedback:
    """Return what a team is told of a failed run.

    Args:
        mode: What the user wants it to be told.
        told: What the check says the team may be told (``Verdict.feedback``); it is sent as it was written.
        reason: Why the run failed.
        reference: The expected answer; None where none is known.
        answer: What the run answered.
    """
    if mode == "none":
        return MaskedFeedback(None, is_specific=False, is_checked=True)
    if told is not None and told.strip():
        return MaskedFeedback(told.strip(), is_specific=True, is_checked=False)
    secrets = Secrets(reference)
    if mode == "reason" and reason and secrets.are_known and not secrets.are_in(reason):
        said = shortened(reason.removeprefix("check:").strip(), _LONGEST)
        if said and not secrets.are_in(said):
            return MaskedFeedback(said, is_specific=True, is_checked=True)
    return masked_feedback(reason, reference, answer=answer)


def shortened(text: str, most: int) -> str:
    """``text`` with its middle left out where it is longer: a third of its beginning is kept, the rest of its end."""
    if len(text) <= most:
        return text
    # Cut between words: half a number is another number.
    head, tail = text[: most // 3], text[-(most - most // 3 - 3) :]
    head = head[: max(head.rfind(" "), head.rfind("\n"))] if re.search(r"\s", head) else head
    cut = re.search(r"\s", tail)
    return f"{head.rstrip()} … {tail[cut.end() :] if cut else tail}"


def _compared(said: str, expected: str) -> str | None:
    """Return the answer, where the reason comes from comparing it with ``expected=``; else None."""
    for shown in (expected, repr(expected)):
        rest = said.removeprefix(f"expected {shown}, ")
        if rest != said:
            return rest if rest.startswith("got ") else ""
    return None


def _without_reason(said: str, answer: str, secrets: Secrets, frame: str) -> MaskedFeedback:
    """Say that the answer was wrong, with the wrong answer where it is known and does not hold the right one."""
    found = _GOT.search(said)
    for wrong in (found["what"] if found else "", answer):
        shown = _on_a_line(wrong)
        if not shown:
            continue
        text = frame.format(shown)
        if not secrets.are_in(text) and not secrets.are_in(wrong):
            return MaskedFeedback(text, is_specific=False, is_checked=True)
    return _nothing(secrets)


def _nothing(secrets: Secrets) -> MaskedFeedback:
    text = None if secrets.are_in(NOT_RIGHT) else NOT_RIGHT
    return MaskedFeedback(text, is_specific=False, is_checked=True)


def _on_a_line(text: str) -> str:
    return shortened(" ".join(text.split()), _SHOWN).rstrip(".")


def hidden(text: str, secrets: Secrets) -> str | None:
    """``text`` with every place of the expected answer hidden; None where that cannot be done."""
    for _ in range(_ROUNDS):
        places = secrets.places_in(text)
        if not places:
            return text
        for start, end in reversed(places):
            text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return None


def attempt_failed(feedback: str | None) -> str | None:
    """The feedback as it is added to a task or a message; None where there is nothing to say.

    It asks for no words of its own: an agent that has to answer in a certain form still can.
    """
    said = (feedback or "").strip()
    if not said or said == NOT_RIGHT:
        return None
    if "\n" in said:
        return f"An earlier attempt at this task failed:\n{said}\nDo not make the same mistake."
    end = "" if said[-1] in ".!?…" else "."
    return f"An earlier attempt at this task failed: {said}{end} Do not make the same mistake."


_NO_BRACES = str.maketrans("{}", "()")


def for_prompt(text: str) -> str:
    """``text`` without curly braces: CrewAI and LangChain fill in ``{names}`` in tasks and instructions."""
    return text.translate(_NO_BRACES)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed run, and what was tried to recover it.

    Attributes:
        trajectory: The run, without reference answer and without the check's own words.
        attribution: The diagnosis; where its evidence tells the expected answer, that is hidden, or left out.
        feedback: What the team may be told of the check's reason; None where it may be told nothing.
        steps: The steps that a trial can resume at.
        tried: The trials so far.
    """

    trajectory: Trajectory
    attribution: Attribution | None = None
    feedback: str | None = None
    steps: tuple[int, ...] = ()
    tried: tuple[PastTrial, ...] = ()

    @classmethod
    def of(
        cls,
        run: Trajectory,
        attribution: Attribution | None = None,
        *,
        feedback: str | None = None,
        steps: Iterable[int] = (),
        tried: Iterable[PastTrial] = (),
    ) -> Failure:
        """The filtered failure of a run whose trajectory may hold the expected answer.

        Args:
            run: The failed run.
            attribution: Its diagnosis.
            feedback: What the team may be told; checked by the caller.
            steps: The steps that a trial can resume at.
            tried: The trials so far.
        """
        secrets = Secrets.of(run)
        if attribution is not None:
            evidence = _without_answer(run, attribution.evidence, secrets)
            findings = tuple(_finding_without_answer(each, secrets) for each in attribution.findings)
            hides = {"evidence": evidence, "findings": findings, "expected": None, "advice": "", "explanation": None}
            attribution = attribution.model_copy(update=hides)
        return cls(
            trajectory=run.model_copy(update={"reference": None, "outcome_reason": None}),
            attribution=attribution,
            feedback=feedback,
            steps=tuple(sorted(set(steps))),
            tried=tuple(tried),
        )

    @property
    def agent(self) -> str | None:
        """The blamed agent; None without a diagnosis."""
        found = self.attribution
        return found.agent if found is not None and not found.abstained else None

    @property
    def step(self) -> int | None:
        """The blamed step; None without a diagnosis."""
        found = self.attribution
        return found.step if found is not None and not found.abstained else None

    @property
    def error_mode(self) -> ErrorMode | None:
        """The diagnosed error mode."""
        return self.attribution.error_mode if self.agent is not None and self.attribution is not None else None

    def agent_at(self, step: int | None) -> str | None:
        """Agent that acts at ``step``, None where the run has no such step; without a step the blamed one."""
        if step is None:
            return self.agent
        steps = self.trajectory.steps
        return steps[step].agent if 0 <= step < len(steps) else None

    def instructions(self, agent: str) -> str | None:
        """The agent's instructions; None where they are not known."""
        return self.trajectory.instructions_of(agent)


def _finding_without_answer(found: Finding, secrets: Secrets) -> Finding:
    values = found.values
    shown = (found.text, found.quote, *((values.claimed, values.right) if values is not None else ()))
    if not any(secrets.are_in(text) for text in shown if text):
        return found
    return found.model_copy(update={"text": hidden(found.text, secrets) or HIDDEN, "quote": "", "values": None})


def _without_answer(run: Trajectory, evidence: Sequence[Evidence], secrets: Secrets) -> tuple[Evidence, ...]:
    """The evidence with the expected answer hidden: "6 * 11 + 13 is [hidden], not 77" still says what is wrong.

    Where the run itself comes by the answer, evidence that tells it is left out: it would say where to find it.
    """
    if not any(secrets.are_in(f"{item.why}\n{item.quote}") for item in evidence):
        return tuple(evidence)
    is_in_run = any(
        secrets.are_in(text)
        for step in run.steps
        for text in (step.content, *(call.result or "" for call in step.tool_calls))
    )
    kept = []
    for item in evidence:
        why = hidden(item.why, secrets)
        if why == item.why and not secrets.are_in(item.quote):
            kept.append(item)
        elif why is not None and not is_in_run and not secrets.are_in(f"{why}\n{item.quote}"):
            kept.append(item.model_copy(update={"why": why}))
    return tuple(kept)


def error_mode_at(failure: Failure, step: int | None) -> ErrorMode | None:
    """Error mode of the step, if the diagnosis is about this step; of the whole run without a step."""
    return failure.error_mode if step is None or failure.step == step else None


def notes_on(failure: Failure, step: int | None) -> list[str]:
    """Quotes of the diagnosis from the step, with the reason; of any step without one."""
    evidence = failure.attribution.evidence if failure.attribution is not None else ()
    return [f"«{item.quote}»: {item.why}" for item in evidence if step is None or item.step == step]


@runtime_checkable
class RepairStrategy(Protocol):
    """Proposes repairs of a failed run.

    It never sees the expected answer, and its text is checked for it all the same: one that holds it is a failed trial,
    and is not run. A strategy may raise; the trial is then a plain one.
    """

    name: str
    """Name that its repairs are signed with; what is known of its success is counted under it."""

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """Propose what a trial is to change.

        Args:
            failure: The failed run, and what was tried before.
            step: The step that the trial resumes at; None where it is the strategy's to say: from scratch, or at one of
                ``failure.steps``.

        Returns:
            The repair; None where the strategy has nothing to propose there.
        """
        ...


def leaks(repair: Repair, secrets: Secrets, *, instructions: str | None = None, sent: str | None = None) -> bool:
    """Tell whether a repair gives the expected answer away.

    Args:
        repair: What is to be told to whom.
        secrets: The expected answer. Where none is known, nothing can be recognised.
        instructions: The present instructions of the repair's agent: what stands in them is no news.
        sent: What the user has written for the team to be told (``Verdict.feedback``); it is not checked.
    """
    text = repair.text
    for own in (sent, for_prompt(sent)) if sent and sent.strip() else ():
        text = text.replace(own.strip(), " ")
    if repair.target is RepairTarget.INSTRUCTIONS:
        return secrets.are_added(text, instructions or "")
    return secrets.are_in(text)
