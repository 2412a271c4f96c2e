"""New instructions as GEPA proposes them by itself."""

from __future__ import annotations

from typing import Any

from tracer_hooks._optional import require
from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.improvement._prompt_writer import PromptCase, WrittenPrompt
from tracer_hooks.repairs import NOT_RIGHT, tools_as_text
from tracer_hooks.schema import Step, Usage

_MOST_RUNS = 6


class GepaWriter:
    """GEPA's own proposal: all runs with what the agent was shown, what it said and what the check says, no diagnosis.

    The prompt and the reading of the answer are ``gepa``'s (0.1.4, "GEPA: Reflective Prompt Evolution Can Outperform
    Reinforcement Learning", Agrawal et al. 2025).

    Args:
        chat: Asks the language model.

    Raises:
        MissingExtraError: ``gepa`` is not installed.
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

        shown = [record for run in case.runs[:_MOST_RUNS] for record in records(run, case.agent)]
        written = self._signature.run(
            lm=model, input_dict={"current_instruction_doc": case.instructions, "dataset_with_feedback": shown}
        )
        text, usage = str(written["new_instruction"]).strip(), sum(used, Usage())
        if not text or text == case.instructions.strip():
            return WrittenPrompt(rejected="it says nothing new", usage=usage)
        return WrittenPrompt(text=text, usage=usage)


def records(run: JudgedRun, agent: str) -> list[dict[str, str]]:
    """GEPA's records of a run: one for each step of the agent, as its documentation recommends them."""
    verdict = "The run passed." if run.passed else run.feedback or NOT_RIGHT
    return [
        {
            "Inputs": _shown(run, step),
            "Generated Outputs": f"{step.content}{tools_as_text(step)}".strip(),
            "Feedback": verdict,
        }
        for step in run.trajectory.steps
        if step.agent == agent
    ]


def _shown(run: JudgedRun, step: Step) -> str:
    """What reached the agent: the task, and what others said."""
    texts = [one.text for one in step.inputs if one.text]
    return "\n\n".join(texts) or run.trajectory.task
