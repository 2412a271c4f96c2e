"""The adapter's other duties: recognising, describing, instructions, results, versions, watching."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from autogen_agentchat.agents import SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.messages import MultiModalMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import Image
from PIL import Image as Picture

from tracer_hooks.errors import UnsupportedVersionError
from tracer_hooks.frameworks import Adapter, TeamCall, _discovery
from tracer_hooks.testing import observed
from tracer_hooks_autogen import AutoGenAdapter

from ._teams import assistant, replay, texts


@pytest.fixture
def adapter() -> AutoGenAdapter:
    return AutoGenAdapter()


def pair() -> RoundRobinGroupChat:
    return RoundRobinGroupChat([assistant("a", replay("one", "two")), assistant("b", replay("three"))], max_turns=1)


def test_it_is_an_adapter_that_recognises_teams_and_agents(adapter: AutoGenAdapter) -> None:
    assert isinstance(adapter, Adapter)
    assert adapter.recognises(pair())
    assert adapter.recognises(assistant("a", replay()))
    assert adapter.recognises(UserProxyAgent("human"))
    assert not adapter.recognises(replay())
    assert not adapter.recognises(object())


def test_versions(adapter: AutoGenAdapter, monkeypatch: pytest.MonkeyPatch) -> None:
    assert adapter.framework_version() == version("autogen-agentchat")
    monkeypatch.setattr(_discovery, "version", lambda name: "0.9.1")
    _discovery.supported_version.cache_clear()
    try:
        with pytest.raises(UnsupportedVersionError, match=r"'0\.9\.1' is installed, expected .*Run: pip install"):
            adapter.framework_version()
    finally:
        monkeypatch.undo()
        _discovery.supported_version.cache_clear()


def test_describing_a_team_with_teams_inside(adapter: AutoGenAdapter) -> None:
    inner = RoundRobinGroupChat([assistant("expert", replay())])
    society = SocietyOfMindAgent("society", inner, replay(), instruction="Sum up.")
    team = RoundRobinGroupChat([society, assistant("lead", replay(), handoffs=["x"])], name="outer")
    info = adapter.describe(team)
    assert info.name == "outer"
    assert [(a.name, a.instructions, a.tools) for a in info.agents] == [
        ("society", "Sum up.", ()),
        ("expert", "You are the expert.", ()),
        ("lead", "You are the lead.", ("transfer_to_x",)),
    ]


async def test_a_society_of_mind_is_told_by_its_instruction(adapter: AutoGenAdapter) -> None:
    model = replay("done")
    society = SocietyOfMindAgent("society", pair(), model, instruction="Sum up.")
    team = RoundRobinGroupChat([society], max_turns=1)
    patches = adapter.write_instructions(team, {"society": "Be brief."})
    assert patches is not None
    await team.run(task="Go")
    assert model.create_calls[0]["messages"][0].content == "Be brief."
    patches.undo()
    assert society._instruction == "Sum up."


def test_instructions_that_cannot_all_be_written_are_not_written(adapter: AutoGenAdapter) -> None:
    team = RoundRobinGroupChat([assistant("a", replay()), UserProxyAgent("human")])
    assert adapter.write_instructions(team, {"a": "New.", "human": "New."}) is None
    assert team._participants[0]._system_messages[0].content == "You are the a."


async def test_results_of_a_run(adapter: AutoGenAdapter) -> None:
    team = pair()
    task = [TextMessage(content="Background", source="boss"), TextMessage(content="Go", source="boss")]
    call = TeamCall(team=team, method="run", kwargs={"task": task})
    native = await team.run(task=task)
    result = adapter.result(call, native)
    assert result.text == "one"
    assert result.stop_reason == "Maximum number of turns 1 reached."
    assert [(m["role"], m["name"]) for m in result.messages] == [("user", "boss"), ("user", "boss"), ("assistant", "a")]
    assert not result.interrupted


async def test_without_an_answer_the_text_is_empty(adapter: AutoGenAdapter) -> None:
    team = pair()
    native = await team.run(task="Go")
    native.messages = native.messages[:1]
    call = TeamCall(team=team, method="run", kwargs={"task": "Go"})
    assert adapter.result(call, native).text == ""


async def test_a_picture_in_the_task_is_not_kept(adapter: AutoGenAdapter) -> None:
    picture = Image(Picture.new("RGB", (2, 2)))
    client = replay("nice")
    client._model_info["vision"] = True
    team = RoundRobinGroupChat([assistant("a", client)], max_turns=1)
    with observed(team) as seen:
        await team.run(task=MultiModalMessage(content=["What is this?", picture], source="user"))
    assert seen.trajectory.task.startswith("What is this?")
    assert seen.trajectory.steps[0].inputs[0].text == "What is this?"
    assert "base64" not in str([span.attributes for span in seen.spans])


async def test_the_neutral_entry_and_reset(adapter: AutoGenAdapter) -> None:
    team = pair()
    call = adapter.entry(team, "Go")
    assert (await call.on(team)).messages[-1].content == "one"
    await adapter.reset(team)
    assert (await call.on(team)).messages[-1].content == "two"
    agent = assistant("solo", replay("x"))
    await adapter.entry(agent, "Go").on(agent)
    await adapter.reset(agent)
    assert await agent.model_context.get_messages() == []


async def test_watching_for_teams_that_are_about_to_run(adapter: AutoGenAdapter) -> None:
    noticed: list[Any] = []
    before = RoundRobinGroupChat.run_stream
    first, second = adapter.watch(noticed.append), adapter.watch(lambda team: None)
    team = pair()
    await team.run(task="Go")
    assert noticed
    assert all(each is team for each in noticed if not hasattr(each, "on_messages"))
    first.undo()
    noticed.clear()
    await team.run(task="Go")
    assert noticed == []
    second.undo()
    assert RoundRobinGroupChat.run_stream is before


async def test_a_team_that_is_hooked_when_it_is_noticed(adapter: AutoGenAdapter) -> None:
    team = pair()
    entered: list[Any] = []

    def hook(found) -> None:
        if found is team and not entered:
            entered.append(observed(team))
            entered.append(entered[0].__enter__())

    watching = adapter.watch(hook)
    await team.run(task="Go")
    entered[0].__exit__(None, None, None)
    watching.undo()
    assert texts(entered[1].trajectory) == ["one"]


async def test_a_missing_hook_point_disables_that_one_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(
        "autogen_agentchat.teams._group_chat._base_group_chat.BaseGroupChat._create_group_chat_manager_factory"
    )
    monkeypatch.delattr(RoundRobinGroupChat, "_create_group_chat_manager_factory")
    monkeypatch.setattr("tracer_hooks._guard._warned", set())
    monkeypatch.setattr(RoundRobinGroupChat, "__abstractmethods__", frozenset())
    team = pair()
    with observed(team):
        pass
    assert "finds no '_create_group_chat_manager_factory' on AutoGen's RoundRobinGroupChat" in caplog.text
