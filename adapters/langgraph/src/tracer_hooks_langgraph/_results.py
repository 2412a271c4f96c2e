"""What came out of a run: from what a graph returned, or from the items that it streamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from tracer_hooks.frameworks import RunResult, TeamCall, guarded
from tracer_hooks.telemetry import Message, message_text
from tracer_hooks_langgraph._convert import content_text, to_message
from tracer_hooks_langgraph._state import as_mapping, last_speech, messages_in, state_messages, state_text

INTERRUPT = "__interrupt__"
_ANSWER_KEYS = ("answer", "output", "result", "final", "response", "final_answer", "final_output", "report")

_TELLING = {"values", "updates", "debug", "tasks", "checkpoints"}
"""The stream modes whose items show that a node has asked a human."""


class _Converted(Sequence[Message]):
    """Messages in our shape, converted when somebody looks at them: a check seldom does."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = list(messages)

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        found = self._messages[index]
        return _Converted(found) if isinstance(found, list) else to_message(found)


class BubbledUp:
    """Stands for a result where a nested graph passes control to the graph around it, which is no failure."""

    def __init__(self, signal: GraphBubbleUp) -> None:
        self.signal = signal


def result_of(call: TeamCall, native: Any) -> RunResult:
    """What came out of a call that returned ``native``."""
    if isinstance(native, BubbledUp):
        return RunResult(text="", native=None, interrupted=isinstance(native.signal, GraphInterrupt))
    if isinstance(native, list) and call.kwargs.get("stream_mode", "values") != "values":
        collector = StreamedResult(call)
        for item in native:
            collector.see(item)
        return collector.result(native)
    interrupts = getattr(native, "interrupts", None)
    is_output = interrupts is not None and hasattr(native, "value")  # the GraphOutput of version="v2"
    state = native.value if is_output else native
    interrupted = bool(interrupts) or INTERRUPT in as_mapping(state) or _waits(call)
    return _from_state(state, native, interrupted)


def _from_state(state: Any, native: Any, interrupted: bool) -> RunResult:
    messages = state_messages(state)
    return RunResult(
        text=answer_text(state),
        native=native,
        messages=_Converted(messages),
        stop_reason="interrupted" if interrupted else None,
        interrupted=interrupted,
    )


def answer_text(state: Any) -> str:
    """The answer in a state: the last message of the team, a key that is named for it, or the whole as JSON."""
    messages = state_messages(state)
    said = last_speech(messages)
    if said is not None:
        return message_text(to_message(said))
    if isinstance(state, BaseMessage):
        return content_text(state.content)
    values = {key: value for key, value in as_mapping(state).items() if key != INTERRUPT}
    for key in _ANSWER_KEYS:
        if isinstance(values.get(key), str):
            return str(values[key])
    if messages or state is None:
        return ""
    return state_text(values if values else state) if values or not isinstance(state, Mapping) else ""


@guarded("ask a graph whether it waits", False)
def _waits(call: TeamCall, *, is_silent: bool = False) -> bool:
    """Whether the run stopped before or after a node at which it was told to; nothing in the result says so.

    Args:
        call: The call.
        is_silent: Whether its result would not say either that a node asked a human.
    """
    team, kwargs = call.team, call.kwargs
    stops = [kwargs.get("interrupt_before"), kwargs.get("interrupt_after")]
    stops += [getattr(team, "interrupt_before_nodes", None), getattr(team, "interrupt_after_nodes", None)]
    config = kwargs["config"] if "config" in kwargs else call.args[1] if len(call.args) > 1 else None
    if not (any(stops) or is_silent) or not team.checkpointer:
        return False
    try:
        return bool(team.get_state(config or {}).next)
    except Exception:  # savers that work asynchronously alone refuse; the streamed updates tell then
        return False


class StreamedResult:
    """Puts a result together from a stream's items, whatever the stream modes."""

    def __init__(self, call: TeamCall) -> None:
        kwargs = call.kwargs
        self._call = call
        mode = kwargs.get("stream_mode")
        mode = mode if mode is not None else "values" if call.method == "invoke" else call.team.stream_mode
        self._modes: Sequence[str] = [mode] if isinstance(mode, str) else list(mode or ["values"])
        self._several = not isinstance(mode, str)
        self._subgraphs = bool(kwargs.get("subgraphs"))
        self._parts = kwargs.get("version") == "v2"
        self._state: Any = None
        self._text: str | None = None
        self._chunks: dict[str, list[str]] = {}
        self._interrupted = False
        self._last: Any = None

    def see(self, item: Any) -> None:
        """Look at one item."""
        self._last = item
        mode, namespace, data = self._open(item)
        if mode == "values" and not namespace:
            self._state = data
            self._note_interrupt(as_mapping(data))
        elif mode == "updates":
            self._see_updates(data, namespace)
        elif mode == "messages":
            self._see_message(data)
        elif mode in ("debug", "tasks", "checkpoints") and isinstance(data, Mapping):
            self._see_event(mode, data, namespace)

    def result(self, native: Any = None) -> RunResult:
        """What came out."""
        native = self._last if native is None else native
        interrupted = self._interrupted or _waits(self._call, is_silent=not _TELLING & set(self._modes))
        if self._state is not None:
            return _from_state(self._state, native, interrupted)
        text = self._text
        if text is None and self._chunks:
            text = "".join(list(self._chunks.values())[-1])
        reason = "interrupted" if interrupted else None
        return RunResult(text=text or "", native=native, stop_reason=reason, interrupted=interrupted)

    def _open(self, item: Any) -> tuple[str, Any, Any]:
        """An item's stream mode, the sub-graph that it comes from, and its content."""
        if self._parts and isinstance(item, Mapping) and "type" in item:
            if item.get("interrupts"):
                self._interrupted = True
            return str(item["type"]), item.get("ns"), item.get("data")
        namespace: Any = ()
        mode = self._modes[0] if self._modes else "values"
        if self._subgraphs and isinstance(item, tuple):
            namespace, item = item[0], item[1:] if self._several else item[1]
        if self._several and isinstance(item, tuple) and len(item) == 2:
            mode, item = item
        return mode, namespace, item

    def _see_updates(self, data: Any, namespace: Any) -> None:
        for node, update in as_mapping(data).items():
            if node == INTERRUPT:
                self._interrupted = True
                continue
            said = last_speech(messages_in(update))
            if said is not None:
                self._text = message_text(to_message(said))
            elif not namespace and update:
                answer = answer_text(update)
                self._text = answer or self._text

    def _see_message(self, data: Any) -> None:
        message = data[0] if isinstance(data, tuple) and data else data
        if isinstance(message, AIMessage):
            self._chunks.setdefault(message.id or "", []).append(content_text(message.content))

    def _see_event(self, mode: str, data: Mapping[str, Any], namespace: Any) -> None:
        payload = data.get("payload", data) if mode == "debug" else data
        if not isinstance(payload, Mapping):
            return
        if payload.get("interrupts"):
            self._interrupted = True
        values = payload.get("values")
        if not namespace and isinstance(values, Mapping) and values:
            self._state = values
        result = payload.get("result")
        if not namespace and result and "values" not in payload:
            update = dict(result) if isinstance(result, list) else result
            self._see_updates({str(payload.get("name")): update}, namespace)

    def _note_interrupt(self, state: Mapping[str, Any]) -> None:
        if INTERRUPT in state:
            self._interrupted = True
