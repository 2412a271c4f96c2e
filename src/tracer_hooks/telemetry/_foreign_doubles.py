"""One act that two instrumentations saw, such as a framework's own span inside OpenInference's, is one act."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_roles import MODEL_OPERATIONS, SpanTree, is_own
from tracer_hooks.telemetry._foreign_tools import tool_attributes, tool_name
from tracer_hooks.telemetry._span_record import SpanRecord, SpanStatus

_TOLD_BY_EITHER = (
    semconv.TOOL_CALL_ID,
    semconv.TOOL_CALL_ARGUMENTS,
    semconv.TOOL_CALL_RESULT,
    semconv.ERROR_TYPE,
    semconv.SYSTEM_INSTRUCTIONS,
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    semconv.REQUEST_MODEL,
    semconv.RESPONSE_MODEL,
    semconv.USAGE_INPUT_TOKENS,
    semconv.USAGE_OUTPUT_TOKENS,
)


def find_doubles(tree: SpanTree, operations: Mapping[int, str | None]) -> dict[int, SpanRecord]:
    """The span that shows the same act, for each span that shows it again.

    A model call right inside a model call is the same one, and so is a tool call right inside a call of the same tool
    if another instrumentation wrote it or the arguments are the same. Our own span is the one that stays.
    """
    found: dict[int, SpanRecord] = {}
    acting = tree.above({key for key, operation in operations.items() if operation})
    for record in tree.records:
        operation = operations[id(record)]
        outer = next(acting.around(record), None)
        if outer is None or not _is_same(tree, record, outer, operation, operations[id(outer)]):
            continue
        kept, again = (record, outer) if is_own(record) and not is_own(outer) else (outer, record)
        if not is_own(again):
            found[id(again)] = kept
    return found


def _is_same(
    tree: SpanTree, record: SpanRecord, outer: SpanRecord, operation: str | None, outer_operation: str | None
) -> bool:
    if operation in MODEL_OPERATIONS:
        return outer_operation in MODEL_OPERATIONS
    if operation != semconv.OP_EXECUTE_TOOL or outer_operation != operation or tool_name(record) != tool_name(outer):
        return False
    if record.scope != outer.scope:
        return True
    key = semconv.TOOL_CALL_ARGUMENTS
    return bool(
        tool_attributes(record, tree.parent(record)).get(key) == tool_attributes(outer, tree.parent(outer)).get(key)
    )


def told_by_both(kept: SpanRecord, again: SpanRecord) -> SpanRecord:
    """``kept`` with what only the other span of the same act tells; a tool failed if either says so."""
    more = {key: again.attributes[key] for key in _TOLD_BY_EITHER if key in again.attributes}
    changed = dataclasses.replace(kept, attributes={**more, **kept.attributes})
    is_tool = kept.operation == semconv.OP_EXECUTE_TOOL
    if is_tool and again.status is SpanStatus.ERROR and kept.status is not SpanStatus.ERROR:
        told = str(changed.attributes.get(semconv.TOOL_CALL_RESULT) or "")
        if told and told in again.status_message:  # what the model was told of the failure is no result
            kept_keys = {key: value for key, value in changed.attributes.items() if key != semconv.TOOL_CALL_RESULT}
            changed = dataclasses.replace(changed, attributes=kept_keys)
        events = (*kept.events, *again.events)
        return dataclasses.replace(changed, status=again.status, status_message=again.status_message, events=events)
    return changed


def as_plumbing(record: SpanRecord) -> SpanRecord:
    """The span that showed the act again, as a part that acts through others."""
    dropped = (semconv.OPERATION_NAME, semconv.AGENT_NAME)
    attributes = {key: value for key, value in record.attributes.items() if key not in dropped}
    return dataclasses.replace(record, attributes=attributes)
