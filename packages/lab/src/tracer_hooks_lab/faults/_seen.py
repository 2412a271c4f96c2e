"""What an injector has seen of a run so far."""

from __future__ import annotations

import threading

from tracer_hooks.frameworks import ModelRequest, ToolReply, ToolRequest
from tracer_hooks.schema import AgentSpec, Trajectory
from tracer_hooks.telemetry import ChatReply, message_text
from tracer_hooks_lab.faults._context import Utterance, said_before


class SeenRun:
    """Replies and tool results by step, from parallel threads; completed from a recorded run with the same prefix.

    Args:
        trajectory: The recorded run, if any.
        task: What the team was asked, if known.
    """

    def __init__(self, trajectory: Trajectory | None, task: str) -> None:
        self._trajectory = trajectory
        self._task = task or (trajectory.task if trajectory is not None else "")
        self.roster: tuple[AgentSpec, ...] = trajectory.agents if trajectory is not None else ()
        self._lock = threading.Lock()
        self._replies: dict[tuple[str, int | None], Utterance] = {}
        self._results: dict[tuple[int | None, str], Utterance] = {}

    def reply(self, request: ModelRequest, reply: ChatReply) -> None:
        """Keep a reply; that of a call made again takes the place of the earlier one."""
        said = Utterance(agent=request.agent, text=reply.content, step=request.step, tool_calls=tuple(reply.tool_calls))
        with self._lock:
            self._replies[request.agent, request.step] = said

    def tool_result(self, request: ToolRequest, reply: ToolReply) -> None:
        """Keep a tool result."""
        got = Utterance(agent=request.name, text=reply.content, step=request.step, is_tool_result=True)
        with self._lock:
            self._results[request.step, request.call_id or request.digest()] = got

    def before(self, step: int | None) -> tuple[Utterance, ...]:
        """Outputs and tool results before ``step``, in order; all of them when the step is not known."""
        with self._lock:
            seen = [*self._replies.values(), *self._results.values()]
        known = {u.step for u in seen}
        if self._trajectory is not None and step is not None:
            seen += [u for u in said_before(self._trajectory, step) if u.step not in known]
        past = [u for u in seen if step is None or u.step is None or u.step < step]
        return tuple(sorted(past, key=lambda u: (u.step if u.step is not None else -1, u.is_tool_result)))

    def results_of(self, tool: str) -> list[str]:
        """Results of one tool so far, oldest first."""
        with self._lock:
            return [u.text for u in self._results.values() if u.agent == tool]

    def texts(self) -> list[str]:
        """The task and everything that was said."""
        return [self._task, *(u.text for u in self.before(None))]

    def task(self, request: ModelRequest) -> str:
        """What the team was asked; unless told, what the user says first in the request."""
        if self._task:
            return self._task
        return next((message_text(m) for m in request.messages if m.get("role") == "user"), "")
