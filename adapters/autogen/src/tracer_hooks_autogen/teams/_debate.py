"""The debaters in a group chat where nobody hears what the others say in the same round."""

from __future__ import annotations

from autogen_agentchat.teams import BaseGroupChat
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage

from tracer_hooks.suites.architectures import Blueprint, Said
from tracer_hooks_autogen.teams._members import assistant, model_client, planned_chat


def debate(plan: Blueprint) -> BaseGroupChat:
    """A group chat gives every message to all; what an agent may see of them is left to its context."""
    client = model_client(plan)
    members = [assistant(plan, name, client, DebateContext(plan, name)) for name in plan.instructions]
    return planned_chat(plan, members, client)


class DebateContext(UnboundedChatCompletionContext):
    """Shows an agent of the others' messages what the plan lets it see.

    Args:
        plan: The team.
        agent: Whose context it is.
    """

    def __init__(self, plan: Blueprint, agent: str) -> None:
        super().__init__()
        self._plan = plan
        self._agent = agent

    async def get_messages(self) -> list[LLMMessage]:
        """The messages so far, without those that the agent is not to see."""
        spoken = [(place, one) for place, message in enumerate(self._messages) if (one := self._as_said(message))]
        seen = self._plan.seen_by(self._agent, [one for _, one in spoken])
        kept = {id(one) for one in seen}
        hidden = {place for place, one in spoken if id(one) not in kept}
        return [message for place, message in enumerate(self._messages) if place not in hidden]

    def _as_said(self, message: LLMMessage) -> Said | None:
        """A whole turn's words; None for the task, and for calls of tools and their results."""
        if not isinstance(message, (UserMessage, AssistantMessage)) or not isinstance(message.content, str):
            return None
        return Said(message.source, message.content) if message.source in self._plan.instructions else None
