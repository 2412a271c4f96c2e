"""The audit of diagnoses: true claims pass, false ones are found, and what it cannot read is counted apart."""

import importlib
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tracer_hooks.schema import (
    Attribution,
    Candidate,
    Evidence,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
)

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
evaluate = importlib.import_module("_audit_text").evaluate
_AUDIT = importlib.import_module("evidence_audit")
sys.path.remove(str(BENCHMARKS))
Verdict, audit = _AUDIT.Verdict, _AUDIT.audit

TASK = "What do 3 nights at 120 EUR and 2 lunches at 55 EUR cost in all, for Ada and Ben?"
RUN = Trajectory(
    run_id="r",
    task=TASK,
    outcome=RunOutcome.FAILED,
    final_output="The trip costs 430 EUR.",
    steps=(
        Step(
            index=0,
            agent="scout",
            kind=StepKind.TOOL_CALL,
            content="I will look the prices up.",
            tool_calls=(ToolCall(name="prices", arguments={"city": "Rome"}, result='{"night": 120, "lunch": 55}'),),
        ),
        Step(index=1, agent="scout", content="The night price is 210 EUR. Rooms, lunches, taxes and tips are extra."),
        Step(
            index=2,
            agent="accountant",
            content="3 * 120 EUR + 2 * 55 EUR = 430 EUR. It might be less.\n```python\nprint(430)\n```",
            inputs=(StepInput(source="scout", step=1),),
        ),
        Step(index=3, agent="Computer_terminal", content="exitcode: 1 (execution failed)\nNameError: no name"),
        Step(index=4, agent="writer", content="Rooms, lunches and tips. The trip costs 430 EUR."),
    ),
)


def verdict(step: int, why: str, quote: str = "") -> object:
    entry = Evidence(step=step, why=why, quote=quote)
    found = audit(RUN, diagnosis(entry))
    worst = [one for one in found if one.verdict is not Verdict.TRUE]
    return worst[0].verdict if worst else Verdict.TRUE


def diagnosis(*evidence: Evidence, confidence: float = 0.2) -> Attribution:
    agent = RUN.steps[2].agent
    candidates = (Candidate(agent=agent, step=2, score=confidence),)
    return Attribution(run_id="r", agent=agent, step=2, confidence=confidence, candidates=candidates, evidence=evidence)


RETURNED = "'scout' says '210', but 'prices' returned '{}' in step 0."
NEW = "'accountant' is the first to say the answer '{}', in step 2; no tool or person gave it before."
WORKED = "'accountant' works out the answer '{}' in step 2: 3 * 120 + 2 * 55."
FIRST = "The answer '{}' first stands in what '{}' returned in step {}."
BROKEN = "The run breaks off at the words of '{}' in step {}; no agent takes them up."
BY_HAND = "'{}' says in step {} '{}', and its step has no tool call and no code."
LEFT_OUT = "'writer' leaves out '{}', which step 1 lists with the others."
GAVE_UP = "'{}' gave up in its last words."
TRUE_AND_FALSE = [
    (2, "3 * 120 EUR + 2 * 55 EUR is 470 EUR, not 430 EUR.", "3 * 120 EUR + 2 * 55 EUR is 480 EUR, not 430 EUR."),
    (1, RETURNED.format(120), RETURNED.format(121)),
    (1, RETURNED.format(120), RETURNED.format(55)),
    (2, NEW.format("430"), NEW.format("120")),
    (4, LEFT_OUT.format("taxes"), LEFT_OUT.format("tips")),
    (2, WORKED.format(430), WORKED.format(431)),
    (0, FIRST.format("55", "prices", 0), FIRST.format("430", "x", 4)),
    (4, BY_HAND.format("writer", 4, "Rooms, lunches"), BY_HAND.format("accountant", 2, "It might be less")),
    (4, BROKEN.format("writer", 4), BROKEN.format("scout", 1)),
]  # fmt: skip


@pytest.mark.parametrize(("step", "true", "false"), TRUE_AND_FALSE)
def test_true_claims_pass_and_false_ones_are_found(step, true, false) -> None:
    assert verdict(step, true) is Verdict.TRUE
    assert verdict(step, false) in (Verdict.FALSE, Verdict.UNCHECKED)


@pytest.mark.parametrize("quote", ["430 USD", "```", "= ", "```python"])
def test_a_quote_stands_in_the_step_and_can_be_read(quote: str) -> None:
    expected = Verdict.FALSE
    assert verdict(2, WORKED.format(430), quote) is expected
    assert verdict(2, WORKED.format(430), "It might be less.") is Verdict.TRUE
    twice = [Evidence(step=2, why=WORKED.format(430), quote="It might be less.")] * 2
    assert [one.fault for one in audit(RUN, diagnosis(*twice)) if one.fault] == ["the same quote twice"]


@pytest.mark.parametrize(
    ("step", "why", "expected"),
    [
        (2, "The moon is full.", Verdict.UNCHECKED),
        (2, f"{NEW.format(430)} {NEW.format(120)}", Verdict.FALSE),
    ],
)
def test_sentences_are_judged_one_by_one(step: int, why: str, expected: object) -> None:
    assert verdict(step, why) is expected


def test_advice_names_what_is_in_the_run_and_is_no_surer_than_the_heading() -> None:
    sure = diagnosis(confidence=0.7)
    assert not any(one.fault for one in audit(RUN, sure, advice="Have 'accountant' count again."))
    assert any(one.fault for one in audit(RUN, sure, advice="Have 'stranger' count again."))
    assert any(one.fault for one in audit(RUN, diagnosis(), advice="Have 'accountant' count again."))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 * 120 EUR + 2 * 55 EUR", 470),
        ("24 - 2(4)", 16),
        ("15% of 300", 45),
        ("(2 + 3) * 4 / 8", Fraction(5, 2)),
        ("2 +", None),
    ],
)
def test_the_evaluator(text, value) -> None:
    assert evaluate(text) == value


PLANNED = Trajectory(
    run_id="planned",
    task="Hugo saves 6 EUR in each of 4 weeks and spends 3 EUR.",
    outcome=RunOutcome.FAILED,
    final_output="27",
    steps=(
        Step(index=0, agent="planner", content="(4 * 6) + (3)"),
        Step(index=1, agent="solver", content="24 + 3 = 27"),
        Step(index=2, agent="checker", content="27"),
    ),
)


ASKED = "'planner' asks for '(4 * 6) + (3)'"
WORKED_OUT = ASKED + ", and that gives the rejected answer, 27; '{}' works it out without an error in step 1."


@pytest.mark.parametrize(
    ("step", "claim", "true", "false"),
    [
        (0, ASKED + ", and that gives the rejected answer, {}.", "27", "28"),
        (0, WORKED_OUT, "solver", "checker"),
    ],
)
def test_claims_of_planned_calculations(step, claim, true, false) -> None:
    def worst(why):
        answer = Attribution(
            run_id="planned",
            agent=PLANNED.steps[step].agent,
            step=step,
            confidence=0.2,
            candidates=(Candidate(agent=PLANNED.steps[step].agent, step=step, score=0.2),),
            evidence=(Evidence(step=step, why=why, quote=""),),
        )
        return {one.verdict for one in audit(PLANNED, answer)}

    assert worst(claim.format(true)) == {Verdict.TRUE}
    assert Verdict.FALSE in worst(claim.format(false))
