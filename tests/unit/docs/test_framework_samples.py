"""The samples for AutoGen, CrewAI and LangGraph run on the real framework, against a scripted model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tracer_hooks.testing import ScriptedLLM, When

from ._pages import ROOT, Block, blocks

SHOW = """
for attempt in tracer_hooks.last_run({name}).attempts:
    print(attempt.number, attempt.outcome, attempt.attribution and attempt.attribution.agent)
print(tracer_hooks.last_run({name}).repair.stopped)
"""


def sample(page: str, framework: str) -> Block:
    """The block of the page that imports ``framework``."""
    found = [block for block in blocks(ROOT / "docs" / page) if f"from {framework}" in block.text]
    assert len(found) == 1
    assert not found[0].runs
    return found[0]


@pytest.mark.filterwarnings("ignore:Resolved model mismatch")  # the scripted server says the name that it is asked for
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # clients that live as long as their team
@pytest.mark.parametrize("page", ["quickstart.md", "guides/repair.md"])
@pytest.mark.parametrize(
    ("framework", "name", "agents"),
    [("autogen_agentchat", "team", 2), ("crewai", "crew", 1), ("langchain", "graph", 1)],
)
def test_the_sample_fails_is_tried_again_and_passes(
    page: str,
    framework: str,
    name: str,
    agents: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    # Wrong in the first run, right from then on: whatever the search tries first, it passes.
    rules = [When().then(*["The answer is 41."] * agents, "The answer is 42.")]
    with ScriptedLLM(rules=rules) as llm:
        for variable, value in llm.env().items():
            monkeypatch.setenv(variable, value)
        exec(compile(sample(page, framework).text + SHOW.format(name=name), page, "exec"), {"__name__": "__main__"})
    first, *attempts, stopped = capsys.readouterr().out.splitlines()
    assert first.startswith("succeeded")
    assert attempts[0].startswith("1 failed ")
    assert attempts[1:] == ["2 succeeded None"]
    assert stopped == "the run was recovered"
    assert not llm.unmatched
