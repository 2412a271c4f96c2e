"""Writers of prompts: the judged runs that they learn from, what they are asked, and GEPA's own writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from tracer_hooks._lazy import require
from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.repair import NOT_RIGHT, Failure, Secrets, tools_as_text
from tracer_hooks.schema import Attribution, Record, Text, Trajectory, Usage
from tracer_hooks.tasks import SuiteTask


class JudgedRun(Record):
    """A run with its verdict; of a failed one the diagnosis, and what the team may be told of the reason."""

    task: Text
    """Identifies the task."""
    score: float = Field(ge=0, le=1)
    """How good it was; 1 for a run that passed where the check gives no score."""
    passed: bool
    """Whether it did what it should."""
    trajectory: Trajectory
    """What happened, with the expected answer where it is known: see :meth:`failure` for what may be shown."""
    attribution: Attribution | None = None
    """The diagnosis of a failed run."""
    feedback: Text | None = None
    """What the team may be told of the check's reason."""
    usage: Usage = Usage()
    """Tokens that it took."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def failure(self) -> Failure:
        """The run as those may see it who write prompts: without the expected answer."""
        return Failure.of(self.trajectory, self.attribution, feedback=self.feedback)

    @property
    def secrets(self) -> Secrets:
        """The expected answer, which no prompt may tell."""
        return Secrets.of(self.trajectory)

    @property
    def blamed(self) -> str | None:
        """The agent that the diagnosis names; None without one."""
        found = self.attribution
        return None if self.passed or found is None or found.abstained else found.agent


class Trials(Protocol):
    """Runs the team on tasks, with given prompts."""

    def run(self, tasks: Sequence[SuiteTask], prompts: Mapping[str, str]) -> list[JudgedRun]:
        """One new run a task, in the order of the tasks."""
        ...


class TriedPrompt(Record):
    """Instructions that were written and not kept."""

    agent: Text
    """Whose."""
    text: Text = ""
    """What was written; empty where it could not be used at all."""
    why: Text
    """Why they were not kept."""


@dataclass(frozen=True, kw_only=True)
class PromptCase:
    """Facts about an agent whose instructions are to be rewritten."""

    agent: str
    """Whose instructions."""
    instructions: str
    """They as they are now."""
    own: str
    """They as the team came with them; how long a rewrite may become is measured by them."""
    runs: tuple[JudgedRun, ...]
    """The runs to learn from."""
    tried: tuple[TriedPrompt, ...] = ()
    """What was tried before for this agent."""
    tools: tuple[str, ...] = ()
    """The names of its tools."""
    others: tuple[str, ...] = ()
    """The other agents of the team."""


@dataclass(frozen=True, kw_only=True)
class WrittenPrompt:
    """Result of the writing."""

    text: str | None = None
    """The new instructions; None where there are none that could be used."""
    rejected: str = ""
    """Why not, in words."""
    usage: Usage = field(default_factory=Usage)
    """Tokens that it took."""


@runtime_checkable
class PromptWriter(Protocol):
    """Writes new instructions for one agent from runs that it made fail."""

    name: str
    """Name that its prompts are signed with."""
    reads_only_blamed: bool
    """Whether it is shown only the failures that the diagnosis lays on this agent, or all runs."""

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions; a text that tells an expected answer is refused by the caller, too."""
        ...


_MOST_RUNS = 6


class GepaWriter:
    """GEPA's own proposal: all runs with what the agent was shown, what it said and what the check says, no diagnosis.

    The prompt and the reading of the answer are ``gepa``'s (0.1.4, "GEPA: Reflective Prompt Evolution Can Outperform
    Reinforcement Learning", Agrawal et al. 2025).
    """

    name = "gepa"
    reads_only_blamed = False

    def __init__(self, chat: Chat) -> None:
        home = require("gepa.strategies.instruction_proposal", extra="improve", feature="Improving prompts")
        self._signature = home.InstructionProposalSignature
        self._chat = chat

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions for the agent of ``case``."""
        used: list[Usage] = []

        def model(prompt: Any) -> str:
            messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
            said = ask(self._chat, messages)
            used.append(said.usage)
            return said.text

        shown = [record for run in case.runs[:_MOST_RUNS] for record in _records(run, case.agent)]
        written = self._signature.run(
            lm=model, input_dict={"current_instruction_doc": case.instructions, "dataset_with_feedback": shown}
        )
        text, usage = str(written["new_instruction"]).strip(), sum(used, Usage())
        if not text or text == case.instructions.strip():
            return WrittenPrompt(rejected="it says nothing new", usage=usage)
        return WrittenPrompt(text=text, usage=usage)


def _records(run: JudgedRun, agent: str) -> Iterator[dict[str, str]]:
    """GEPA's records of a run: one for each step of the agent, as its documentation recommends them."""
    verdict = "The run passed." if run.passed else run.feedback or NOT_RIGHT
    for step in run.trajectory.steps:
        if step.agent == agent:
            reached = "\n\n".join(message.text for message in step.inputs if message.text) or run.trajectory.task
            said = f"{step.content}{tools_as_text(step)}".strip()
            yield {"Inputs": reached, "Generated Outputs": said, "Feedback": verdict}
