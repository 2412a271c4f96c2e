"""What a stranger's file may not do: stop the others, take all of the memory or the time, or fill the screen."""

import gzip
import json
import lzma
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks import _reading
from tracer_hooks._reading import read_bytes, refuse_special
from tracer_hooks.cli.app import main
from tracer_hooks.datasets import LabeledSet, LoadedRecord, _load, load, read_parquet
from tracer_hooks.errors import ConfigError, DatasetError, TrajectoryError
from tracer_hooks.replay import Tape
from tracer_hooks.schema import Trajectory, load_jsonl
from tracer_hooks.store._packing import COMPRESS_FROM, pack, unpack
from tracer_hooks.telemetry import SpanRecord, write_otlp_json

GOOD = {"run_id": "r", "steps": [{"index": 0, "agent": "a", "content": "x"}]}
TOO_EARLY = {"run_id": "r", "steps": [{"index": 0, "agent": "a", "started_at": "0001-01-01T00:00:00+14:00"}]}


def good(path: Path) -> None:
    path.write_text(json.dumps(GOOD))


def between(folder: Path, content: bytes, name: str = "2.json") -> list[LoadedRecord]:
    """The records of a folder with that content between two good files."""
    good(folder / "1.json")
    good(folder / "3.json")
    (folder / name).write_bytes(content)
    return list(load(folder))


def refused(records: list[LoadedRecord], name: str = "2.json") -> str:
    """The message of the middle one of three records, the others being good."""
    first, middle, last = records
    assert first.trajectory is not None
    assert last.trajectory is not None
    assert middle.error is not None
    assert name in str(middle.error)
    return str(middle.error)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link to a pipe"])
def test_what_is_no_file_is_refused_without_opening_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    good(tmp_path / "1.json")
    good(tmp_path / "3.json")
    place = tmp_path / "2.json"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        monkeypatch.chdir(tmp_path)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("2.json")
    elif kind == "device":
        place.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "pipe")
        place.symlink_to(tmp_path / "pipe")
    assert "expected a regular file" in refused(list(load(tmp_path)))
    [alone] = load(place)
    assert "expected a regular file" in str(alone.error)
    with pytest.raises(TrajectoryError, match="expected a regular file"):
        list(load_jsonl(place, Trajectory))


@pytest.mark.parametrize("pack_bytes", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("content", [b" " * 5_000_000, b'{"a": "' + b"x" * 5_000_000 + b'"}', b"\n" * 5_000_000])
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack_bytes: Callable[[bytes], bytes], content: bytes
) -> None:
    monkeypatch.setenv(_reading.FILE_VARIABLE, "1")
    assert "larger than 1 MB; TRACER_HOOKS_MAX_FILE_MB" in refused(between(tmp_path, pack_bytes(content)))


def test_a_large_document_is_refused_and_a_larger_bound_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_reading.FILE_VARIABLE, "1")
    content = json.dumps({**GOOD, "task": "x" * 1_500_000}, indent=1).encode()
    assert "larger than 1 MB" in refused(between(tmp_path, content))
    monkeypatch.setenv(_reading.FILE_VARIABLE, "2")
    assert all(record.error is None for record in between(tmp_path, content))


@pytest.mark.parametrize("before", [0, 1], ids=["the first", "a later one"])
def test_a_long_line_is_refused_and_the_lines_around_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setenv(_reading.FILE_VARIABLE, "1")
    long = json.dumps({**GOOD, "task": "x" * 3_500_000})
    lines = [*[json.dumps(GOOD)] * before, long, json.dumps(GOOD)]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    records = list(load(tmp_path / "x.jsonl"))
    assert [record.error is None for record in records] == [True] * before + [False, True]
    assert f"x.jsonl:{before + 1}" in records[before].source
    assert "the line is larger than 1 MB" in str(records[before].error)


def test_a_file_that_is_read_whole_is_refused_when_it_is_too_large_or_has_no_possible_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spans.json").write_bytes(b" " * 1_500_000)
    assert len(read_bytes(tmp_path / "spans.json")) == 1_500_000
    monkeypatch.setenv(_reading.FILE_VARIABLE, "1")
    with pytest.raises(TrajectoryError, match=r"spans\.json.*larger than 1 MB"):
        read_bytes(tmp_path / "spans.json")
    with pytest.raises(OSError, match="no file can have this name"):
        refuse_special("a\0.json")


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5"])
def test_a_bound_that_is_no_number_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    good(tmp_path / "x.json")
    monkeypatch.setenv(_reading.FILE_VARIABLE, value)
    with pytest.raises(ConfigError, match=r"TRACER_HOOKS_MAX_FILE_MB is .* expected a whole number"):
        list(load(tmp_path / "x.json"))


@pytest.mark.parametrize("levels", [_reading.MAX_NESTING, 900, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_nesting_is_refused(tmp_path: Path, levels: int, brackets: str) -> None:
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    content = '{"run_id": "r", "steps": [], "task": ' + opening * levels + "1" + closing * levels + "}"
    assert "nested too deeply" in refused(between(tmp_path, content.encode()))


def history(*names: str) -> dict[str, Any]:
    return {"question": "q", "history": [{"role": "assistant", "name": name, "content": "x"} for name in names]}


NAMES = [f"agent {number}" for number in range(_reading.MAX_AGENTS + 1)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (history(*["a"] * (_reading.MAX_STEPS + 1)), "10,001 steps, expected at most 10,000"),
        (history(*NAMES), "1,001 agents act in the run, expected at most 1,000"),
        (
            {"run_id": "r", "steps": [{"index": index, "agent": name} for index, name in enumerate(NAMES)]},
            "1,001 agents act in the run, expected at most 1,000",
        ),
    ],
    ids=["steps", "agents", "agents of a trajectory"],
)
def test_more_steps_or_agents_than_are_read_are_refused(tmp_path: Path, data: dict[str, Any], said: str) -> None:
    assert said in refused(between(tmp_path, json.dumps(data).encode()))


def test_a_long_message_is_cut_in_its_middle(tmp_path: Path) -> None:
    content = json.dumps({"run_id": "r", "schema_version": "v" * 70_000, "steps": []}).encode()
    message = refused(between(tmp_path, content))
    assert "schema_version of a Trajectory must be" in message
    assert "characters left out" in message
    assert len(message) <= len(repr(str(tmp_path / "2.json"))) + 2 + _reading.MAX_MESSAGE
    text = "".join(chr(ord("a") + place % 26) for place in range(1000))
    for most in (60, 61, 400):
        cut = _reading.brief(text, most)
        assert (len(cut), cut[0], cut[-1]) == (most, text[0], text[-1])


def broken(*_: object) -> None:
    raise ZeroDivisionError("odd")


AGENTRX = {"trajectory_id": "1", "steps": [{"substeps": [{"role": "a", "content": "x"}]}]}
TRAIL = {"trace_id": "1", "spans": [{"span_id": "s", "span_attributes": {}}]}


@pytest.mark.parametrize(("format", "run"), [("agentrx", AGENTRX), ("trail", TRAIL)])
def test_a_paired_reader_that_fails_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any, run: dict[str, Any]
) -> None:
    monkeypatch.setitem(_load._LAYOUTS, format, replace(_load._LAYOUTS[format], read=broken))  # type: ignore[arg-type]
    monkeypatch.setattr(_load, "read_whowhen", broken)
    for name in ("1", "2"):
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    (tmp_path / "3.json.gz").write_bytes(b"no gzip")
    other = json.dumps({"question": "q", "history": [{"role": "a", "content": "x"}]}).encode()
    (tmp_path / "whowhen").mkdir()
    with pytest.raises(ZeroDivisionError):
        between(tmp_path / "whowhen", other)
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
    assert "ZeroDivisionError: odd" in refused(between(tmp_path / "whowhen", other))
    found = [str(record.error) for record in load(tmp_path, format=format)]
    assert sum("ZeroDivisionError" in error for error in found) == 2
    assert sum("3.json.gz" in error for error in found) == 1


def test_diagnose_answers_for_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
    good(tmp_path / "1.json")
    os.mkfifo(tmp_path / "2.json")
    (tmp_path / "3.json").write_text(json.dumps(TOO_EARLY))
    good(tmp_path / "4.json")
    monkeypatch.setattr("sys.argv", ["tracer-hooks", "diagnose", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    results = json.loads(capsys.readouterr().out)["results"]
    assert [Path(one["source"]).name for one in results] == ["1.json", "2.json", "3.json", "4.json"]
    assert [bool(one.get("error")) for one in results] == [False, True, True, False]
    assert ended.value.code == 1


def spans(*pairs: tuple[str, list[Any]]) -> list[dict[str, Any]]:
    model = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "42", "output.value": "42"}
    common = {"timestamp": "2025-03-19T16:38:03Z", "duration": "PT1S", "span_attributes": model}
    return [{**common, "span_id": name, "child_spans": spans(*children)} for name, children in pairs]


@pytest.mark.parametrize("location", ["a", "b", "c", "d"])
@pytest.mark.parametrize(
    "tree",
    [
        [("a", [("a", [])])],
        [("a", [("b", [("a", [("c", [])])])]), ("d", [])],
        [("a", [("b", [("b", [("b", [])])])]), ("d", [])],
        [("a", [("c", [("b", [("c", [("a", [])])])])]), ("a", [])],
    ],
)
def test_a_span_among_its_own_ancestors_ends_no_search(tmp_path: Path, tree: list[Any], location: str) -> None:
    errors = [{"category": "Goal Deviation", "location": location, "impact": "HIGH"}]
    content = json.dumps({"trace_id": "a" * 32, "spans": spans(*tree), "errors": errors})
    (tmp_path / "x.json").write_text(content)
    assert [len(list(load(tmp_path, format="auto"))), len(list(load(tmp_path, format="trail")))] == [1, 1]


def test_spans_inside_each_other_have_a_bound(tmp_path: Path) -> None:
    tree: list[Any] = []
    for number in range(_reading.MAX_SPAN_DEPTH + 1):
        tree = [(f"s{number}", tree)]
    content = json.dumps({"trace_id": "a" * 32, "spans": spans(*tree)}).encode()
    assert "more than 180 levels" in refused(between(tmp_path, content))


def chain(path: Path, count: int, operation: str) -> None:
    """Spans each inside the one before."""
    spans = [
        SpanRecord(
            trace_id="1" * 32,
            span_id=f"{number:016x}",
            parent_id=f"{number - 1:016x}" if number > 1 else None,
            start_ns=number * 1000,
            end_ns=number * 1000 + 500,
            attributes={"gen_ai.operation.name": operation, "gen_ai.agent.name": f"a{number % 5}"},
        )
        for number in range(1, count + 1)
    ]
    write_otlp_json(path, spans)


@pytest.mark.parametrize("operation", ["chat", "execute_tool", "invoke_agent"])
def test_long_chains_of_parents_take_linear_time(
    tmp_path: Path, cpu_seconds: Callable[..., float], operation: str
) -> None:
    chain(tmp_path / "x.json", 8000, operation)
    assert cpu_seconds(lambda _: list(load(tmp_path / "x.json")), below=10) < 10


def test_a_bad_row_of_parquet_does_not_hide_the_others_and_a_column_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    row = json.dumps({"trajectory": GOOD, "label_source": "human"})
    pq.write_table(pa.table({"record": [row, "[", None, row]}), tmp_path / "x.parquet")
    records = list(load(tmp_path))
    assert [record.error is None for record in records] == [True, False, False, True]
    assert "x.parquet:2" in str(records[1].error)
    with pytest.raises(DatasetError, match="row 2"):
        read_parquet(tmp_path / "x.parquet")
    pq.write_table(pa.table({"record": ["x" * 100_000] * 500}), tmp_path / "x.parquet")
    monkeypatch.setenv(_reading.FILE_VARIABLE, "1")
    *_, last = load(tmp_path)
    assert "its column of records is larger than 1 MB" in str(last.error)


def test_a_labelled_set_names_the_line_that_is_damaged(tmp_path: Path) -> None:
    row = {"trajectory": GOOD, "label_source": "human", "decisive": {"agent": "a", "step": 0}}
    lines = [row, {**row, "trajectory": TOO_EARLY}]
    (tmp_path / "labeled.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DatasetError, match=r"labeled\.jsonl', line 2: .*no time in UTC"):
        LabeledSet.load(tmp_path)


@pytest.mark.parametrize("position", [-1, 1, 10**9])
def test_a_tape_names_only_messages_that_it_has(position: int) -> None:
    call = {"agent": "a", "step": 0, "digest": "d", "messages": [position]}
    with pytest.raises(ValueError, match="refers to a message that is not among the 1 on the tape"):
        Tape.model_validate({"run_id": "r", "messages": [{}], "model_calls": [call]})


def test_a_packed_record_unpacks_to_so_much_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x" * (COMPRESS_FROM * 3)
    assert unpack(pack(text)) == text
    with pytest.raises(ValueError, match="breaks off"):
        unpack(pack(text)[:-6])
    monkeypatch.setattr("tracer_hooks.store._packing.MAX_RECORD_BYTES", COMPRESS_FROM)
    with pytest.raises(ValueError, match="larger than a record can be"):
        unpack(pack(text))
