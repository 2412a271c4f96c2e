"""Secrets are planted wherever a run can hold one, and looked for in everything that is written or sent."""

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import tracer_hooks
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.diagnosis import JudgeAttributor, JudgeOptions
from tracer_hooks.errors import ReplayError
from tracer_hooks.store import RunStore
from tracer_hooks.telemetry import OTLPFileExporter
from tracer_hooks.telemetry._capture import release_logs

from ._planting import FULL, OFF, REDACTED, SECRETS, NosyJudge, Planted, command, logged, unpacked


@dataclass(frozen=True)
class Setting:
    """One way to run a team."""

    record: ContentCapture
    export: ContentCapture
    raises: str
    retries: int
    kind: str
    openinference: bool


modes = st.sampled_from([(REDACTED, OFF), (REDACTED, REDACTED), (OFF, OFF)])
ways = st.builds(
    lambda modes, **rest: Setting(record=modes[0], export=modes[1], **rest),
    modes,
    raises=st.sampled_from(["nothing", "tool", "model", "agent", "check", "expected", "on_failure", "cause", "group"]),
    retries=st.sampled_from([0, 1]),
    kind=st.sampled_from(sorted(SECRETS)),
    openinference=st.booleans(),
)


def team_of(  # noqa: C901 - each branch is a place that a secret can be in
    plant: Planted, way: Setting, folder: Path, provider: TracerProvider, judge: NosyJudge
) -> Any:
    """A hooked team whose every text holds something planted."""

    @tracer_hooks.tool
    def lookup(query: str, options: dict[str, Any], *, extra: str = "") -> dict[str, Any]:
        if way.raises == "tool":
            raise ValueError(f"cannot connect {plant('tool exception')}") from KeyError(plant("tool exception's cause"))
        return {"a": plant("tool result"), plant("key of a tool result"): [{"x": [plant("deep in a tool result")]}]}

    @tracer_hooks.model(name="scripted")
    def ask(messages: list[dict[str, str]]) -> str:
        if way.raises == "model":
            error = RuntimeError(f"401 {plant('model exception')}")
            error.add_note(plant("note of an exception"))
            raise error
        return f"no {plant('reply')}"

    @tracer_hooks.agent(instructions=f"told {plant('instructions')}")
    def clerk(task: str) -> str:
        lookup(
            plant("tool argument"), {"k": plant("nested argument"), plant("argument's key"): 1}, extra=plant("keyword")
        )
        if way.raises == "agent":
            raise LookupError(plant("agent exception"))
        if way.raises == "cause":
            try:
                raise OSError(plant("context of an exception"))
            except OSError:
                raise LookupError(plant("exception in a handler")) from ValueError(plant("given cause"))
        if way.raises == "group":
            raise ExceptionGroup(plant("group"), [ValueError(plant("member of a group"))])
        system = {"role": "system", "content": plant("system message")}
        return ask([system, {"role": "user", "content": plant("user message")}])

    def check(result: Any, task: str) -> Any:
        if way.raises == "check":
            raise AssertionError(plant("assertion of the check"))
        return tracer_hooks.Verdict(
            passed=False, reason=f"wrong {plant('reason')}", score=0.1, feedback=f"mind {plant('feedback')}"
        )

    def expected(task: str) -> str:
        if way.raises == "expected":
            raise KeyError(plant("exception of expected"))
        return f"exp {plant('expected answer')}"

    def on_failure(run: Any) -> None:
        if way.raises == "on_failure":
            raise RuntimeError(plant("exception of a callback"))

    options = JudgeOptions(model="nosy", cache_dir=folder / "replies")
    return tracer_hooks.hook(
        check=check if way.raises != "expected" else None,
        expected=expected,
        on_failure=on_failure,
        retries=way.retries,
        tracer_provider=provider,
        capture=CaptureConfig(export=way.export, record=way.record, openinference=way.openinference),
        store=folder / "store" / "runs.sqlite",
        attributor=JudgeAttributor(options, model=judge) if way.retries else "structural",
    )(lambda task: clerk(task))


@settings(
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # the settings are few, and each example is several runs
)
@given(way=ways)
def test_nothing_that_was_planted_is_written_or_sent(way: Setting) -> None:
    release_logs()
    plant = Planted(way.kind, are_secrets=way.record is REDACTED)
    judge = NosyJudge()
    no_env = mock.patch.dict("os.environ", {"TRACER_HOOKS_STRICT": "0", "TRACER_HOOKS_RECORD": str(way.record)})
    with tempfile.TemporaryDirectory() as name, logged() as lines, no_env:
        folder = Path(name)
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(OTLPFileExporter(folder / "spans.jsonl")))
        team = team_of(plant, way, folder, provider, judge)
        with suppress(ValueError, RuntimeError, LookupError, ExceptionGroup):
            team(f"do {plant('task')}")
        run = tracer_hooks.last_run(team)
        run.report(folder / "report.html")
        provider.shutdown()
        store = folder / "store" / "runs.sqlite"
        told = {
            "a trajectory": run.trajectory.model_dump_json().encode(),
            "a judge's prompt": repr(judge.asked).encode(),
        }
        told["the answer"] = run.attribution.model_dump_json().encode() if run.attribution is not None else b""
        told["the tables"] = unpacked(store)
        told["the log"] = lines.getvalue().encode()
        files = {f"the file {path.name}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert len(plant.places) >= 4, "else nothing was looked at"
        assert b"lookup" in told["the tables"]
        with pytest.raises(ReplayError):
            _ = run.tape
    leaks = [leak for where, data in (told | files).items() for leak in plant.found_in(where, data)]
    assert leaks == []


@pytest.mark.parametrize("record", [REDACTED, OFF])
def test_no_command_shows_what_was_planted(record: ContentCapture, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    way = Setting(record=record, export=OFF, raises="cause", retries=1, kind="key", openinference=False)
    plant, provider = Planted("key", are_secrets=record is REDACTED), TracerProvider()
    with pytest.raises(LookupError):
        team_of(plant, way, tmp_path, provider, NosyJudge())(f"do {plant('task')}")
    store = tmp_path / "store" / "runs.sqlite"
    with RunStore(store, read_only=True) as runs:
        run_id = runs.list()[0].run_id
    said = [command("runs", "list", "--store", store), command("runs", "list", "--json", "--store", store)]
    said += [
        command("runs", "show", run_id, "--store", store),
        command("runs", "show", run_id, "--json", "--store", store),
    ]
    for form in ("html", "otlp", "trajectory"):
        said.append(command("runs", "export", run_id, "--format", form, "--store", store))
    said.append(command("diagnose", run_id, "--attributor", "structural", "--json"))
    assert all(said)
    assert plant.found_in("what the commands print", b"\n".join(said)) == []


def test_with_full_content_everything_is_there_so_that_the_search_above_can_find_it() -> None:
    way = Setting(record=FULL, export=FULL, raises="nothing", retries=1, kind="key", openinference=True)
    plant, judge = Planted("key", are_secrets=True), NosyJudge()
    with tempfile.TemporaryDirectory() as name, mock.patch.dict("os.environ", {"TRACER_HOOKS_STRICT": "0"}):
        folder = Path(name)
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(OTLPFileExporter(folder / "spans.jsonl")))
        team = team_of(plant, way, folder, provider, judge)
        team(f"do {plant('task')}")
        provider.shutdown()
        written = unpacked(folder / "store" / "runs.sqlite") + repr(judge.asked).encode()
        found = {
            place.partition(":")[0] for place in plant.found_in("", written + (folder / "spans.jsonl").read_bytes())
        }
    assert found >= {
        "task", "instructions", "tool argument", "argument's key", "nested argument", "keyword", "tool result",
        "key of a tool result", "deep in a tool result", "system message", "user message", "reply", "reason",
        "expected answer",
    }  # fmt: skip


def test_what_is_imported_passes_the_gate_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = Planted("key", are_secrets=True)

    @tracer_hooks.hook(store=tmp_path / "first.sqlite", expected=plant("expected answer"))
    @tracer_hooks.agent
    def office(task: str) -> str:
        return f"no {plant('reply')}"

    office(plant("task"))
    exported = tmp_path / "run.json"
    run_id = tracer_hooks.last_run(office).trajectory.run_id
    command("runs", "export", run_id, "--format", "trajectory", "--out", exported, "--store", tmp_path / "first.sqlite")
    assert plant.found_in("the file", exported.read_bytes())
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "redacted")
    command("runs", "import", exported, "--store", tmp_path / "second.sqlite")
    tables = unpacked(tmp_path / "second.sqlite")
    assert run_id.encode() in tables
    assert plant.found_in("the second store", tables) == []
