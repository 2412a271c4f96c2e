"""The span around several agents' turns, where no instrumentation calls it a team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_roles import MODEL_OPERATIONS, SpanTree, is_own
from tracer_hooks.telemetry._span_record import SpanRecord

_ACTS = {*MODEL_OPERATIONS, semconv.OP_EXECUTE_TOOL}
_OF_SERVERS = ("http.", "url.", "rpc.", "messaging.", "db.", "faas.", "server.", "net.")


def find_outer_teams(tree: SpanTree, operations: dict[int, str | None], agents: Mapping[int, str]) -> None:
    """Make a span the team of its trace: a turn in which only other agents act, else the innermost around all turns.

    A trace that has a team already keeps it, and a span of a web server, a queue or a database is none.
    """
    traces: dict[str, list[SpanRecord]] = defaultdict(list)
    for record in tree.records:
        traces[record.trace_id].append(record)
    turns_above = tree.above({key for key, operation in operations.items() if operation == semconv.OP_INVOKE_AGENT})
    for records in traces.values():
        if any(operations[id(record)] == semconv.OP_INVOKE_WORKFLOW or is_own(record) for record in records):
            continue
        inside: dict[int, list[SpanRecord]] = defaultdict(list)
        turns = []
        for record in records:
            above = next(turns_above.around(record), None)
            if operations[id(record)] == semconv.OP_INVOKE_AGENT:
                if above is None:
                    turns.append(record)
                else:
                    inside[id(above)].append(record)
            elif operations[id(record)] in _ACTS and above is not None:
                inside[id(above)].append(record)
        for record in turns:
            if _only_others_act(record, inside[id(record)], operations, agents):
                operations[id(record)] = semconv.OP_INVOKE_WORKFLOW
        around = _innermost_around(tree, turns) if len(turns) > 1 else None
        if around is not None and operations[id(around)] not in _ACTS and not _is_of_a_server(around):
            operations[id(around)] = semconv.OP_INVOKE_WORKFLOW


def _only_others_act(
    turn: SpanRecord, inside: Sequence[SpanRecord], operations: Mapping[int, str | None], agents: Mapping[int, str]
) -> bool:
    name = agents.get(id(turn))
    return bool(inside) and all(
        operations[id(record)] == semconv.OP_INVOKE_AGENT and agents.get(id(record)) != name for record in inside
    )


def _innermost_around(tree: SpanTree, turns: Sequence[SpanRecord]) -> SpanRecord | None:
    first, *others = ([*_around(tree, turn)] for turn in turns)
    common = set.intersection(*({id(record) for record in path} for path in others))
    return next((record for record in first if id(record) in common), None)


def _around(tree: SpanTree, record: SpanRecord) -> Iterator[SpanRecord]:
    seen = {id(record)}
    current = tree.parent(record)
    while current is not None and id(current) not in seen:  # a damaged file may hold a circle
        yield current
        seen.add(id(current))
        current = tree.parent(current)


def _is_of_a_server(record: SpanRecord) -> bool:
    return record.kind != "internal" or any(key.startswith(_OF_SERVERS) for key in record.attributes)
