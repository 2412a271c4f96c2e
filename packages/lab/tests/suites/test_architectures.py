"""The architectures without a framework: their agents, who acts when, the plain client, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.frameworks import Intervention, ToolRequest
from tracer_hooks.testing import ErrorReply, Garbage, Reply, ScriptedLLM, ToolCallReply, When
from tracer_hooks_lab.teams import ARCHITECTURES, TeamUtterance, blueprint, build_team, roles

NOWHERE = Endpoint(base_url="http://127.0.0.1:1/v1", model="none")


def endpoint(llm: ScriptedLLM) -> Endpoint:
    return Endpoint(base_url=llm.base_url, model="scripted")


def price(item: str, *, count: int = 1) -> str:
    """Look a price up."""
    if count < 1:
        raise ValueError("count must be at least 1")
    return f"{count} of {item} cost {count * 5} EUR"


def course(architecture: str, replies: Mapping[str, Sequence[str]], *, rounds: int | None = None) -> list[str]:
    """Who acts when each agent says its replies one after the other, the last one again and again."""
    plan = blueprint(architecture, NOWHERE, rounds=rounds)
    said: list[TeamUtterance] = []
    while (name := plan.next_agent(said)) is not None:
        texts = replies.get(name, ["Well."])
        before = sum(one.agent == name for one in said)
        said.append(TeamUtterance(name, texts[min(before, len(texts) - 1)]))
        assert len(said) < 50
    return [one.agent for one in said]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_prompt_begins_with_its_agent_and_the_last_agent_is_told_how_to_answer(architecture: str) -> None:
    assert ARCHITECTURES == ("planner_solver_checker", "debate", "sop_pipeline", "supervisor")
    for name, told in roles(architecture).items():
        assert told.startswith(f"You are the {name}")
        assert len(told.split()) < 80
    (last,) = course(architecture, {"supervisor": ["NEXT: specialist", "ANSWER: 1"]})[-1:]
    assert "ANSWER:" in roles(architecture)[last]
    assert "```python" in roles(architecture)[last]
    changed = dict(roles(architecture))
    roles(architecture).clear()  # type: ignore[attr-defined]
    assert roles(architecture) == changed, "roles are a copy"


DEBATERS = ("debater_1", "debater_2", "debater_3")


@pytest.mark.parametrize(
    ("architecture", "replies", "rounds", "expected"),
    [
        *(
            ("planner_solver_checker", {"checker": ["REVISE: no"]}, n, ["planner", *["solver", "checker"] * (n + 1)])
            for n in (0, 1, 3)
        ),
        (
            "supervisor",
            {"supervisor": ["NEXT: researcher", "NEXT: specialist"]},
            2,
            ["supervisor", "researcher", "supervisor", "specialist", "supervisor"],
        ),
        ("debate", {}, 0, [*DEBATERS, "aggregator"]),
        ("debate", {}, 2, [*DEBATERS * 3, "aggregator"]),
    ],
)
def test_a_loop_goes_on_as_often_as_it_may(architecture, replies, rounds, expected) -> None:
    assert course(architecture, replies, rounds=rounds) == expected


class TestChecker:
    @pytest.mark.parametrize(
        ("verdict", "sends_back"),
        [
            ("The sum is wrong.\nREVISE: add the fee", True),
            ("**REVISE:** add the fee", True),
            ("Right.\nANSWER: 42", False),
            ("I would not revise it.", False),
            ("Revised, so fine.", False),
            ("REVISE: nothing.\nANSWER: 42", False),
            ("REVISE: the loop\n```python\nprint(1)\n```", False),
            ("", False),
        ],
    )
    def test_sends_back(self, verdict: str, sends_back: bool) -> None:
        again = ["solver", "checker"] if sends_back else []
        assert course("planner_solver_checker", {"checker": [verdict, "ANSWER: 1"]}) == [
            *("planner", "solver", "checker"),
            *again,
        ]


class TestSupervisor:
    @pytest.mark.parametrize(
        ("order", "worker"),
        [
            ("NEXT: specialist\nAdd them.", "specialist"),
            ("next: Researcher, look it up", "researcher"),
            ("**NEXT:** specialist", "specialist"),
            ("NEXT: nobody\nNEXT: specialist", "specialist"),
            ("The specialist should add them.", "specialist"),
            ("NEXT: researcher\nANSWER: none yet", "researcher"),
            ("ANSWER: 42", "researcher"),  # somebody has to work first
            ("I do not know.", "researcher"),
        ],
    )
    def test_first_order(self, order: str, worker: str) -> None:
        assert course("supervisor", {"supervisor": [order, "ANSWER: 1"]}) == ["supervisor", worker, "supervisor"]

    @pytest.mark.parametrize(
        "last",
        ["ANSWER: 42", "The specialist is right.\nANSWER: 42", "The researcher and the specialist agree.", "Done."],
    )
    def test_ends(self, last: str) -> None:
        spoken = course("supervisor", {"supervisor": ["NEXT: specialist", last]})
        assert spoken == ["supervisor", "specialist", "supervisor"]


@pytest.mark.parametrize(
    ("architecture", "decider"), [("planner_solver_checker", "checker"), ("supervisor", "supervisor")]
)
def test_who_may_not_go_on_is_asked_for_the_final_answer(architecture: str, decider: str) -> None:
    plan = blueprint(architecture, NOWHERE, rounds=1)
    said: list[TeamUtterance] = []
    cues = []
    while (name := plan.next_agent(said)) is not None:
        if name == decider:
            cues.append(plan.prompt(name, "Add.", said).splitlines()[-1])
        said.append(TeamUtterance(name, "REVISE: it\nNEXT: specialist"))
    assert cues == [plan.architecture.cues[decider], plan.architecture.last_cue]


class TestDebate:
    def test_who_sees_what(self) -> None:
        plan = blueprint("debate", NOWHERE)
        said = [TeamUtterance(f"debater_{number}", f"{number}{letter}") for letter in "ab" for number in (1, 2, 3)]
        assert plan.seen_by("debater_2", said[:1]) == []
        assert [one.text for one in plan.seen_by("debater_2", said[:4])] == ["1a", "2a", "3a"]
        assert [one.text for one in plan.seen_by("aggregator", said)] == ["1b", "2b", "3b"]
        assert plan.prompt("debater_2", "Add.", said[:4]) == (
            "Task:\nAdd.\n\nThe debater_1 wrote:\n1a\n\nYou wrote:\n2a\n\nThe debater_3 wrote:\n3a\n\n"
            "Give your own answer, with the reason."
        )


class TestTools:
    def engineer(self, *calls: ToolCallReply) -> tuple[Any, ScriptedLLM]:
        """A run in which the engineer makes these calls, and the model that it asked."""
        asks = When(agent="engineer", where=lambda request: request.messages[-1]["role"] == "user")
        with ScriptedLLM(rules=[asks.then(Reply(tool_calls=calls))], default="ANSWER: 1") as llm:
            team = build_team("sop_pipeline", endpoint(llm), tools=[price])
            return tracer_hooks.run(team, "Buy.", diagnose=False, store="off"), llm

    def test_the_model_is_told_their_parameters(self) -> None:
        _, llm = self.engineer(ToolCallReply("price", {"item": "tea"}))
        (offered,) = llm.requests[2].raw["tools"]
        assert offered["function"]["name"] == "price"
        assert offered["function"]["description"] == "Look a price up."
        parameters = offered["function"]["parameters"]
        assert parameters["required"] == ["item"]
        assert parameters["properties"]["count"]["type"] == "integer"
        assert [bool(request.tools) for request in llm.requests] == [False, False, True, True, False]

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (ToolCallReply("price", {"item": "tea", "count": 0}), "count must be at least 1"),
            (ToolCallReply("price", {"thing": "tea"}), "thing"),
            (ToolCallReply("price", "{item:"), "Error"),
            (ToolCallReply("price", "[1]"), "JSON object"),
            (ToolCallReply("sell", {}), "no tool 'sell'"),
        ],
    )
    def test_a_call_that_fails_is_told_to_the_model(self, call: ToolCallReply, told: str) -> None:
        run, llm = self.engineer(call, ToolCallReply("price", {"item": "salt"}))
        assert run.error is None
        (after,) = [request for request in llm.requests if request.tool_results]
        result, other = after.tool_results
        assert result.startswith("Error")
        assert told in result
        assert other == "1 of salt cost 5 EUR", "of several calls in one reply each is made"
        first = next(call for step in run.trajectory.steps for call in step.tool_calls)
        assert first.name == call.name
        assert first.error is None or told in first.error

    def test_a_replay_that_left_its_tape_is_not_told_to_the_model(self) -> None:
        class Lost(Intervention):
            def before_tool(self, request: ToolRequest) -> None:
                raise ReplayError("left the tape")

        call = When(agent="engineer").then(Reply(tool_calls=[ToolCallReply("price", {"item": "tea"})]))
        with ScriptedLLM(rules=[call], default="ANSWER: 1") as llm:
            team = build_team("sop_pipeline", endpoint(llm), tools=[price])
            run = tracer_hooks.run(team, "Buy.", diagnose=False, store="off", intervention=Lost())
            assert llm.calls == 3
        assert isinstance(run.error, ReplayError)


class TestClient:
    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            (ErrorReply(500, message="out of memory"), "answered 500: .*out of memory"),
            (Garbage("<html>"), "not JSON"),
            (Garbage('{"choices": []}'), "expected a chat completion"),
            (Garbage("[]"), "expected a chat completion"),
        ],
    )
    def test_a_bad_answer_is_an_error_and_is_asked_for_once(self, answer: Any, told: str) -> None:
        with ScriptedLLM(default=answer) as llm:
            with pytest.raises(RuntimeError, match=told):
                build_team("sop_pipeline", endpoint(llm))("Add.")
            assert llm.calls == 1
        with pytest.raises(OSError, match="refused"):
            build_team("sop_pipeline", NOWHERE)("Add.")

    def test_only_what_was_set_is_sent_and_without_a_hook_the_team_is_a_function(self) -> None:
        with ScriptedLLM(default="ANSWER: 1") as llm:
            team = build_team("debate", endpoint(llm), rounds=0)
            assert (team.__name__, team("Add.")) == ("debate", "ANSWER: 1")
            assert {frozenset(request.raw) for request in llm.requests} == {frozenset({"model", "messages"})}


def undocumented(item: str) -> str:
    return item


@pytest.mark.parametrize(
    ("architecture", "options", "told"),
    [
        ("swarm", {}, "'swarm': expected one of planner_solver_checker, debate, sop_pipeline, supervisor"),
        ("debate", {"prompts": {"judge": "x"}}, r"\['judge'\]: the agents of 'debate' are debater_1, .*aggregator"),
        ("debate", {"rounds": -1}, "rounds=-1"),
        ("supervisor", {"rounds": 0}, "at least 1"),
        ("sop_pipeline", {"rounds": 1}, "has no loop"),
        ("debate", {"tools": [price, price]}, "two are named 'price'"),
        ("debate", {"tools": [undocumented]}, "'undocumented' has no docstring"),
    ],
)
def test_what_cannot_be_built_is_refused(architecture: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        build_team(architecture, NOWHERE, **options)
    with pytest.raises(ConfigError, match="'swarm'"):
        roles("swarm")
