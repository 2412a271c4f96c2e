"""The advice fits what was found."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.report._diagnosis import suggestion
from tracer_hooks.schema import (
    Attribution,
    ErrorMode,
    Evidence,
    RunOutcome,
    Step,
    StepKind,
    ToolCall,
    Trajectory,
)


def found(
    mode: ErrorMode, *, confidence: float = 0.7, spread: tuple[Evidence, ...] = (), **evidence: Any
) -> Attribution:
    return Attribution(
        run_id="r",
        agent="scout",
        step=0,
        error_mode=mode,
        confidence=confidence,
        evidence=(Evidence(step=0, **evidence),),
        spread=spread,
    )


def run(*calls: ToolCall, framework: str = "python", **fields: Any) -> Trajectory:
    step = Step(index=0, agent="scout", kind=StepKind.TOOL_CALL if calls else StepKind.MESSAGE, tool_calls=calls)
    return Trajectory(run_id="r", framework=framework, steps=(step,), outcome=RunOutcome.FAILED, **fields)


def test_a_wrong_sum_is_about_calculating() -> None:
    said = found(ErrorMode.FM_2_6, quote="3 x 120 = 350", why="3 x 120 is 360, not 350.", kind="value")
    assert suggestion(said, run()) == (
        "Have 'scout' write out and recompute this calculation, or give it a calculator tool."
    )


def test_a_failed_tool_and_its_error_are_named() -> None:
    trajectory = run(ToolCall(name="price_of", error="HTTP 503"))
    said = found(ErrorMode.FM_2_2, quote="HTTP 503", why="The tool 'price_of' failed.", kind="error")
    assert suggestion(said, trajectory) == (
        "'price_of' failed with 'HTTP 503': make the tool retry, or tell 'scout' what to do without it."
    )
    soft = run(ToolCall(name="price_of", result="Error: HTTP 503"))
    told = suggestion(found(ErrorMode.FM_2_2, quote="Error: HTTP 503", why="It failed.", kind="error"), soft)
    assert told.startswith("'price_of' failed with 'Error: HTTP 503'")


def test_refused_arguments_are_told_from_an_outage() -> None:
    trajectory = run(ToolCall(name="price_of", error="TypeError: missing 'item'"))
    said = found(ErrorMode.FM_2_6, quote="TypeError", why="The tool 'price_of' failed.", kind="error")
    assert "refused its arguments" in suggestion(said, trajectory)


def test_of_several_calls_the_one_that_failed_is_named() -> None:
    trajectory = run(ToolCall(name="weather", result="12"), ToolCall(name="price_of", error="HTTP 503"))
    said = found(ErrorMode.FM_2_2, quote="HTTP 503", why="The tool 'price_of' failed.", kind="error")
    assert suggestion(said, trajectory).startswith("'price_of' failed")


def test_an_error_that_was_passed_over_is_to_be_said() -> None:
    said = found(ErrorMode.FM_2_5, quote="HTTP 503", why="It goes on after an error.", kind="error")
    assert suggestion(said, run()) == (
        "Tell 'scout' to say so when a tool failed, and not to go on as if it had answered."
    )
    assert suggestion(said, None) == suggestion(said, run())


def test_an_error_without_a_tool_or_a_printed_line_is_answered_by_its_mode() -> None:
    said = found(ErrorMode.FM_3_2, quote="x + 1", why="Its code failed.", kind="error")
    assert suggestion(said, run()) == "Add a check of what 'scout' hands on, by a tool or by a second agent."


@pytest.mark.parametrize("mode", [ErrorMode.FM_1_4, ErrorMode.FM_2_4])
def test_a_value_that_got_lost_is_to_be_passed_on(mode: ErrorMode) -> None:
    said = found(mode, quote="Two rooms.", why="It leaves 430 EUR out.", kind="value")
    assert suggestion(said, run()) == (
        "Have 'scout' pass on every value that it was given, in a fixed form, and leave none out."
    )


def test_code_that_failed_is_told_with_the_error_that_was_printed() -> None:
    printed = Evidence(step=1, quote="NameError: name 'x' is not defined", why="It reports an error.", kind="error")
    said = found(ErrorMode.FM_3_2, quote="x + 1", why="Its code failed.", kind="error", spread=(printed,))
    assert "NameError: name 'x' is not defined" in suggestion(said, run())


def test_a_contradiction_names_the_tool_that_was_misread() -> None:
    trajectory = run(ToolCall(name="weather", result="12"))
    said = found(ErrorMode.FM_2_6, quote="21", why="It says 21; the tool 'weather' returned 12.", kind="contradiction")
    assert suggestion(said, trajectory) == "Have 'scout' copy values word for word from the reply of 'weather'."


def test_a_value_without_a_source_is_named() -> None:
    said = found(ErrorMode.FM_3_2, quote="It costs 430 EUR.", why="It is the first to say '430'.", kind="value")
    assert suggestion(said, run()) == (
        "Have 'scout' say where 430 comes from, and compare it with its source before it hands it on."
    )


def test_weak_advice_says_that_it_may_be_another_step() -> None:
    sign = found(ErrorMode.FM_1_1, confidence=0.1, quote="x", why="It says x.", kind="sign")
    assert suggestion(sign, run()).startswith("Read these places first.")
    value = found(ErrorMode.FM_3_2, confidence=0.1, quote="It costs 430 EUR.", why="It says '430'.", kind="value")
    assert suggestion(value, run()).startswith("If it is step 0: Have 'scout'")


@pytest.mark.parametrize(
    ("trajectory", "ours"),
    [
        (run(framework="langgraph"), True),
        (run(framework="whowhen"), False),
        (run(framework="crewai", trace_id="r"), False),
        (None, True),
    ],
)
def test_only_our_own_recordings_are_told_our_own_switch(trajectory: Trajectory | None, ours: bool) -> None:
    blank = Attribution(run_id="r", abstained=True, abstained_reason="trace too incomplete")
    assert ("TRACER_HOOKS_RECORD" in suggestion(blank, trajectory)) is ours


@pytest.mark.parametrize(
    ("scope", "told", "not_told"),
    [
        ("openinference.instrumentation.langchain", "OPENINFERENCE_HIDE_OUTPUTS", "TRACELOOP"),
        ("opentelemetry.instrumentation.crewai", "TRACELOOP_TRACE_CONTENT=true", "OPENINFERENCE"),
        ("opentelemetry.util.genai.handler", "GENAI_CAPTURE_MESSAGE_CONTENT", "TRACELOOP"),
        ("somebody's own", "GENAI_CAPTURE_MESSAGE_CONTENT", "TRACER_HOOKS"),
    ],
)
def test_a_foreign_trace_without_texts_is_told_the_switch_of_its_own_library(
    scope: str, told: str, not_told: str
) -> None:
    blank = Attribution(run_id="r", abstained=True, abstained_reason="trace too incomplete")
    said = suggestion(blank, run(framework="langgraph", trace_id="r", instrumentation=scope))
    assert told in said
    assert not_told not in said
    assert "TRACER_HOOKS" not in said


def test_a_run_that_nobody_says_to_have_failed_is_answered_with_how_to_say_it() -> None:
    nothing = Attribution(run_id="r", abstained=True, abstained_reason="no sign of failure")
    unknown = run().model_copy(update={"outcome": RunOutcome.UNKNOWN})
    assert "--failed" in suggestion(nothing, unknown)
    assert "--failed" not in suggestion(nothing, unknown.model_copy(update={"outcome": RunOutcome.FAILED}))
