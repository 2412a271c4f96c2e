"""Guidance for one agent, written by a language model that sees the failed run, but not the expected answer."""

from __future__ import annotations

import re

from tracer_hooks.endpoint import Chat, ChatCompletion, ask
from tracer_hooks.repairs._failure import Failure
from tracer_hooks.repairs._masking import shortened
from tracer_hooks.repairs._past_trial import PastTrial
from tracer_hooks.repairs._run_text import error_mode_at, notes_on, steps_as_text

_RUN_CHARACTERS = 12_000
_MOST_SENTENCES = 2
_LONGEST = 400
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s|$)|$)")
_ROLE = (
    "You advise one member of a team of assistants. The team has failed at a task and tries again. You do not know the "
    "right answer."
)


def written_guidance(chat: Chat, failure: Failure, agent: str, step: int | None) -> ChatCompletion:
    """At most two sentences for the next message of ``agent``; an empty text where the model wrote none.

    Args:
        chat: Asks the model.
        failure: The failed run, without the expected answer.
        agent: Whom the guidance is for.
        step: The step that the agent tries again; None where the run begins anew.
    """
    shown = "\n\n".join(_parts(failure, agent, step))
    reply = ask(chat, [{"role": "system", "content": _ROLE}, {"role": "user", "content": shown}])
    return ChatCompletion(_sentences(reply.text), reply.usage)


def _parts(failure: Failure, agent: str, step: int | None) -> list[str]:
    parts = [f"Task of the team:\n{failure.trajectory.task}"]
    instructions = failure.instructions(agent)
    if instructions:
        parts.append(f"Instructions of {agent}:\n{instructions}")
    parts.append(f"What was done:\n{shortened(steps_as_text(failure.trajectory.steps), _RUN_CHARACTERS)}")
    if failure.feedback:
        parts.append(f"Why it failed:\n{failure.feedback}")
    mode = error_mode_at(failure, step)
    if mode is not None:
        parts.append(f"Suspected mistake: {mode.definition}")
    parts += [f"Suspicious: {note}" for note in notes_on(failure, step)]
    tried = [_tried(trial) for trial in failure.tried if trial.repair.text]
    if tried:
        parts.append("Told before, without success:\n" + "\n".join(tried))
    where = "before it begins" if step is None else f"before it acts again at [{step}]"
    parts.append(
        f"Write one or two short sentences that {agent} is told {where}: what to do in another way. They must not "
        "change the form of its reply, and must not say what the answer is. Write nothing but these sentences."
    )
    return parts


def _tried(trial: PastTrial) -> str:
    whom = trial.repair.agent or "everybody"
    return f"to {whom}: {shortened(' '.join(trial.repair.text.split()), _LONGEST)}"


def _sentences(text: str) -> str:
    """The first two sentences, on one line, without quotation marks or a fence around them."""
    plain = " ".join(line for line in text.split() if not line.startswith("```")).strip("\"'“”*` ")
    kept = " ".join(match.group().strip() for match in list(_SENTENCE.finditer(plain))[:_MOST_SENTENCES])
    return shortened(kept, _LONGEST)
