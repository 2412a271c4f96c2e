"""The secrets of :mod:`test_privacy`, in teams of the frameworks: prompts, tools, hand-offs, streams and exceptions."""

import io
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import tracer_hooks
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.errors import ReplayError
from tracer_hooks.telemetry import OTLPFileExporter
from tracer_hooks.telemetry._capture import release_logs

from ._planted_teams import PLANTED_TEAMS, Play
from ._planting import FULL, OFF, REDACTED, SECRETS, Planted, command, logged, unpacked

OURS = ("tracer_hooks", "tracer_hooks_autogen", "tracer_hooks_crewai", "tracer_hooks_langgraph", "opentelemetry")
"""Loggers whose lines are ours to keep clean: what a framework logs is its own."""


@dataclass(frozen=True)
class Way:
    """One way to run a framework's team."""

    framework: str
    record: ContentCapture
    export: ContentCapture
    raises: str
    how: str
    retries: int
    kind: str
    openinference: bool
    is_global: bool
    """Whether the spans go to the global provider, where the frameworks' own spans go as well."""


def ways_of(framework: str) -> st.SearchStrategy[Way]:
    modes = st.sampled_from([(REDACTED, OFF), (REDACTED, REDACTED), (OFF, OFF)])
    return st.builds(
        lambda modes, **rest: Way(framework, modes[0], modes[1], **rest), modes,
        raises=st.sampled_from(["nothing", "tool", "model", "agent", "check", "expected"]),
        how=st.sampled_from(["run", "arun", "astream"]), retries=st.sampled_from([0, 1]),
        kind=st.sampled_from(sorted(SECRETS)), openinference=st.booleans(), is_global=st.booleans(),
    )  # fmt: skip


@dataclass
class Outcome:
    """Everything that one run left behind, by where it stands."""

    plant: Planted
    told: dict[str, bytes]

    @property
    def leaks(self) -> list[str]:
        return [leak for where, data in self.told.items() for leak in self.plant.found_in(where, data)]

    @property
    def found(self) -> set[str]:
        return {leak.partition(":")[0] for leak in self.leaks}


class OurSpans(SimpleSpanProcessor):
    """Leaves out AutoGen's spans of agents that it makes, which hold their descriptions: they come without us, too."""

    def on_end(self, span: ReadableSpan) -> None:
        if not span.name.startswith("create_agent"):
            super().on_end(span)


def run_of(way: Way, folder: Path, plant: Planted, lines: io.StringIO) -> dict[str, bytes]:
    """Run a team, and gather all that was written and sent."""
    play, planted = Play(plant, way.raises), PLANTED_TEAMS[way.framework]
    provider = TracerProvider()
    provider.add_span_processor(OurSpans(OTLPFileExporter(folder / "spans.jsonl")))

    def check(result: Any, task: str) -> Any:
        if way.raises == "check":
            raise KeyError(plant("exception of the check"))
        return tracer_hooks.Verdict(passed=False, reason=f"wrong {plant('reason')}", feedback=plant("feedback"))

    def expected(task: str) -> str:
        if way.raises == "expected":
            raise KeyError(plant("exception of expected"))
        return f"exp {plant('expected answer')}"

    def build_team() -> Any:
        return planted.build(play)

    team = tracer_hooks.hook(
        check=None if way.raises == "expected" else check,
        expected=expected,
        retries=way.retries,
        retry_streams=True,
        tracer_provider=None if way.is_global else provider,
        capture=CaptureConfig(export=way.export, record=way.record, openinference=way.openinference),
        store=folder / "store" / "runs.sqlite",
        attributor="structural",
    )(build_team)()
    with mock.patch.object(trace, "_TRACER_PROVIDER", provider), suppress(Exception):
        planted.run(team, f"do {plant('task')}", play, way.how)
    run = tracer_hooks.last_run(team)
    assert run.wait(60)
    assert tracer_hooks.flush()
    run.report(folder / "report.html")
    provider.shutdown()
    store = folder / "store" / "runs.sqlite"
    told = {
        "a trajectory": b"\n".join(one.trajectory.model_dump_json().encode() for one in run.attempts),
        "the answer": run.attribution.model_dump_json().encode() if run.attribution is not None else b"",
        "the tables": unpacked(store),
        "the log": lines.getvalue().encode(),
    }
    run_id = run.trajectory.run_id
    for form in ("html", "otlp", "trajectory"):
        told[f"the export {form}"] = command("runs", "export", run_id, "--format", form, "--store", store)
    told["runs show"] = command("runs", "show", run_id, "--store", store)
    told["diagnose"] = command("diagnose", folder / "spans.jsonl", "--format", "otlp", "--json")
    if way.record is not FULL:
        with pytest.raises(ReplayError):
            _ = run.tape
    return told | {f"the file {path.name}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def outcome_of(way: Way) -> Outcome:
    release_logs()
    plant = Planted(way.kind, are_secrets=way.record is not OFF)
    environment = mock.patch.dict("os.environ", {"TRACER_HOOKS_STRICT": "0", "TRACER_HOOKS_RECORD": str(way.record)})
    with tempfile.TemporaryDirectory() as name, logged(*OURS) as lines, environment:
        return Outcome(plant, run_of(way, Path(name), plant, lines))


@pytest.mark.slow
@pytest.mark.parametrize("framework", sorted(PLANTED_TEAMS))
@pytest.mark.timeout(300)
def test_nothing_that_was_planted_in_a_frameworks_team_is_written_or_sent(framework: str) -> None:
    pytest.importorskip(f"tracer_hooks_{framework}")

    @settings(
        max_examples=20,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # the ways are few, and each example is several runs
    )
    @given(way=ways_of(framework))
    def search(way: Way) -> None:
        outcome = outcome_of(way)
        assert len(outcome.plant.places) >= 5, "else nothing was looked at"
        assert b"triage" in outcome.told["the tables"]
        assert b"invoke_agent" in outcome.told["the file spans.jsonl"]
        assert outcome.leaks == []

    search()


@pytest.mark.parametrize("how", ["run", "astream"])
@pytest.mark.parametrize("framework", sorted(PLANTED_TEAMS))
def test_with_full_content_everything_is_there_so_that_the_search_can_find_it(framework: str, how: str) -> None:
    pytest.importorskip(f"tracer_hooks_{framework}")
    way = Way(framework, FULL, FULL, "nothing", how, 1, "key", openinference=True, is_global=True)
    found = outcome_of(way).found
    assert found >= PLANTED_TEAMS[framework].planted | {"reason", "expected answer"}


@pytest.mark.parametrize("framework", sorted(PLANTED_TEAMS))
@pytest.mark.parametrize("raises", ["tool", "model", "agent", "check", "expected"])
def test_with_full_content_exceptions_are_there(framework: str, raises: str) -> None:
    pytest.importorskip(f"tracer_hooks_{framework}")
    if (framework, raises) == ("autogen", "agent"):
        pytest.skip("an AutoGen team has no code of the user's between its agents")
    way = Way(framework, FULL, FULL, raises, "arun", 0, "key", openinference=False, is_global=False)
    assert any("exception" in place for place in outcome_of(way).found)
