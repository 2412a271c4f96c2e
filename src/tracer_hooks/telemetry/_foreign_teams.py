"""The span around several agents' turns, where no instrumentation calls it a team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_roles import MODEL_OPERATIONS, SpansAbove, SpanTree, is_own
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
        if not any(operations[id(record)] == semconv.OP_INVOKE_WORKFLOW or is_own(record) for record in records):
            _find_outer_team(tree, records, turns_above, operations, agents)


def _find_outer_team(
    tree: SpanTree,
    records: Sequence[SpanRecord],
    turns_above: SpansAbove,
    operations: dict[int, str | None],
    agents: Mapping[int, str],
) -> None:
    inside: dict[int | None, list[SpanRecord]] = defaultdict(list)
    """The turns and acts right inside each turn; those outside of every turn under None."""
    for record in records:
        if operations[id(record)] in (*_ACTS, semconv.OP_INVOKE_AGENT):
            above = next(turns_above.around(record), None)
            inside[None if above is None else id(above)].append(record)
    turns = [record for record in inside[None] if operations[id(record)] == semconv.OP_INVOKE_AGENT]
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
