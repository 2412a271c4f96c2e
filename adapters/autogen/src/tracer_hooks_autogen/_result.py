"""What came out of a run: the answer, the conversation, and why the team stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.frameworks import RunResult, TeamCall
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import Message, text_message
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._convert import team_text


def to_result(call: TeamCall, native: Any) -> RunResult:
    """The result of a call that returned ``native``: a ``TaskResult``, or a single agent's ``Response``."""
    known = types()
    if isinstance(native, known.response):
        return _from_messages(call, native, [native.chat_message], None)
    if isinstance(native, known.task_result):
        said = [message for message in native.messages if isinstance(message, known.chat_message)]
        return _from_messages(call, native, said, native.stop_reason)
    return RunResult(text="", native=native)


class Collector:
    """Watches a stream: the last item says it all, unless the stream was left before."""

    def __init__(self, call: TeamCall) -> None:
        self._call = call
        self._last: Any = None
        self._said: Any = None

    def see(self, item: Any) -> None:
        """Keep the last item and the last chat message."""
        self._last = item
        if isinstance(item, types().chat_message):
            self._said = item

    def result(self) -> RunResult:
        """What came out."""
        known = types()
        if isinstance(self._last, (known.task_result, known.response)):
            return to_result(self._call, self._last)
        said = [self._said] if self._said is not None else []
        return _from_messages(self._call, self._last, said, None)


def _from_messages(call: TeamCall, native: Any, said: Sequence[Any], stop_reason: str | None) -> RunResult:
    given = _given(call)
    answers = [message for message in said if not _is_task(message, given)]
    last = answers[-1] if answers else None
    return RunResult(
        text="" if last is None else team_text(last),
        native=native,
        messages=[_to_message(message, _is_task(message, given)) for message in said],
        stop_reason=stop_reason,
        interrupted=last is not None and _waits_for_someone(call.team, last),
    )


def _given(call: TeamCall) -> set[int]:
    """The messages that the caller passed in: AutoGen gives the same objects back among the results."""
    task = call.kwargs.get("task")
    if isinstance(task, (list, tuple)):
        return {id(message) for message in task}
    return {id(task)}


def _is_task(message: Any, given: set[int]) -> bool:
    return message.source == "user" or id(message) in given


def _to_message(message: Any, is_task: bool) -> Message:
    return text_message("user" if is_task else "assistant", team_text(message), name=to_text(message.source))


def _waits_for_someone(team: Any, last: Any) -> bool:
    """Whether the run ended by handing over to somebody outside, as with ``HandoffTermination("user")``."""
    names = getattr(team, "_participant_names", None)  # private in 0.7
    return isinstance(last, types().handoff_message) and names is not None and last.target not in names
