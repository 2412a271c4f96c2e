"""Whatever a span holds, OTLP JSON and protobuf give it back; whatever a file holds, reading it ends well."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks import semconv
from tracer_hooks.datasets import load
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.telemetry._foreign import normalise
from tracer_hooks.telemetry._otlp_read import read_otlp
from tracer_hooks.telemetry._otlp_write import SPAN_KINDS, write_otlp_json, write_otlp_protobuf
from tracer_hooks.telemetry._records import SpanEvent, SpanLink, SpanRecord, SpanStatus

FILE_KEYS = (
    "resourceSpans scopeSpans spans attributes key value stringValue intValue "
    "arrayValue kvlistValue values status code events links resource scope kind "
    "context traceId spanId history trajectory steps run_id content name input role "
    "agent_name faulty_agents conversation_history system_prompt mistake_agent"
)
ROLES = "user assistant tool"
MESSAGE_KEYS = (
    "role content parts message kwargs data tool_calls function arguments id messages "
    "output inputs input_str type source name tool_call_id contents args"
)
KINDS = "AGENT LLM TOOL CHAIN workflow task chat execute_tool invoke_agent"
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
int64 = st.integers(-(2**63), 2**63 - 1)
uint64 = st.integers(0, 2**64 - 1)
number = st.floats(allow_nan=False)
attribute = (
    st.booleans()
    | int64
    | number
    | text
    | st.binary(max_size=8)
    | st.none()
    | st.one_of(*(st.lists(kind, max_size=3) for kind in (st.booleans(), int64, number, text)))
)
attributes = st.dictionaries(text, attribute, max_size=4)


def identifier(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size, max_size=size).filter(any).map(bytes.hex)


def at_most_two(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


links = st.builds(SpanLink, trace_id=identifier(16), span_id=identifier(8), attributes=attributes)
spans = st.builds(
    SpanRecord, trace_id=identifier(16), span_id=identifier(8), parent_id=st.none() | identifier(8), name=text,
    kind=st.sampled_from(SPAN_KINDS[1:]), start_ns=uint64, end_ns=uint64, attributes=attributes,
    status=st.sampled_from(SpanStatus), status_message=text, links=at_most_two(links), resource=attributes, scope=text,
    events=at_most_two(st.builds(SpanEvent, name=text, time_ns=uint64, attributes=attributes)),
)  # fmt: skip


def json_like(leaves: st.SearchStrategy[Any], keys: str, most: int) -> st.SearchStrategy[Any]:
    named = st.sampled_from(keys.split())

    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(named, inner, max_size=4)

    return st.recursive(leaves, nested, max_leaves=most)


def sorted_reprs(records: list[SpanRecord]) -> list[str]:
    """For comparing: writing groups spans by resource and scope; ``repr``, since 1 and True must differ."""
    return sorted(
        repr(dataclasses.replace(record, resource=dict(sorted(record.resource.items())))) for record in records
    )


@pytest.mark.parametrize("form", ["json", "lines", "protobuf"])
@settings(max_examples=60)
@given(records=st.lists(spans, min_size=1, max_size=4))
def test_spans_come_back(tmp_path_factory: Any, form: str, records: list[SpanRecord]) -> None:
    path: Path = tmp_path_factory.mktemp("otlp") / "x"
    if form == "protobuf":
        write_otlp_protobuf(path, records)
    else:
        write_otlp_json(path, records, lines=form == "lines")
    assert sorted_reprs(read_otlp(path)) == sorted_reprs(records)


@settings(max_examples=60)
@given(values=st.dictionaries(st.text(max_size=5), st.floats() | st.text() | st.integers(), max_size=4))
def test_both_encodings_say_the_same(tmp_path_factory: Any, values: dict[str, Any]) -> None:
    folder: Path = tmp_path_factory.mktemp("otlp")
    record = SpanRecord(trace_id="1" * 32, span_id="1" * 16, attributes=values)
    write_otlp_json(folder / "x.json", [record])
    write_otlp_protobuf(folder / "x.pb", [record])
    assert repr(read_otlp(folder / "x.json")) == repr(read_otlp(folder / "x.pb"))


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@settings(max_examples=150)
@given(value=json_like(scalars | st.floats(), FILE_KEYS, 12))
def test_any_json_is_read_or_refused_with_an_error(tmp_path_factory: Any, value: object) -> None:
    path: Path = tmp_path_factory.mktemp("any") / "x.json"
    path.write_text(json.dumps(value))
    records = list(load(path))
    assert records
    assert all((record.trajectory is None) != (record.error is None) for record in records)
    with contextlib.suppress(TrajectoryError):
        assert read_otlp(path)


@settings(max_examples=150)
@given(data=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_with_an_error(tmp_path_factory: Any, data: bytes) -> None:
    path: Path = tmp_path_factory.mktemp("any") / "x.bin"
    path.write_bytes(data)
    assert list(load(path))


@settings(max_examples=40)
@given(cut=st.integers(1, 400), records=st.lists(spans, min_size=1, max_size=2))
def test_a_truncated_file_is_never_silently_short(tmp_path_factory: Any, cut: int, records: list[SpanRecord]) -> None:
    path: Path = tmp_path_factory.mktemp("cut") / "x.json"
    write_otlp_json(path, records)
    whole = path.read_bytes().rstrip()
    path.write_bytes(whole[: max(1, len(whole) - cut)])
    with pytest.raises(TrajectoryError):
        read_otlp(path)


foreign_keys = st.sampled_from(
    [
        *(value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str) and "." in value),
        *("traceloop.span.kind", "traceloop.entity.name", "traceloop.entity.input", "traceloop.entity.output"),
        *("llm.input_messages.0.message.role", "llm.input_messages.0.message.content", "llm.input_messages.0"),
        *("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "llm.output_messages.x"),
        *(
            "gen_ai.prompt.0.content",
            "gen_ai.prompt.0",
            "gen_ai.completion.0.role",
            "metadata",
            "gen_ai.workflow.nodes",
        ),
        *("llm.invocation_parameters", "gen_ai.prompt", "tool_call.id"),
    ]
).filter(lambda key: not key.startswith("tracer_hooks."))
message_like = json_like(scalars | st.sampled_from(ROLES.split()), MESSAGE_KEYS, 10)
foreign_values = message_like | message_like.map(json.dumps) | st.sampled_from(KINDS.split())
foreign_attributes = st.dictionaries(foreign_keys, foreign_values, max_size=6)
event_names = st.sampled_from(
    ["gen_ai.user.message", "gen_ai.tool.message", "gen_ai.choice", "gen_ai.content.prompt", "exception"]
)


@settings(max_examples=150)
@given(
    spans=st.lists(
        st.tuples(
            st.none() | st.integers(0, 4),
            foreign_attributes,
            st.lists(st.builds(SpanEvent, name=event_names, attributes=foreign_attributes), max_size=2),
        ),
        max_size=5,
    )
)
def test_normalising_never_fails_and_keeps_every_span(spans: list[tuple[Any, Any, Any]]) -> None:
    records = [
        SpanRecord(
            trace_id="1" * 32,
            span_id=f"{number:016x}",
            parent_id=None if parent is None else f"{parent:016x}",
            attributes=values,
            events=tuple(events),
        )
        for number, (parent, values, events) in enumerate(spans)
    ]
    after = normalise(records)
    assert [record.span_id for record in after] == [record.span_id for record in records]
