import gzip
import json
import lzma
import os
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.datasets import FORMATS, LoadedRecord, load
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import (
    DecisiveStep,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
    save_jsonl,
    to_json,
)
from tracer_hooks.telemetry import SpanRecord, write_otlp_json, write_otlp_protobuf

from .._known import known

FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"
WHOWHEN = {"question": "q", "history": [{"name": "A", "role": "user", "content": "x"}]}
AEGIS = {"id": "a-1", "question": "q", "trajectory": [{"step": 1, "agent_name": "A", "content": "x"}]}
OWN = Trajectory(run_id="r", steps=(Step(index=0, agent="A", content="x"),))
LABELED = LabeledTrajectory(trajectory=OWN, decisive=DecisiveStep(agent="A", step=0), label_source=LabelSource.INJECTED)


def span(trace: str, **attributes: Any) -> SpanRecord:
    return SpanRecord(trace_id=trace * 32, span_id=trace * 16, name="chat", attributes=attributes, start_ns=1)


def chat(trace: str) -> SpanRecord:
    return span(trace, **{"gen_ai.operation.name": "chat", "gen_ai.agent.name": "A"})


def written(path: Path, *values: object) -> Path:
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return path


def whole(path: Path, **options: Any) -> list[LoadedRecord]:
    records = list(load(path, **options))
    for record in records:
        assert (record.trajectory is None) != (record.error is None)
        assert record.labeled is None or record.labeled.trajectory == record.trajectory
    return records


def error_of(record: LoadedRecord) -> str:
    return str(known(record.error))


# --- formats ---
@pytest.mark.parametrize(
    ("value", "framework", "is_labeled"),
    [
        (json.loads(to_json(OWN)), "unknown", False),
        (json.loads(to_json(LABELED)), "unknown", True),
        ({"mistake_agent": "A", "mistake_step": "0", **WHOWHEN}, "whowhen", True),
        (WHOWHEN, "unknown", False),
        ({**AEGIS, "faulty_agents": []}, "aegis", True),
        (AEGIS, "aegis", False),
        ({"run_id": "r", "steps": []}, "unknown", False),
    ],
)
def test_the_format_is_seen_from_the_record(tmp_path: Path, value: object, framework: str, is_labeled: bool) -> None:
    [record] = whole(written(tmp_path / "x.json", value))
    assert known(record.trajectory).framework == framework
    assert (record.labeled is not None) is is_labeled
    assert record.source == str(tmp_path / "x.json")


def test_own_lines_come_back(tmp_path: Path) -> None:
    save_jsonl(tmp_path / "x.jsonl", [OWN, OWN])
    records = whole(tmp_path / "x.jsonl")
    assert [record.trajectory for record in records] == [OWN, OWN]
    assert [record.source.rsplit(":")[-1] for record in records] == ["1", "2"]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "pb"])
def test_traces_give_one_record_a_run(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    if suffix == "pb":
        write_otlp_protobuf(path, [chat("1"), chat("2")])
    else:
        write_otlp_json(path, [chat("1"), chat("2")], lines=suffix == "jsonl")
    records = whole(path)
    assert [record.source for record in records] == [f"{path}#0", f"{path}#1"]
    assert [record.trajectory and record.trajectory.steps[0].agent for record in records] == ["A", "A"]


def test_recorded_traces_load() -> None:
    records = whole(FIXTURES)
    assert [Path(record.source).name for record in records] == sorted(path.name for path in FIXTURES.iterdir())
    assert all(record.trajectory is not None and record.trajectory.steps for record in records)


def test_a_list_of_records_is_numbered(tmp_path: Path) -> None:
    records = whole(written(tmp_path / "x.json", [WHOWHEN, {"what": 1}, AEGIS]))
    assert [record.source for record in records] == [f"{tmp_path}/x.json#{k}" for k in range(3)]
    assert [record.error is None for record in records] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl.gz", gzip.compress(b"\n".join([json.dumps(WHOWHEN).encode()] * 2))),
        ("x.jsonl.xz", lzma.compress(b"\n".join([json.dumps(WHOWHEN).encode()] * 2))),
        ("x.jsonl", json.dumps(WHOWHEN, indent=2).encode()),
        ("x.json", b"\xef\xbb\xbf" + json.dumps(WHOWHEN).encode()),
    ],
    ids=["gzip", "xz", "indented", "marked"],
)
def test_packed_indented_and_marked_files_are_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert [record.error for record in whole(tmp_path / name)] == [None] * (2 if name.endswith("z") else 1)


# --- folders ---
def test_folders_are_read_to_the_bottom_in_natural_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("10.json", "2.json", "1.json", "b/3.json"):
        written(tmp_path / name, WHOWHEN)
    for name in ("README.md", ".hidden.json", "notes.txt.gz"):
        (tmp_path / name).write_text("no")
    names = [str(Path(record.source).relative_to(tmp_path)) for record in whole(tmp_path)]
    assert names == ["1.json", "2.json", "10.json", "b/3.json"]


def test_a_link_back_up_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "1.json", WHOWHEN)
    (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
    assert len(whole(tmp_path)) == 1


# --- damage ---
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"[]", "the list holds no trajectory"),
        (b'{"history": [{"na', "line 1: not valid JSON"),
        (b"not json", "line 1: not valid JSON"),
        (b'{"history": []}', "no steps"),
        (b'{"history": 5}', "'history' must be a list"),
        (b'{"history": [5]}', r"history[0] must be an object"),
        (b'{"history": [{"content": "x"}]}', "history[0] names no speaker"),
        (b'{"trajectory": []}', "no steps"),
        (b'{"trajectory": [{"content": "x"}]}', "turn 0 names no speaker"),
        (json.dumps({**AEGIS, "trajectory": "x"}).encode(), "the trajectory must be a list of turns, got str"),
        (json.dumps({**AEGIS, "faulty_agents": "x"}).encode(), "'faulty_agents' must be a list, got str"),
        (json.dumps({**AEGIS, "faulty_agents": [{}]}).encode(), "a faulty agent must be an object with 'agent_name'"),
        (b'{"run_id": "r", "steps": [{"index": 3, "agent": "A"}]}', "expected 0"),
        (b'{"run_id": "r", "steps": [], "schema_version": 99}', "schema_version 99"),
        (b'{"run_id": "r", "steps": [], "stepz": 1}', "stepz"),
        (b'{"hello": "world"}', "unknown format: line 1 has the keys ['hello'], expected a trajectory"),
        (b'[{"hello": 1}, {"hello": 2}]', "unknown format: the first item"),
        (b"3", "holds int"),
        (b'"text"', "holds str"),
        (b"null", "holds NoneType"),
        (b'{"question": "\xff"}', "not UTF-8"),
        (bytes(range(256)) * 4, "neither JSON nor"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "not valid JSON"),
        (b'{"resourceSpans": []}', "holds no span"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}', "has no traceId"),
        (gzip.compress(b'{"history": []}', mtime=0)[:-9], "breaks off"),
        (lzma.compress(b'{"history": []}')[:-20], "breaks off"),
    ],
)
def test_damage_is_set_apart_and_the_rest_goes_on(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "1.json").write_bytes(content)
    written(tmp_path / "2.json", WHOWHEN)
    bad, good = whole(tmp_path)
    assert reason in error_of(bad)
    assert "1.json" in error_of(bad)
    assert good.error is None


def test_a_bad_line_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"bad\n\n' + json.dumps(AEGIS).encode() + b"\n\xff\n" + json.dumps(AEGIS).encode()[:-4])
    first, second, third, fourth = whole(path)
    assert "line 1: not valid JSON" in error_of(first)
    assert (second.source, second.error) == (f"{path}:3", None)
    assert "line 4: not UTF-8" in error_of(third)
    assert "line 5: not valid JSON" in error_of(fourth)


def test_a_bad_line_of_a_trace_file_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_otlp_json(path, [chat("1"), chat("2")], lines=True)
    path.write_text('{"resourceSp\n' + path.read_text("utf-8"), encoding="utf-8")
    *good, bad = whole(path)
    assert [record.error for record in good] == [None, None]
    assert "line 1" in error_of(bad)


def test_one_trace_that_cannot_be_assembled_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracer_hooks.telemetry import assemble

    def failing(records: Any) -> Any:
        records = list(records)
        if records[0].trace_id == "1" * 32:
            raise ValueError("odd")
        return assemble(records)

    monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
    monkeypatch.setattr("tracer_hooks.datasets._load.assemble", failing)
    write_otlp_json(tmp_path / "x.json", [chat("1"), chat("2")])
    first, second = whole(tmp_path / "x.json")
    assert "1" * 32 in error_of(first)
    assert second.trajectory is not None


def test_an_impossible_value_of_another_instrumentation_counts_as_none_and_spans_of_something_else_are_an_error(
    tmp_path: Path,
) -> None:
    bad = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": "many"}
    write_otlp_json(tmp_path / "1.json", [span("1", **bad)])
    write_otlp_json(tmp_path / "2.json", [span("1", **{"http.method": "GET"})])
    odd, other = whole(tmp_path)
    assert known(odd.trajectory).usage.input_tokens == 0
    assert "none of an agent, model call or tool" in error_of(other)


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.json", "No such file"), ("missing", "No such file"), (".", "holds no file named")]
)
def test_a_path_without_a_file_is_an_error_record(tmp_path: Path, name: str, reason: str) -> None:
    [record] = whole(tmp_path / name)
    assert reason in error_of(record)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_an_error_record(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", WHOWHEN)
    path.chmod(0)
    [record] = whole(path)
    assert "Permission denied" in error_of(record)


# --- format given ---
def test_the_format_may_be_forced(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", WHOWHEN)
    assert whole(path, format="whowhen")[0].error is None
    assert "expected a record of format 'aegis'" in error_of(whole(path, format="aegis")[0])
    assert "'run_id'" in error_of(whole(path, format="trajectory")[0])
    assert "expected OTLP" in error_of(whole(path, format="otlp")[0])


def test_an_unknown_format_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="'csv', expected one of auto, trajectory, whowhen, aegis, agentrx, trail, otlp"
    ):
        load(tmp_path, format="csv")  # type: ignore[arg-type]
    assert FORMATS == ("auto", "trajectory", "whowhen", "aegis", "agentrx", "trail", "otlp")


# --- the real files ---
SHARED = os.environ.get("TRACER_HOOKS_SHARED_DATA")


@pytest.mark.skipif(SHARED is None, reason="TRACER_HOOKS_SHARED_DATA names no folder with the data sets")
class TestRealFiles:
    def folder(self, *parts: str) -> Path:
        return Path(SHARED or "", *parts)

    @pytest.mark.parametrize("part", ["Algorithm-Generated", "Hand-Crafted"])
    def test_whowhen(self, part: str) -> None:
        records = whole(self.folder("whowhen-dev", part))
        assert len(records) == len(list(self.folder("whowhen-dev", part).glob("*.json")))
        for record in records:
            raw = json.loads(Path(record.source).read_text("utf-8"))
            assert record.trajectory is not None
            assert [step.content for step in record.trajectory.steps] == [h["content"] for h in raw["history"]]
            assert record.trajectory.outcome is RunOutcome.FAILED
            assert record.labeled is not None
            assert record.labeled.decisive is not None
            assert str(record.labeled.decisive.step) == raw["mistake_step"]
            assert record.labeled.decisive.agent == raw["mistake_agent"]

    def test_aegis(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRACER_HOOKS_MAX_FILE_MB", "1024")
        records = whole(self.folder("aegis"))
        assert len(records) == 7848
        assert all(record.labeled is not None and record.labeled.faults for record in records)
        assert all(fault.error_mode for r in records if r.labeled for fault in r.labeled.faults)

    def test_tau2(self) -> None:
        outcomes = [record.trajectory and record.trajectory.outcome for record in whole(self.folder("tau2"))]
        assert (outcomes.count(RunOutcome.SUCCEEDED), outcomes.count(RunOutcome.FAILED)) == (219, 110)
