"""What an assistant is shown of its group chat."""

from __future__ import annotations

from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage

from tracer_hooks.suites.architectures import Blueprint, Said


class PlannedContext(UnboundedChatCompletionContext):
    """Shows an agent of the others' messages what the plan lets it see, and what it is asked for after them.

    A group chat gives every message to all its members.

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
        spoken, asked = self._spoken()
        seen = {id(one) for one in self._plan.seen_by(self._agent, [*spoken.values()])}
        hidden = {place for place, one in spoken.items() if id(one) not in seen}
        shown: list[LLMMessage] = []
        for place, message in enumerate(self._messages):
            if place not in hidden:
                shown.append(message)
            if place == asked:
                shown.append(UserMessage(content=self._plan.cue(self._agent, [*spoken.values()]), source="user"))
        return shown

    def _spoken(self) -> tuple[dict[int, Said], int]:
        """What was said since the last task, by its place; the place after which the agent's turn begins."""
        spoken: dict[int, Said] = {}
        asked = -1
        for place, message in enumerate(self._messages):
            if isinstance(message, UserMessage):
                asked = place
            if isinstance(message, (UserMessage, AssistantMessage)) and isinstance(message.content, str):
                if message.source in self._plan.instructions:
                    spoken[place] = Said(message.source, message.content)
                else:
                    spoken.clear()  # a new task: what was said of an earlier one is no secret
        return spoken, asked
