import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from tracer_hooks.errors import TrajectoryError
from tracer_hooks.telemetry._otlp_read import read_otlp, scan_otlp
from tracer_hooks.telemetry._otlp_write import write_otlp_json, write_otlp_protobuf
from tracer_hooks.telemetry._records import SpanEvent, SpanLink, SpanRecord, SpanStatus

from .._known import known

TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"

FULL = SpanRecord(
    trace_id=TRACE,
    span_id=SPAN,
    parent_id=PARENT,
    name="chat m",
    kind="client",
    start_ns=1_700_000_000_000_000_001,
    end_ns=1_700_000_000_500_000_002,
    attributes={"s": "é", "i": 2**63 - 1, "f": 0.5, "b": True, "l": ["a", "b"], "n": [1, 2], "raw": b"\x00\xff"},
    status=SpanStatus.ERROR,
    status_message="no such city",
    events=(SpanEvent(name="exception", time_ns=5, attributes={"exception.type": "ValueError"}),),
    links=(SpanLink(trace_id=TRACE, span_id=PARENT, attributes={"why": "retry"}),),
    resource={"service.name": "svc"},
    scope="tracer_hooks",
)


def minimal(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": SPAN, "name": "x", **fields}


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["json", "jsonl", "protobuf"])
def test_a_span_comes_back_as_it_was(tmp_path: Path, form: str) -> None:
    path = tmp_path / "trace"
    if form == "protobuf":
        write_otlp_protobuf(path, [FULL])
    else:
        write_otlp_json(path, [FULL], lines=form == "jsonl")
    assert read_otlp(path) == [FULL]


def test_json_follows_the_otlp_mapping(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_otlp_json(path, [FULL])
    group = json.loads(path.read_text("utf-8"))["resourceSpans"][0]
    assert group["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "svc"}}]
    assert group["scopeSpans"][0]["scope"] == {"name": "tracer_hooks"}
    span = group["scopeSpans"][0]["spans"][0]
    assert (span["traceId"], span["spanId"], span["parentSpanId"]) == (TRACE, SPAN, PARENT)
    assert span["startTimeUnixNano"] == "1700000000000000001"
    assert (span["kind"], span["status"]) == (3, {"code": 2, "message": "no such city"})
    values = {item["key"]: item["value"] for item in span["attributes"]}
    assert values["i"] == {"intValue": str(2**63 - 1)}
    assert values["n"] == {"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}}


def test_protobuf_is_read_by_the_official_classes(tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    write_otlp_protobuf(path, [FULL])
    span = ExportTraceServiceRequest.FromString(path.read_bytes()).resource_spans[0].scope_spans[0].spans[0]
    assert (span.trace_id.hex(), span.span_id.hex(), span.name, span.status.code) == (TRACE, SPAN, "chat m", 2)
    assert span.start_time_unix_nano == FULL.start_ns


def test_messages_are_written_as_json_strings(tmp_path: Path) -> None:
    messages = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    record = SpanRecord(
        trace_id=TRACE, span_id=SPAN, attributes={"m": messages, "d": {"a": 1}, "big": 2**80, "mixed": [1, "a"]}
    )
    write_otlp_json(tmp_path / "t.json", [record])
    attributes = read_otlp(tmp_path / "t.json")[0].attributes
    assert json.loads(attributes["m"]) == messages
    assert attributes["d"] == '{"a": 1}'
    assert attributes["big"] == str(2**80)
    assert attributes["mixed"] == '[1, "a"]'


def test_resources_and_scopes_stay_apart_and_a_line_holds_one_trace(tmp_path: Path) -> None:
    a = SpanRecord(trace_id=TRACE, span_id=SPAN, resource={"service.name": "a"}, scope="one")
    b = SpanRecord(trace_id=TRACE, span_id=PARENT, resource={"service.name": "b"}, scope="two")
    write_otlp_json(tmp_path / "t.json", [a, b])
    assert read_otlp(tmp_path / "t.json") == [a, b]
    other = SpanRecord(trace_id="1" * 32, span_id=SPAN)
    write_otlp_json(tmp_path / "t.jsonl", [a, other, a], lines=True)
    assert len((tmp_path / "t.jsonl").read_text("utf-8").splitlines()) == 2
    assert [record.trace_id for record in read_otlp(tmp_path / "t.jsonl")] == [TRACE, TRACE, "1" * 32]


def test_identifiers_that_are_not_hex_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"'nope'.*32 lower-case hex digits"):
        write_otlp_json(tmp_path / "t.json", [SpanRecord(trace_id="nope", span_id=SPAN)])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": 3}, {"kind": "client"}),
        ({"kind": "SPAN_KIND_CLIENT"}, {"kind": "client"}),
        ({"kind": "SpanKind.SERVER"}, {"kind": "server"}),
        ({}, {"kind": "internal", "status": SpanStatus.UNSET, "parent_id": None, "start_ns": 0}),
        ({"status": {"code": 2}}, {"status": SpanStatus.ERROR}),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, {"status": SpanStatus.ERROR}),
        ({"status": {"code": "2"}}, {"status": SpanStatus.ERROR}),
        ({"status": {}}, {"status": SpanStatus.UNSET}),
        ({"startTimeUnixNano": 5, "endTimeUnixNano": "7"}, {"start_ns": 5, "end_ns": 7}),
        ({"start_time_unix_nano": "5"}, {"start_ns": 5}),
        ({"parentSpanId": ""}, {"parent_id": None}),
        ({"parentSpanId": "0" * 16}, {"parent_id": None}),
        ({"parent_span_id": PARENT}, {"parent_id": PARENT}),
        ({"attributes": [{"key": "n", "value": {"intValue": 7}}]}, {"attributes": {"n": 7}}),
        ({"attributes": [{"key": "n", "value": {"int_value": "7"}}]}, {"attributes": {"n": 7}}),
        ({"attributes": [{"key": "n", "value": {}}]}, {"attributes": {"n": None}}),
        (
            {
                "attributes": [
                    {"key": "k", "value": {"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}}
                ]
            },
            {"attributes": {"k": {"a": True}}},
        ),
    ],
)
def test_every_exporters_spelling_is_read(tmp_path: Path, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    record = read_otlp(written(tmp_path / "t.json", request(minimal(**fields))))[0]
    assert {key: getattr(record, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("identifier", "read"),
    [
        (TRACE, TRACE),
        (TRACE.upper(), TRACE),
        ("0x" + TRACE, TRACE),
        (base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE),
        (int(TRACE, 16), TRACE),
        ("0xabc", "abc".zfill(32)),
    ],
)
def test_identifiers_are_read_as_hex_base64_or_number(tmp_path: Path, identifier: object, read: str) -> None:
    path = written(tmp_path / "t.json", request({"traceId": identifier, "spanId": "0x12"}))
    record = read_otlp(path)[0]
    assert (record.trace_id, record.span_id) == (read, "12".zfill(16))


@pytest.mark.parametrize(
    "value",
    [
        [request(minimal()), request(minimal())],
        {"resource_spans": [{"scope_spans": [{"spans": [minimal(), minimal()]}]}]},
        {"batches": [{"instrumentationLibrarySpans": [{"spans": [minimal(), minimal()]}]}]},
        {"scopeSpans": [{"spans": [minimal(), minimal()]}]},
        [minimal(), minimal()],
    ],
)
def test_every_wrapping_is_read(tmp_path: Path, value: object) -> None:
    assert len(read_otlp(written(tmp_path / "t.json", value))) == 2


def varint(number: int) -> bytes:
    digits = []
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


@pytest.mark.parametrize("length", [lambda n: struct.pack(">I", n), varint])
def test_delimited_protobuf_is_read(tmp_path: Path, length: Any) -> None:
    write_otlp_protobuf(tmp_path / "one.pb", [FULL])
    message = (tmp_path / "one.pb").read_bytes()
    (tmp_path / "all.pb").write_bytes((length(len(message)) + message) * 3)
    assert read_otlp(tmp_path / "all.pb") == [FULL] * 3


@pytest.mark.parametrize("length", [91, 123])
def test_protobuf_whose_length_byte_is_a_bracket_is_not_taken_for_json(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.pb"
    for filler in range(length):
        record = SpanRecord(trace_id=TRACE, span_id=SPAN, name="n" * filler)
        write_otlp_protobuf(path, [record])
        if path.read_bytes()[1] == length:
            assert read_otlp(path) == [record]
            return
    pytest.fail("no name gave that length")


def finished_spans() -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "svc"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("lib")
    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as inner:
        inner.set_attribute("tags", ["a", "b"])
        inner.add_event("seen", {"n": 1})
        inner.set_status(Status(StatusCode.ERROR, "broke"))
    return list(exporter.get_finished_spans())


@pytest.mark.parametrize("indent", [None, 4])
def test_console_exporter_output_is_read(tmp_path: Path, indent: int | None) -> None:
    inner, outer = finished_spans()
    path = tmp_path / "console.txt"
    path.write_text("\n".join(span.to_json(indent=indent) for span in (inner, outer)), encoding="utf-8")
    first, second = read_otlp(path)
    assert (first.name, first.parent_id, second.parent_id) == ("inner", second.span_id, None)
    context = known(inner.get_span_context())
    assert first.trace_id == f"{context.trace_id:032x}"
    assert (first.status, first.status_message) == (SpanStatus.ERROR, "broke")
    assert first.attributes == {"tags": ["a", "b"]}
    assert [(event.name, event.attributes) for event in first.events] == [("seen", {"n": 1})]
    assert abs(first.start_ns - known(inner.start_time)) <= 1000  # the SDK rounds to microseconds
    assert first.resource["service.name"] == "svc"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (json.dumps(request(minimal())).encode()[:60], r"line 1: not valid JSON.*column"),
        (b'{"resourceSpans": []}', "holds no span"),
        (b'{"hello": 1}', r"keys \['hello'\]"),
        (b"[1, 2]", "line 1, item 0: found int"),
        (b"hello", "byte 0: neither JSON nor"),
        (bytes(range(256)), "byte 0: neither JSON nor"),
        (b"[" * 100_000, "nested too deeply"),
        (json.dumps(request({"spanId": SPAN, "name": "lost"})).encode(), r"spans\[0\]: the span 'lost' has no traceId"),
        (json.dumps(request({"traceId": TRACE})).encode(), "has no spanId"),
        (json.dumps(request(minimal(traceId="zz"))).encode(), "'zz' is not an identifier of 32 hex digits"),
        (json.dumps(request(minimal(startTimeUnixNano="soon"))).encode(), r"spans\[0\]: .*'soon'"),
        (json.dumps(request(minimal(startTimeUnixNano=-1))).encode(), r"'-1' is not a time"),
        (json.dumps(request(minimal(attributes=3))).encode(), "attributes must be a list or an object, got int"),
        (json.dumps(request(minimal(attributes=[{"k": 1}]))).encode(), "an attribute must be an object with 'key'"),
        (b'{"resourceSpans": {"a": 1}}', "'resourceSpans' must be a list, got dict"),
        (b'{"resourceSpans": [5]}', r"resourceSpans\[0\]: expected an object, got int"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": ["x"]}]}]}', r"spans\[0\]: expected an object, got str"),
        (b"\x1f\x8b\x08broken", "cannot read|breaks off"),
        (b"\xfd7zXZ\x00broken", "cannot read|breaks off"),
        ('{"a": "ü"}'.encode("utf-16"), "not UTF-8|neither JSON"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(TrajectoryError, match=reason) as caught:
        read_otlp(path)
    assert "bad.json" in str(caught.value)


def test_unreadable_paths_and_broken_off_protobuf_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.pb"
    write_otlp_protobuf(path, [FULL])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(TrajectoryError, match=r"bad\.pb.*byte 0: neither JSON nor whole OTLP protobuf"):
        read_otlp(path)
    for name in ("missing.json", "."):
        with pytest.raises(TrajectoryError, match="cannot read"):
            read_otlp(tmp_path / name)


def test_scanning_keeps_what_is_whole_and_passes_other_signals_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lost = json.dumps(request(minimal(), {"name": "lost"}))
    signals = [json.dumps({name: []}) for name in ("resourceMetrics", "resourceLogs")]
    lines = [json.dumps(request(minimal())), '{"resourceSpans": [{"sc', lost, *signals, "", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    content = scan_otlp(path)
    assert len(content.spans) == 2
    assert [str(error).split(", ", 1)[1].split(":")[0] for error in content.errors] == ["line 2", "line 3"]
    path.write_text("\n".join([lines[0], *signals]), encoding="utf-8")
    assert len(read_otlp(path)) == 1
