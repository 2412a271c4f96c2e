"""Diagnoses: the error modes of MAST, the agent and step that made a run fail, trajectories with known faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from html import escape
from typing import Any, Literal, NamedTuple

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tracer_hooks._text import counted
from tracer_hooks.schema._trajectory import SCHEMA_VERSION, Json, Record, Text, Trajectory, Usage


class ErrorMode(StrEnum):
    """Way in which a team of agents goes wrong: one of the 14 MAST modes. The value is MAST's code, ``"FM-1.1"``."""

    FM_1_1 = "FM-1.1"
    FM_1_2 = "FM-1.2"
    FM_1_3 = "FM-1.3"
    FM_1_4 = "FM-1.4"
    FM_1_5 = "FM-1.5"
    FM_2_1 = "FM-2.1"
    FM_2_2 = "FM-2.2"
    FM_2_3 = "FM-2.3"
    FM_2_4 = "FM-2.4"
    FM_2_5 = "FM-2.5"
    FM_2_6 = "FM-2.6"
    FM_3_1 = "FM-3.1"
    FM_3_2 = "FM-3.2"
    FM_3_3 = "FM-3.3"

    @property
    def title(self) -> str:  # type: ignore[override]  # str.title() is of no use on a code
        """The mode's name in words, for example ``"step repetition"``."""
        return _TITLES[self]

    @property
    def definition(self) -> str:
        """One sentence that says what the mode means."""
        return _DEFINITIONS[self]

    @property
    def group(self) -> str:
        """The mode's MAST category: specification, inter-agent misalignment, or task verification."""
        return {"1": "specification issues", "2": "inter-agent misalignment", "3": "task verification"}[self[3]]


_TITLES = {
    ErrorMode.FM_1_1: "disobey task specification",
    ErrorMode.FM_1_2: "disobey role specification",
    ErrorMode.FM_1_3: "step repetition",
    ErrorMode.FM_1_4: "loss of conversation history",
    ErrorMode.FM_1_5: "unaware of termination conditions",
    ErrorMode.FM_2_1: "conversation reset",
    ErrorMode.FM_2_2: "fail to ask for clarification",
    ErrorMode.FM_2_3: "task derailment",
    ErrorMode.FM_2_4: "information withholding",
    ErrorMode.FM_2_5: "ignored other agent's input",
    ErrorMode.FM_2_6: "reasoning-action mismatch",
    ErrorMode.FM_3_1: "premature termination",
    ErrorMode.FM_3_2: "no or incomplete verification",
    ErrorMode.FM_3_3: "incorrect verification",
}
_DEFINITIONS = {
    ErrorMode.FM_1_1: "The agent departs from a stated requirement or constraint of the task.",
    ErrorMode.FM_1_2: "The agent acts outside the role and duties it was given.",
    ErrorMode.FM_1_3: "The agent repeats a step that was already done, without need.",
    ErrorMode.FM_1_4: "The agent ignores or drops earlier context and goes back to an older state of the conversation.",
    ErrorMode.FM_1_5: "The agent does not recognise when to stop, and goes on past its goal or its limit.",
    ErrorMode.FM_2_1: "The conversation starts over unexpectedly and loses the progress made.",
    ErrorMode.FM_2_2: "The agent goes on with unclear or missing information instead of asking for it.",
    ErrorMode.FM_2_3: "The agent strays from the goal and works on something else.",
    ErrorMode.FM_2_4: "The agent holds back a fact that other agents need.",
    ErrorMode.FM_2_5: "The agent disregards what another agent or a tool told it.",
    ErrorMode.FM_2_6: "What the agent does contradicts what it reasoned or observed.",
    ErrorMode.FM_3_1: "The agent ends the work, or its part of it, before all of it is done.",
    ErrorMode.FM_3_2: "The agent leaves out a check that was needed, or makes only part of it.",
    ErrorMode.FM_3_3: "The agent checks, and the check itself is wrong.",
}
EvidenceKind = Literal["value", "error", "contradiction", "sign"]
"""What sort of finding a passage is: it names a wrong value, an error or failed tool, two texts of the run that
contradict each other, or any other sign."""
Certainty = Literal["clear", "likely", "weak"]
"""How sure a diagnosis is, in one word."""
CLEAR_FROM = 0.9
"""Confidence from which a diagnosis is clear, where a finding at the step leads to the rejected answer."""
ENVIRONMENT_FAULT = "environment fault"
"""The run ended on something outside the team, such as a model endpoint that could not be reached."""
LIKELY_FROM = 0.65
"""Confidence from which a diagnosis is likely; below, it names places to start."""
_MAX_PLACES = 3
_MARKUP = re.compile(r"[\\\\`*_{}\[\]<>#|!~]")
_NEAR_SHARE = 0.25
"""Share of the first step's belief from which another step is named beside it."""
_MAX_FINDINGS = 3
_LONGEST_QUOTE = 240


class ExplanationLine(NamedTuple):
    """One line of an explanation."""

    role: Literal["heading", "finding", "quote", "way", "start", "advice", "words"]
    text: str

    @property
    def plain(self) -> str:
        """The line as plain text."""
        return {"quote": f'    "{self.text}"', "finding": f"  {self.text}", "advice": f"What to try: {self.text}"}.get(
            self.role, self.text
        )

    @property
    def html(self) -> str:
        """The line as a paragraph of HTML."""
        tag = {"heading": "strong", "quote": "q"}.get(self.role, "span")
        return f"<p><{tag}>{escape(self.plain.strip() if self.role != 'quote' else self.text)}</{tag}></p>"

    @property
    def markdown(self) -> str:
        """The line in Markdown; text of the run is escaped."""
        text = _MARKUP.sub(r"\\\g<0>", self.text)
        if self.role == "heading":
            return f"**{text}**\n"
        return {"finding": f"- {text}", "quote": f"  > {text}", "advice": f"\n*What to try:* {text}"}.get(
            self.role, f"\n{text}"
        )


def explanation(attribution: Attribution) -> Iterator[ExplanationLine]:
    """The lines that say a diagnosis, the same in every form: heading, three findings, way, advice, other words."""
    heading = attribution.heading_finding
    is_blamed = attribution.certainty in ("clear", "likely")
    yield ExplanationLine("heading", attribution.headline)
    if heading is not None and heading.quote:
        yield ExplanationLine("quote", _cut(heading.quote))
    shown = [(each.step, each.agent, each.text, each.quote) for each in attribution.findings if each is not heading]
    told = {each.text for each in attribution.findings}
    shown += [(each.step, None, each.why, each.quote) for each in attribution.evidence if each.why not in told]
    if is_blamed:
        shown.sort(key=lambda each: each[0] != attribution.step)
    for step, agent, text, quote in shown[: _MAX_FINDINGS if is_blamed else _MAX_FINDINGS - 1 - (heading is not None)]:
        yield ExplanationLine("finding", _placed(step, agent, text))
        if quote and (is_blamed or heading is None):
            yield ExplanationLine("quote", _cut(quote))
    if is_blamed and (way := _way(attribution)):
        yield ExplanationLine("way", way)
    elif attribution.certainty == "weak" and attribution.places:
        places = ", ".join(f"step {each.step} ({each.agent})" for each in attribution.places)
        yield ExplanationLine("start", f"Places to start: {places}.")
    if attribution.advice:
        yield ExplanationLine("advice", attribution.advice)
    if attribution.explanation is not None:
        yield from attribution.explanation.lines


def _placed(step: int | None, agent: str | None, text: str) -> str:
    return text if step is None else f"Step {step}{'' if agent is None else f', {agent}'}: {text}"


def _cut(quote: str) -> str:
    line = " ".join(quote.split())
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1].rstrip() + "…"


def _way(attribution: Attribution) -> str:
    """How the wrong value went on to the answer; empty where nothing was followed."""
    own = attribution.blamed_values
    taken = [
        link.step
        for link in attribution.provenance
        if link.origin is ValueOrigin.COPIED and link.step != attribution.step and link.value in own
    ]
    steps = list(dict.fromkeys(taken))
    if not steps:
        return ""
    listed = ", ".join(map(str, steps[:-1])) + (" and " if len(steps) > 1 else "") + str(steps[-1])
    what = repr(min(own)) if len(own) == 1 else "it"
    return f"How {what} reached the answer: step{'s' if len(steps) > 1 else ''} {listed} took it over."


class Candidate(Record):
    """One possible decisive error step, with its share of the belief."""

    agent: Text
    """The agent that acted."""
    step: int = Field(ge=0)
    """The step's index."""
    score: float = Field(ge=0, le=1)
    """Belief that this is the decisive step; the scores of all candidates sum to at most 1."""


class AgentFault(Record):
    """An agent that went wrong and how, for runs with several faults."""

    agent: Text
    """The agent's name."""
    error_mode: ErrorMode | None = None
    """How it went wrong."""
    score: float = Field(default=1.0, ge=0, le=1)
    """Belief in this pair."""


class Evidence(Record):
    """A true sentence about a step that speaks for the diagnosis, with the passage that bears it out."""

    step: int = Field(ge=0)
    """The step that the passage stands in."""
    quote: Text = ""
    """Text that stands in the step word for word: in its content, error, tool arguments, result or tool error. Empty
    when no single passage shows what is said."""
    why: Text
    """What is true of the step, in one or more plain sentences."""
    weight: float | None = None
    """How much it speaks for the blame, in log-odds; None when the attributor weighs nothing."""
    kind: EvidenceKind = "sign"
    """What sort of finding it is."""


class FindingKind(StrEnum):
    """Kind of thing that can be proved of a run, whoever is to blame."""

    ENDING = "ending"
    """How the run ended, when not by itself; detail: endpoint_error, limit, gave_up, empty, exception, broken_off."""
    ANSWER_ORIGIN = "answer_origin"
    """Where the final answer comes from; detail: tool, task, derived, memory, typed_in, nowhere."""
    MADE_UP_DATA = "made_up_data"
    """Mock, sample, assumed, simulated or random data that the answer rests on."""
    ANNOUNCED_NOT_DONE = "announced_not_done"
    """A check, a call or a download that is claimed, and no such act."""
    LOOP = "loop"
    """The same request, click, call or plan again and again."""
    RECORD_CONTRADICTED = "record_contradicted"
    """A tool's record says otherwise than the words."""
    WRONG_CALCULATION = "wrong_calculation"
    """A calculation that does not come out."""
    DROPPED_ITEM = "dropped_item"
    """An item of a list or of a tool's result that is left out."""
    REPLACED_VALUE = "replaced_value"
    """An earlier right value, replaced without ground."""
    IGNORED_ERROR = "ignored_error"
    """A tool failed, and its result was asserted all the same."""
    WRONG_REQUEST = "wrong_request"
    """A call's arguments, or a text handed over, that go against the task or cannot be read."""
    CONSTRAINT_LOST = "constraint_lost"
    """A stated condition that is missing in the delegation or the answer."""
    DIFFERENT_FORM = "different_form"
    """The expected value in another unit, factor or format."""
    REASON_MATCHED = "reason_matched"
    """The check's reason names an agent, or its words stand at one step only."""


MAX_FINDING_QUOTE = 400
"""Characters of a finding's quotation."""


class FindingValues(Record):
    """Values that a finding is about."""

    claimed: Text | None = None
    """The value as the run has it."""
    right: Text | None = None
    """The value that it should be."""
    source: int | None = Field(default=None, ge=0)
    """The step that the right value stands in; None where it stands in the task, or nowhere."""
    subject: Text | None = None
    """Name of the tool, the field or the normalised error that the finding is about; recurring findings are grouped by
    it."""


class Finding(Record):
    """One thing that can be proved of a run."""

    kind: FindingKind
    """The sort of thing."""
    detail: Text = ""
    """A closer kind; may be empty."""
    step: int | None = Field(default=None, ge=0)
    """Where it shows; None where it is about the run as a whole."""
    agent: Text | None = None
    """The agent that acted at the step."""
    quote: Text = Field(default="", max_length=MAX_FINDING_QUOTE)
    """Words of the step, exactly as they stand there, the wrong place among them; may be empty."""
    text: Text
    """One sentence that says what is found."""
    values: FindingValues | None = None
    """The values that it is about."""
    leads_to_answer: bool = False
    """The rejected answer rests on it."""


class ValueOrigin(StrEnum):
    """Origin of a value of a step."""

    GIVEN = "given"
    """The task, a person or the agent's instructions."""
    OBSERVED = "observed"
    """What a tool returned."""
    COPIED = "copied"
    """An earlier step, which says the same."""
    DERIVED = "derived"
    """Worked out from other values, correctly."""
    CONTRADICTING = "contradicting"
    """It says something else than what it rests on: a sum that does not come out, a reply read wrongly."""
    DROPPED = "dropped"
    """It was handed over, and the step leaves it out."""
    UNSUPPORTED = "unsupported"
    """Nothing before it in the run gives it."""

    @property
    def is_departure(self) -> bool:
        """Tell whether the step departs here from what it was given and shown."""
        return self in (ValueOrigin.CONTRADICTING, ValueOrigin.DROPPED, ValueOrigin.UNSUPPORTED)


class ValueLink(Record):
    """One stretch of the way that a value took to the final answer."""

    value: Text
    """The value as the step that brought it in writes it; of a dropped one, as its source writes it."""
    step: int = Field(ge=0)
    """The step that states, uses or leaves out the value."""
    origin: ValueOrigin
    """Where the step has it from."""
    source: int | None = Field(default=None, ge=0)
    """The earlier step that it comes from, or should have come from; None where there is no such step: the value comes
    from the task, from a tool that the step itself called, or from nowhere."""
    operands: tuple[Text, ...] = ()
    """What it was worked out from, as it is written there."""
    note: Text = ""
    """Which tool returned it, or what is wrong with it; no full stop. May be empty."""


class ExplanationQuote(Record):
    """A passage that bears an explanation out."""

    step: int = Field(ge=0)
    """The step that it stands in."""
    text: Text
    """The passage, word for word."""


class Explanation(Record):
    """What a diagnosis means, in the words of a language model."""

    text: Text
    """Sentences that name only steps and agents of the run."""
    quotes: tuple[ExplanationQuote, ...] = ()
    """Passages that bear them out."""
    model: Text = ""
    """Name of the model."""
    usage: Usage = Usage()
    """Tokens that it took; none for a reply that was kept from an earlier call."""
    left_out: int = Field(default=0, ge=0)
    """Sentences and quotations of the reply that the run does not bear out, or that were too many."""

    @property
    def lines(self) -> tuple[ExplanationLine, ...]:
        """The lines that show it: whose words, the text, its quotations, and how much was left out."""
        shown = [f"In other words ({self.model}, {counted(self.usage.total, 'token')}):", self.text]
        shown += [f'Step {each.step}: "{_cut(each.text)}"' for each in self.quotes]
        if self.left_out:
            what = counted(self.left_out, "sentence or quotation", "sentences or quotations")
            shown.append(f"Left out, since the run does not bear it out: {what}.")
        return tuple(ExplanationLine("words", line) for line in shown)


class Attribution(Record):
    """A diagnosis of one failed run."""

    schema_version: int = SCHEMA_VERSION
    """Version of the record format."""
    run_id: Text
    """The run that was diagnosed."""
    agent: Text | None = None
    """The agent that made the decisive error; None after an abstention."""
    step: int | None = Field(default=None, ge=0)
    """Index of the decisive error step; None after an abstention."""
    error_mode: ErrorMode | None = None
    """How the agent went wrong, when it can be told."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """Probability that agent and step are right."""
    agent_confidence: float | None = Field(default=None, ge=0, le=1)
    """Probability that the agent is right, at whatever step, from the summed belief in all its steps; never less than
    the confidence. None after an abstention, and where an attributor gives no belief of each step."""
    candidates: tuple[Candidate, ...] = ()
    """Ranked alternatives, the answer first."""
    faults: tuple[AgentFault, ...] = ()
    """Every agent and mode above the threshold, for runs with several faults."""
    findings: tuple[Finding, ...] = ()
    """What can be proved of the run, whoever is to blame; what leads to the rejected answer first."""
    advice: Text = ""
    """What to try, in one sentence that comes from a finding; empty where nothing specific can be said."""
    expected: Text | None = None
    """The answer that was expected, as far as the diagnosis was told."""
    got: Text | None = None
    """The run's answer alone, without what is said around it; None where it gave none."""
    evidence: tuple[Evidence, ...] = ()
    """Why, with quotations: the findings at the blamed step, and what the attributor itself says of it."""
    spread: tuple[Evidence, ...] = ()
    """How the error travelled on: later steps that took it over, in order."""
    provenance: tuple[ValueLink, ...] = ()
    """The way of the final answer's values through the run, in order of the steps; empty when none was followed."""
    abstained: bool = False
    """Whether no agent is named."""
    abstained_reason: Text | None = None
    """Why not: ``no sign of failure``, ``environment fault`` or ``trace too incomplete``."""
    attributor: Text = ""
    """Name and version of the model that answered."""
    own_labels_right: tuple[int, int] | None = None
    """In how many of the user's labelled runs the attributor found the step, and of how many, each judged by a fit that
    had not seen its question; None, and not in its JSON, unless it was fitted to this team and measured so."""
    elapsed_s: float = Field(default=0.0, ge=0)
    """Seconds that the diagnosis took."""
    usage: Usage | None = None
    """Tokens that the attributor itself used; None when it uses no language model."""
    explanation: Explanation | None = None
    """The diagnosis in other words; None, and not in its JSON, unless it was asked for."""

    @model_serializer(mode="wrap")
    def _without_what_is_rarely_there(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        rare = ("explanation", "own_labels_right")
        return {name: value for name, value in dump(self).items() if name not in rare or value is not None}

    @property
    def certainty(self) -> Certainty | None:
        """Certainty of the diagnosis; None when nobody is named.

        ``clear`` takes a confidence of 90 % and, at the named step, a finding that the rejected answer rests on;
        ``likely`` takes 65 %; all else is ``weak``: a place to start.
        """
        if self.abstained or self.agent is None:
            return None
        # Where the answer comes from is no error of the step that it comes from.
        telling = (each for each in self.findings if each.kind is not FindingKind.ANSWER_ORIGIN)
        shown = any(each.step == self.step and each.leads_to_answer for each in telling)
        if self.confidence >= CLEAR_FROM and shown:
            return "clear"
        return "likely" if self.confidence >= LIKELY_FROM else "weak"

    @property
    def heading_finding(self) -> Finding | None:
        """The finding that a diagnosis without blame is headed by: what leads to the answer, or how the run ended."""
        if self.certainty in ("clear", "likely"):
            return None
        return next((each for each in self.findings if each.leads_to_answer or each.kind is FindingKind.ENDING), None)

    @property
    def headline(self) -> str:
        """The diagnosis in one sentence that is no surer than it is."""
        certainty, found = self.certainty, self.heading_finding
        if found is not None:
            return found.text
        if certainty is None:
            return f"No agent is named: {self.abstained_reason or 'no agent stands out'}."
        if certainty == "weak":
            return "No step stands out."
        place = "" if self.step is None else f" at step {self.step}"
        if certainty == "likely":
            return f"Probably: {self.agent}{place}."
        return f"{self.agent} went wrong{place}."

    @property
    def blamed_values(self) -> frozenset[str]:
        """Values on the way to the answer that the named step is blamed for: one request may have brought several."""
        own = [each.values for each in self.findings if each.step == self.step and each.values is not None]
        claimed = [each.claimed for each in own if each.claimed]
        here = [link for link in self.provenance if link.step == self.step]
        wrong = {link.value for link in here if link.origin is ValueOrigin.CONTRADICTING}
        followed = {link.value for link in self.provenance}  # a claimed value may lack its unit
        return frozenset(wrong | {value for value in followed for own in claimed if f"{value} ".startswith(f"{own} ")})

    @property
    def places(self) -> tuple[Candidate, ...]:
        """Where to start reading, the likeliest first: the answer and the candidates next to it."""
        near = [each for each in self.candidates if each.score >= _NEAR_SHARE * self.confidence and each.score > 0]
        return tuple(near[:_MAX_PLACES])

    def explain(self) -> str:
        """The whole diagnosis as plain text: heading, findings, how the error went on, and what to try."""
        return "\n".join(line.plain for line in explanation(self))

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return "".join(line.html for line in explanation(self))


def blames_environment(found: Attribution | None) -> bool:
    """Tell whether a diagnosis names nobody since the run ended on something outside the team."""
    return found is not None and found.abstained and found.abstained_reason == ENVIRONMENT_FAULT


class LabelSource(StrEnum):
    """Origin of a label."""

    INJECTED = "injected"
    """We put the fault there."""
    COUNTERFACTUAL = "counterfactual"
    """Replays with a correction at this step succeeded."""
    HUMAN = "human"
    """A person read the run."""
    MODEL = "model"
    """A model read the run."""


class DecisiveStep(Record):
    """The decisive error step as labelled."""

    agent: Text
    """The labelled agent, in the label's own spelling."""
    step: int = Field(ge=0)
    """Index of the step."""
    error_mode: ErrorMode | None = None
    """How it went wrong, when labelled."""
    reason: Text | None = None
    """The labeller's explanation."""


class LabeledTrajectory(Record):
    """A trajectory with its gold label: one decisive step, or a set of faulty agents with their modes."""

    schema_version: int = SCHEMA_VERSION
    """Version of the record format."""
    trajectory: Trajectory
    """What happened."""
    decisive: DecisiveStep | None = None
    """The decisive error step; None when the label names only agents, or when nothing went wrong."""
    faults: tuple[AgentFault, ...] = ()
    """Faulty agents and modes, for data sets that label those."""
    label_source: LabelSource
    """Where the label comes from."""
    weight: float = Field(default=1.0, gt=0.0, le=1.0)
    """How much the label counts when something is fitted to it. Below 1 it is weak: replays point at the step and do
    not prove it. Weak labels are learnt from, and never judged by."""
    question_id: Text | None = None
    """Groups the trajectories of one question, for splits."""
    seed: int | None = None
    """Seed of the injection."""
    fault_id: Text | None = None
    """Identifies the injected fault."""
    verification: dict[str, Json] = Field(default_factory=dict)
    """Counts that support the label: trials and failures with the fault and without it."""

    @property
    def is_weak(self) -> bool:
        """Tell whether the label is a suspicion."""
        return self.weight < 1.0
