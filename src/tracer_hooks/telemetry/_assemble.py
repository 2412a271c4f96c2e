"""Trajectories from spans, in any order and of any number of runs, and spans of what is over."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    RunOutcome,
    Step,
    StepKind,
    ToolCall,
    Trajectory,
    to_json_value,
    to_text,
)
from tracer_hooks.telemetry._evaluation import diagnosis_record
from tracer_hooks.telemetry._records import (
    CHAT_OPERATIONS,
    ChatReply,
    RequestedTool,
    SpanForest,
    SpanRecord,
    SpanStatus,
    SpanTree,
    decode_json,
    first_filled,
    message_text,
    messages_in,
    text_message,
    usage_attributes,
    without_none,
)
from tracer_hooks.telemetry._steps import TRANSFER_NAME, collect_acts, link_inputs

_UNKNOWN_AGENT = "assistant"
_OF_RUNS = CHAT_OPERATIONS | {semconv.OP_INVOKE_WORKFLOW, semconv.OP_INVOKE_AGENT, semconv.OP_EXECUTE_TOOL}
_CALLED = (semconv.OP_INVOKE_WORKFLOW, semconv.OP_INVOKE_AGENT)
_FRAMEWORKS = {
    "autogen": "autogen",
    "crewai": "crewai",
    "langgraph": "langgraph",
    "langchain": "langgraph",
    "openai_agents": "openai_agents",
    "pydantic": "pydantic_ai",
    "smolagents": "smolagents",
    "strands": "strands",
    "agent_framework": "agent_framework",
    "google_adk": "google_adk",
    "gcp.vertex.agent": "google_adk",
}
"""What the name of an instrumentation holds, and the framework that it stands for."""


def assemble(records: Iterable[SpanRecord]) -> list[Trajectory]:
    """One trajectory for each run among the spans, ordered by when the runs began.

    Our own spans carry the run's id and the step's index. Spans of other instrumentations are grouped by trace, and
    their steps numbered by time; pass them through :func:`tracer_hooks.telemetry.normalise` first. Spans that are
    neither a workflow, an agent, a model call nor a tool call only serve to find the agent around them; a trace that
    holds nothing else, such as that of the making of an agent, is no run.
    """
    groups = [
        spans
        for spans in _group_by_run(list(records))
        if any(semconv.RUN_ID in r.attributes or r.operation in _OF_RUNS for r in spans)
    ]
    trees = sorted((SpanTree(spans) for spans in groups), key=lambda tree: tree.start_ns)
    return [run for tree in trees for run in _separate_calls(tree) or [_trajectory(tree)]]


def _separate_calls(tree: SpanTree) -> list[Trajectory]:
    """A run for each call of a team, where one span of the user's, such as a batch or a request, is around several.

    Empty where the trace is one run: what acts there has different names, as the agents that a user calls one after the
    other have, or is given what was answered before.
    """
    acts = _topmost_acts(tree)
    names = {first_filled(act.attributes, semconv.WORKFLOW_NAME, semconv.AGENT_NAME) or act.name for act in acts}
    if semconv.RUN_ID in tree.root.attributes or len(acts) < 2 or len(names) > 1:
        return []
    calls: dict[str, list[SpanRecord]] = {act.span_id: [] for act in acts}
    around: dict[str, str] = {span_id: span_id for span_id in calls}  # the call that each span is in
    users: set[str] = set()
    for act in acts:
        users.update(outer.span_id for outer in takewhile(lambda r: r.span_id not in users, tree.ancestors(act)))
    for record in tree.records:  # a span comes after the one that it is in
        call = around.get(record.span_id) or around.get(record.parent_id or "")
        if call is not None:
            around[record.span_id] = call
            calls[call].append(record)
        elif record.operation in _OF_RUNS and record.span_id not in users:  # a model call between two connects them
            return []
    runs = [_trajectory(SpanTree(spans)) for spans in calls.values()]
    if len(runs) < len(acts) or not all(run.final_output and _given(run) for run in runs) or _goes_on(runs):
        return []
    return [
        run.model_copy(update={"run_id": f"{run.trace_id}-{act.span_id}"}) for act, run in zip(acts, runs, strict=True)
    ]


def _topmost_acts(tree: SpanTree) -> list[SpanRecord]:
    """Teams and turns that are inside no other; of a span of the user's that was taken for a team, those inside it."""
    around = {
        act.span_id: next((r for r in tree.ancestors(act) if r.operation in _CALLED), None)
        for act in tree.of_operation(*_CALLED)
    }
    acts = [act for act in tree.of_operation(*_CALLED) if around[act.span_id] is None]
    if len(acts) != 1:
        return acts
    inner = [act for act in tree.of_operation(*_CALLED) if around[act.span_id] is acts[0]]
    return inner if inner and acts[0].scope not in {act.scope for act in inner} else acts


def _given(run: Trajectory) -> str:
    """All that a run begins with."""
    inputs = [item.text for item in run.steps[0].inputs if item.text] if run.steps else []
    return "\n".join([run.task, *inputs]).strip()


def _goes_on(runs: Sequence[Trajectory]) -> bool:
    """Tell whether a run is given what one before it answered."""
    answers: list[str] = []
    for run in runs:
        given = _given(run)
        if any(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", given) for answer in answers):
            return True
        answers.append((run.final_output or "").strip())
    return False


def _group_by_run(records: list[SpanRecord]) -> list[list[SpanRecord]]:
    """The spans of each run: those that bear its id and those inside them; spans without a run go by their trace."""
    of_run = [record for record in records if record.operation != semconv.OP_DIAGNOSE]
    named = {id(record) for record in of_run if record.attributes.get(semconv.RUN_ID) is not None}
    above = SpanForest(records).above(named)
    groups: dict[str, list[SpanRecord]] = {}
    for record in of_run:
        owner = record if id(record) in named else next(above.around(record), None)
        key = f"trace {record.trace_id}" if owner is None else f"run {owner.attributes[semconv.RUN_ID]}"
        groups.setdefault(key, []).append(record)
    return list(groups.values())


def _trajectory(tree: SpanTree) -> Trajectory:
    root = tree.root
    attributes = root.attributes
    team = to_text(attributes.get(semconv.WORKFLOW_NAME) or "")
    acts = collect_acts(tree, default_agent=team or _UNKNOWN_AGENT)
    steps = link_inputs(acts)
    reason, stopped = _reason(root), attributes.get(semconv.RUN_STOP_REASON)
    return Trajectory(
        run_id=to_text(attributes.get(semconv.RUN_ID) or root.trace_id),
        team=team,
        framework=_framework(tree),
        task=_task(attributes) or _first_request(tree, steps),
        agents=_agents(tree, steps),
        steps=steps,
        outcome=_outcome(root),
        outcome_reason=reason,
        stop_reason=None if stopped is None or to_text(stopped) == reason else to_text(stopped),
        final_output=_final_output(attributes, steps),
        trace_id=root.trace_id,
        instrumentation=_instrumentation(tree),
    )


def _instrumentation(tree: SpanTree) -> str | None:
    """The scope of the model calls, tools or agents, since the spans around them may be another library's."""
    if semconv.RUN_ID in tree.root.attributes:  # our own
        return None
    acts = tree.of_operation(*CHAT_OPERATIONS, semconv.OP_EXECUTE_TOOL, semconv.OP_INVOKE_AGENT)
    return next((record.scope for record in (*acts, tree.root) if record.scope), None)


def _framework(tree: SpanTree) -> str:
    """The framework by our own attribute, else by the name of the instrumentation that emitted the spans."""
    if name := tree.root.attributes.get(semconv.FRAMEWORK):
        return to_text(name)
    # The span around everything may be the user's own.
    scopes = dict.fromkeys([*(record.scope for record in tree.of_operation(*_OF_RUNS)), tree.root.scope])
    for scope in scopes:
        for word, framework in _FRAMEWORKS.items():
            if word in scope.lower():
                return framework
    if any("langgraph_node" in str(record.attributes.get("metadata")) for record in tree.records):
        return "langgraph"  # MLflow's spans all have one scope
    return next(filter(None, scopes), "unknown")


def _task(attributes: Mapping[str, Any]) -> str:
    if (task := attributes.get(semconv.RUN_TASK)) is not None:
        return to_text(task)
    messages = messages_in(attributes, semconv.INPUT_MESSAGES)
    users = [message for message in messages if message.get("role") == "user"]
    if users:
        return message_text(users[-1])
    return to_text(attributes.get(semconv.OI_INPUT_VALUE) or "")


def _first_request(tree: SpanTree, steps: Sequence[Step]) -> str:
    """What the user asked the first agent, where the span around the run does not tell the task."""
    if semconv.RUN_ID in tree.root.attributes or not steps:
        return ""
    turns = tree.of_operation(semconv.OP_INVOKE_AGENT)
    for began in (*turns[:1], *tree.of_operation(*CHAT_OPERATIONS)[:1]):
        if asked := _asked(began):
            first = tree.agent_name(began, "")
            shown = {text for turn in turns if tree.agent_name(turn, "") != first for text in _asked(turn)}
            return next((text for text in reversed(asked) if text in shown), asked[0] if shown else asked[-1])
    return next((to_text(item.text) for item in steps[0].inputs if item.source == "user" and item.text), "")


def _asked(span: SpanRecord) -> list[str]:
    """The user's last messages, with no answer between. A manager's framework adds to the task how to choose."""
    found: list[str] = []
    for message in reversed(messages_in(span.attributes, semconv.INPUT_MESSAGES)):
        if message.get("role") == "user":
            found.insert(0, message_text(message))
        elif found:
            break
    return [text for text in found if text]


def _final_output(attributes: Mapping[str, Any], steps: Sequence[Step]) -> str | None:
    if (output := attributes.get(semconv.RUN_FINAL_OUTPUT)) is not None:
        return to_text(output)
    if messages := messages_in(attributes, semconv.OUTPUT_MESSAGES):
        return message_text(messages[-1])
    if (value := attributes.get(semconv.OI_OUTPUT_VALUE)) is not None:
        return to_text(value)
    if semconv.RUN_OUTCOME in attributes:  # our own span, which would hold the answer if there had been one
        return None
    if steps and steps[-1].kind is StepKind.MESSAGE and not steps[-1].content:  # cancelled before the model replied
        return None
    return next((step.content for step in reversed(steps) if step.content and step.error is None), None)


def _outcome(root: SpanRecord) -> RunOutcome:
    value = root.attributes.get(semconv.RUN_OUTCOME)
    if isinstance(value, str) and value in set(RunOutcome):
        return RunOutcome(value)
    return RunOutcome.FAILED if root.status is SpanStatus.ERROR else RunOutcome.UNKNOWN


def _reason(root: SpanRecord) -> str | None:
    keys = (semconv.RUN_OUTCOME_REASON, semconv.RUN_STOP_REASON, semconv.ABANDONED)
    reason = first_filled(root.attributes, *keys) or root.status_message
    return to_text(reason) if reason else None


def _agents(tree: SpanTree, steps: Sequence[Step]) -> tuple[AgentSpec, ...]:
    specs: dict[str, AgentSpec] = {}
    roster = decode_json(tree.root.attributes.get(semconv.RUN_AGENTS))
    for item in roster if isinstance(roster, (list, tuple)) else ():
        if isinstance(item, dict) and item.get("name"):
            name = to_text(item["name"])
            instructions, tools = item.get("instructions"), item.get("tools")
            specs[name] = AgentSpec(
                name=name,
                instructions=None if instructions is None else to_text(instructions),
                tools=tuple(to_text(tool) for tool in tools) if isinstance(tools, list) else (),
            )
    for step in steps:
        specs.setdefault(step.agent, AgentSpec(name=step.agent))
    prompts, defined = tree.system_prompts(), _defined_tools(tree)
    return tuple(
        AgentSpec(
            name=spec.name,
            instructions=prompts.get(spec.name) if spec.instructions is None else spec.instructions,
            tools=spec.tools or tuple(defined.get(spec.name, ())),
        )
        for spec in specs.values()
    )


def _defined_tools(tree: SpanTree) -> dict[str, dict[str, None]]:
    """Names of the tools that each agent may call, as its turns and model calls define them; hand-offs are none."""
    found: dict[str, dict[str, None]] = {}
    last: dict[str, Any] = {}
    for record in tree.of_operation(*CHAT_OPERATIONS, semconv.OP_INVOKE_AGENT):
        agent, defined = tree.agent_name(record, ""), record.attributes.get(semconv.TOOL_DEFINITIONS)
        if agent and defined != last.get(agent):  # long, and the same in nearly every call
            last[agent] = defined
            # OpenAI's own shape has the name one level below.
            tools = [tool.get("function", tool) for tool in messages_in(record.attributes, semconv.TOOL_DEFINITIONS)]
            names = [to_text(tool["name"]) for tool in tools if isinstance(tool, dict) and tool.get("name")]
            found.setdefault(agent, {}).update(dict.fromkeys(name for name in names if not TRANSFER_NAME.match(name)))
    return found


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_ATTEMPTS = 100
_TICK_NS = 1_000_000
_SCOPE = "tracer_hooks"


def to_spans(trajectory: Trajectory, attribution: Attribution | None = None) -> list[SpanRecord]:
    """The spans of one trace: the run, each step's agent turn, its model call, its tool calls, and the diagnosis.

    Agents, texts, tool calls, hand-offs, errors and tokens survive the way there and back through
    :func:`assemble`, which leaves the diagnosis out. What a trajectory does not hold is made up to fit: ids are hashes,
    and steps without times follow each other by a millisecond.
    """
    return list(_Spans(trajectory).all(attribution))


class _Spans:
    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._trace_id = _hex(32, trajectory.trace_id) or _digest(32, trajectory.run_id)
        self._common = {semconv.RUN_ID: trajectory.run_id, semconv.FRAMEWORK: trajectory.framework}
        self._root_id = _digest(16, trajectory.run_id, "run")
        self._steps: dict[str, int] = {}
        """By the span of its model call."""

    def all(self, attribution: Attribution | None) -> Iterator[SpanRecord]:
        times = [self._times(step) for step in self._trajectory.steps]
        first = min((start for start, _ in times), default=0)
        last = max((end for _, end in times), default=first)
        yield self._root(first, last)
        for step, (start, end) in zip(self._trajectory.steps, times, strict=True):
            yield from self._step(step, start, end)
        if attribution is not None:
            yield self._diagnosis(attribution, last)

    def _root(self, start: int, end: int) -> SpanRecord:
        trajectory = self._trajectory
        failed = trajectory.outcome is RunOutcome.FAILED
        return self._span(
            self._root_id,
            None,
            (semconv.OP_INVOKE_WORKFLOW, trajectory.team, semconv.OI_KIND_CHAIN),
            (start, end),
            {
                semconv.WORKFLOW_NAME: trajectory.team,
                semconv.RUN_TASK: trajectory.task,
                semconv.RUN_OUTCOME: str(trajectory.outcome),
                semconv.RUN_OUTCOME_REASON: trajectory.outcome_reason,
                semconv.RUN_STOP_REASON: trajectory.stop_reason,
                semconv.RUN_FINAL_OUTPUT: trajectory.final_output,
                semconv.RUN_AGENTS: [spec.model_dump(mode="json") for spec in trajectory.agents] or None,
            },
            error=(trajectory.outcome_reason or "") if failed else None,
        )

    def _step(self, step: Step, start: int, end: int) -> Iterator[SpanRecord]:
        turn_id, turn = self._id(step, "turn"), {semconv.AGENT_NAME: step.agent}
        what = (semconv.OP_INVOKE_AGENT, step.agent, semconv.OI_KIND_AGENT)
        yield self._span(turn_id, self._root_id, what, (start, end), turn)
        common = {**turn, semconv.STEP_INDEX: step.index, semconv.STEP_RECIPIENT: step.recipient}
        calls = _with_distinct_ids(step.tool_calls)
        reply = ChatReply(
            content=step.content,
            tool_calls=[RequestedTool(name=call.name, arguments=call.arguments, id=call.call_id) for call in calls],
        )
        chat = (semconv.OP_CHAT, step.model or "", semconv.OI_KIND_LLM)
        failed = min(step.attempts, _MAX_ATTEMPTS) - 1
        for attempt in range(failed):  # a nanosecond apart, since attempts are told by their order
            chat_id, times = self._id(step, f"chat {attempt}"), (start + attempt, start + attempt)
            yield self._span(chat_id, turn_id, chat, times, {**common, **_request(step)}, error="")
        yield self._span(
            self._chat_id(step),
            turn_id,
            chat,
            (start + failed, max(start + failed, end)),
            {
                **common,
                **_request(step),
                semconv.OUTPUT_MESSAGES: [reply.to_message()],
                **usage_attributes(step.usage),
                semconv.ERROR_TYPE: step.error_type,
            },
            error=step.error if step.kind is StepKind.ERROR else None,
        )
        for position, call in enumerate(calls):
            tool = (semconv.OP_EXECUTE_TOOL, call.name, semconv.OI_KIND_TOOL)
            for attempt in range(min(call.attempts, _MAX_ATTEMPTS)):
                tool_id = self._id(step, f"tool {position} {attempt}")
                yield self._span(tool_id, turn_id, tool, (start, end), {**common, **_tool(call)}, error=call.error)

    def _diagnosis(self, attribution: Attribution, start: int) -> SpanRecord:
        """The span of the diagnosis, which is made when the run has ended."""
        run = self._trajectory.model_copy(update={"trace_id": self._trace_id})
        span_ids = {step: span_id for span_id, step in self._steps.items()}
        record = diagnosis_record(run, attribution, span_ids=span_ids, around=self._root_id)
        end = start + int(attribution.elapsed_s * 1e9)
        events = tuple(replace(event, time_ns=end) for event in record.events)
        own_id = _digest(16, run.run_id, "diagnosis")
        return replace(record, span_id=own_id, start_ns=start, end_ns=end, events=events)

    def _chat_id(self, step: Step) -> str:
        """The step's own span, unless another step of a damaged file claims the same."""
        found = _hex(16, step.span_id)
        if found is None or found in self._steps:
            found = self._id(step, "chat")
        self._steps[found] = step.index
        return found

    def _span(
        self,
        span_id: str,
        parent_id: str | None,
        what: tuple[str, str, str],
        times: tuple[int, int],
        attributes: dict[str, Any],
        *,
        error: str | None = None,
    ) -> SpanRecord:
        operation, name, kind = what
        head = {semconv.OPERATION_NAME: operation, semconv.OI_SPAN_KIND: kind, **self._common}
        return SpanRecord(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_id=parent_id,
            name=f"{operation} {name}".rstrip(),
            kind="client" if operation == semconv.OP_CHAT else "internal",
            start_ns=times[0],
            end_ns=times[1],
            attributes=without_none({**head, **attributes}),
            status=SpanStatus.ERROR if error is not None else SpanStatus.UNSET,
            status_message=error or "",
            scope=_SCOPE,
            schema_url=semconv.SCHEMA_URL,
        )

    def _times(self, step: Step) -> tuple[int, int]:
        start = _ns(step.started_at) or (step.index + 1) * _TICK_NS
        return start, max(start, _ns(step.ended_at))

    def _id(self, step: Step, part: str) -> str:
        return _digest(16, self._trajectory.run_id, str(step.index), part)


def _with_distinct_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls, with ids made up where calls without any could be taken for attempts at one."""
    known = [(call.name, to_json_value(call.arguments)) for call in calls]
    ids = {call.call_id for call in calls}
    return [
        call
        if call.call_id is not None or (known.count(known[position]) == 1 and call.attempts == 1)
        else call.model_copy(update={"call_id": _unused(f"call {position}", ids)})
        for position, call in enumerate(calls)
    ]


def _unused(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "'"
    return name


def _request(step: Step) -> dict[str, Any]:
    shown = [text_message("user", item.text, name=item.source) for item in step.inputs if item.text is not None]
    return {semconv.REQUEST_MODEL: step.model, semconv.INPUT_MESSAGES: shown or None}


def _tool(call: ToolCall) -> dict[str, Any]:
    return {
        semconv.TOOL_NAME: call.name,
        semconv.TOOL_CALL_ID: call.call_id,
        semconv.TOOL_CALL_ARGUMENTS: call.arguments,
        semconv.TOOL_CALL_RESULT: call.result,
    }


def _ns(time: datetime | None) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1) * 1_000 if time is not None else 0


def _hex(digits: int, identifier: str | None) -> str | None:
    """``identifier``, if OTLP takes it; files of others may hold anything there."""
    fits = identifier is not None and len(identifier) == digits and not set(identifier) - set("0123456789abcdef")
    return identifier if fits and identifier is not None and identifier.strip("0") else None


def _digest(length: int, *parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()[:length]
