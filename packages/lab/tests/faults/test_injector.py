"""One fault goes into one step of one run, once, at the agent's act, whatever supplies the reply."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tracer_hooks.errors import FaultError
from tracer_hooks.frameworks import Intervention, Interventions, ModelRequest, RecordReplies
from tracer_hooks.schema import ErrorMode
from tracer_hooks.telemetry import ChatReply, message_text, text_message
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_lab.faults import Corruption, FaultContext, FaultInjector, FaultSpec, FaultStrategy, instructions_for

from ._runs import PIPELINE, SOLVED, TICKETS
from ._team import CHECK, NOTE, PLAN, RULES, run

MODE = ErrorMode.FM_2_6


@pytest.fixture
def llm() -> Iterator[ScriptedLLM]:
    with ScriptedLLM(rules=RULES) as server:
        yield server


def corruption(**fields: Any) -> FaultSpec:
    strategy = FaultStrategy.RESPONSE_CORRUPTION
    return FaultSpec(**{"strategy": strategy, "mode": MODE, "kind": "other_conclusion", "step": 3, **fields})


def prompt(**fields: Any) -> FaultSpec:
    return FaultSpec(**{"strategy": FaultStrategy.PROMPT_INJECTION, "mode": MODE, "step": 3, **fields})


def request(agent: str, step: int | None, *texts: str) -> ModelRequest:
    messages = [text_message("system", f"You are the {agent}."), *(text_message("user", text) for text in texts)]
    return ModelRequest(agent=agent, messages=tuple(messages), step=step)


def test_one_reply_of_one_agent_is_changed_and_the_rest_left(llm: ScriptedLLM) -> None:
    injector = FaultInjector(corruption(agent="solver"))
    trajectory = run(llm, injector).trajectory
    contents = [step.content for step in trajectory.steps]
    assert (contents[0], contents[1], contents[2], contents[4]) == (PLAN, NOTE, "", CHECK)
    assert contents[3] != SOLVED
    assert contents[3].rpartition("ANSWER: ")[0] == SOLVED.rpartition("ANSWER: ")[0]
    applied = injector.applied
    assert (applied.step, applied.agent, applied.mode, applied.kind) == (3, "solver", MODE, "other_conclusion")
    assert (applied.before, applied.after) == (SOLVED, contents[3])
    assert contents[3] in llm.requests[-1].text  # the checker was shown it


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4])
def test_every_position_can_be_hit_the_first_one_included(llm: ScriptedLLM, step: int) -> None:
    clean = run(llm).trajectory
    spec = corruption(step=step, kind=None, writer="llm")
    if step == 2:  # a bare tool call
        spec = corruption(step=step, kind="calls_with_another_value")
    injector = FaultInjector(spec, trajectory=clean, writer=CountingWriter())
    faulty = run(llm, injector).trajectory
    assert injector.applied.step == step
    assert injector.applied.agent == clean.steps[step].agent == faulty.steps[step].agent
    assert [s.content for s in faulty.steps[:step]] == [s.content for s in clean.steps[:step]]
    if step == 2:
        (call,) = faulty.steps[step].tool_calls
        assert call.arguments["count"] != 3  # type: ignore[call-overload]
        assert call.result.endswith(f" for {call.arguments['count']}"), "the tool got what was changed"  # type: ignore[call-overload]
    else:
        assert faulty.steps[step].content != clean.steps[step].content


@pytest.mark.parametrize("strategy", FaultStrategy)
def test_only_a_corrupted_reply_holds_streams_back(strategy: FaultStrategy) -> None:
    kind = {"tool": "error", "channel": "dropped"}.get(strategy.value)
    spec = FaultSpec(strategy=strategy, mode=MODE if kind is None else None, step=3, kind=kind)
    assert FaultInjector(spec).changes_replies == (strategy is FaultStrategy.RESPONSE_CORRUPTION)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"step": 0}, "no mutator 'other_conclusion' of FM-2.6 fits the reply of 'planner' at step 0"),
        ({"agent": "checker"}, "None"),  # step 3 is the solver's
    ],
)
def test_a_fault_that_does_not_fit_leaves_the_run_alone_and_says_why(llm, fields: dict[str, Any], problem: str) -> None:
    injector = FaultInjector(corruption(**fields))
    assert [step.content for step in run(llm, injector).trajectory.steps] == [PLAN, NOTE, "", SOLVED, CHECK]
    assert injector.applied is None
    assert problem in str(injector.problem)


def test_a_reply_that_another_intervention_supplies_is_changed_too(llm: ScriptedLLM) -> None:
    class Tape(Intervention):
        def before_model(self, request: ModelRequest) -> ChatReply | None:
            return ChatReply(content="2 x 21 is 42, so there it is.\nANSWER: 42") if request.step == 0 else None

    injector = FaultInjector(corruption(step=0))
    content = run(llm, Interventions([Tape(), injector])).trajectory.steps[0].content
    assert content.startswith("2 x 21 is 42, so there it is.\nANSWER: ")
    assert not content.endswith("42")
    assert injector.applied is not None
    assert not any(asked.is_from("planner") for asked in llm.requests)


def test_a_step_asked_again_gets_the_same_reply_and_no_second_fault() -> None:
    writer = CountingWriter()
    injector = FaultInjector(FaultSpec(strategy="response_corruption", mode=MODE, step=3, writer="llm"), writer=writer)  # type: ignore[arg-type]
    asked = request("solver", 3, TICKETS)
    first = injector.after_model(asked, ChatReply(content="one", response_id="r-1", model="m"))
    again = injector.after_model(asked, ChatReply(content="another"))
    assert first.content == again.content
    assert (first.response_id, first.model) == ("r-1", "m"), "those of the call that was made"
    assert injector.after_model(request("solver", 4, TICKETS), ChatReply(content="one")) is None
    assert writer.calls == 1


def test_parallel_branches_get_one_fault_between_them() -> None:
    writer = CountingWriter()
    spec = FaultSpec(strategy="response_corruption", mode=MODE, writer="llm")  # type: ignore[arg-type]
    injector = FaultInjector(spec, writer=writer, matches=lambda request: True)
    start = threading.Barrier(16)

    def branch(index: int) -> ChatReply | None:
        start.wait()
        return injector.after_model(request(f"a{index}", index, TICKETS), ChatReply(content=f"reply {index}"))

    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(branch, range(16)))
    changed = [index for index, reply in enumerate(replies) if reply is not None]
    assert len(changed) == writer.calls == 1
    assert injector.applied.step == changed[0], "a caller's ``matches`` decides in place of the step"


def test_the_writer_sees_what_was_really_said_before() -> None:
    writer = CountingWriter()
    spec = FaultSpec(strategy="response_corruption", mode=MODE, step=2, writer="llm")  # type: ignore[arg-type]
    injector = FaultInjector(spec, trajectory=PIPELINE, writer=writer)
    injector.after_model(request("planner", 0, TICKETS), ChatReply(content="A live plan."))
    injector.after_model(request("solver", 2, TICKETS, "A live plan."), ChatReply(content="42"))
    context = writer.contexts[0]
    assert [(u.agent, u.text) for u in context.history if u.text] == [
        ("planner", "A live plan."),
        ("price", "25.00 EUR a ticket, 75.00 EUR for 3"),  # from the recorded run: it was not seen live
    ]
    assert (context.task, context.agent, context.step) == (TICKETS, "solver", 2)
    assert context.instructions == "You are the solver."
    assert [spec.name for spec in context.roster] == ["planner", "solver", "checker"]
    assert context.reply.content == "42"
    instruct = FaultSpec(strategy="prompt_injection", mode=MODE, step=2, writer="llm")  # type: ignore[arg-type]
    FaultInjector(instruct, trajectory=PIPELINE, writer=writer).before_model(request("solver", 2, TICKETS))
    assert writer.contexts[-1].reply.content == SOLVED, "that of the recorded run"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (corruption(step=None), "has no step"),
        (FaultSpec(strategy="tool"), "has no step"),  # type: ignore[arg-type]
        (FaultSpec(strategy="response_corruption", mode=MODE, step=1, writer="llm"), "expected writer=LLMWriter"),  # type: ignore[arg-type]
    ],
)
def test_a_spec_that_leaves_open_where_or_who_is_refused(spec: FaultSpec, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        FaultInjector(spec)


def test_an_instruction_goes_into_one_request_and_not_into_the_record(llm: ScriptedLLM) -> None:
    record = RecordReplies()
    injector = FaultInjector(prompt())
    trajectory = run(llm, Interventions([injector, record])).trajectory
    systems = [asked.system for asked in llm.requests]
    told = [system for system in systems if system != f"You are the {system.split()[3].rstrip('.')}."]
    assert len(told) == 1
    said = told[0].removeprefix("You are the solver.\n\n")
    assert said in instructions_for(MODE)
    assert systems.index(told[0]) == 3
    assert (injector.applied.kind, injector.applied.agent) == ("instruction", "solver")
    assert (injector.applied.before, injector.applied.after) == ("You are the solver.", told[0])
    assert said not in trajectory.model_dump_json()


def test_a_changed_request_is_covert_and_a_model_without_system_message_gets_it_in_the_first() -> None:
    injector = FaultInjector(prompt(step=0))
    asked = ModelRequest(agent="solo", messages=(text_message("user", "What?"),), step=0)
    changed = injector.before_model(asked)
    assert changed.covert
    assert message_text(changed.messages[0]).startswith("What?\n\n")
    assert injector.before_model(asked) == changed  # asked again
    assert injector.before_model(request("solo", 1, "What?")) is None


class CountingWriter:
    """Writes something else each time, and keeps what it was given."""

    def __init__(self) -> None:
        self.calls = 0
        self.contexts: list[FaultContext] = []

    def corrupt(self, spec: FaultSpec, context: FaultContext) -> Corruption:
        self.calls += 1
        self.contexts.append(context)
        return Corruption(reply=ChatReply(content=f"version {self.calls}"), kind="llm")

    def instruct(self, spec: FaultSpec, context: FaultContext) -> str:
        self.contexts.append(context)
        return "Be brief."
