import random
import re
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tracer_hooks.attribution import StructuralAttributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback import Rewriter, TemplateRewriter, without_lesson
from tracer_hooks.feedback._lessons import LESSONS
from tracer_hooks.feedback._template_rewriter import BEGIN, END
from tracer_hooks.schema import AgentSpec, Attribution, ErrorMode, Evidence, RunOutcome, Step, Trajectory

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PROMPT = "You are a solver. Reply with the number."


def rewriter(**options: object) -> TemplateRewriter:
    return TemplateRewriter(now=lambda: NOW, **options)


def failed(*contents: str, **fields: object) -> Trajectory:
    return Trajectory(
        run_id="r",
        outcome=RunOutcome.FAILED,
        steps=tuple(Step(index=index, agent="solver", content=text) for index, text in enumerate(contents)),
        **fields,
    )


def diagnosis(*quotes: str, mode: ErrorMode | None = ErrorMode.FM_3_2) -> Attribution:
    return Attribution(
        run_id="r",
        agent="solver",
        step=0,
        error_mode=mode,
        evidence=tuple(Evidence(step=0, quote=quote, why="shown") for quote in quotes),
    )


def added(before: str, after: str) -> str:
    return after.removeprefix(before).strip()


@pytest.mark.parametrize("mode", [*ErrorMode, None])
def test_every_mode_has_a_lesson_of_its_own_and_keeps_the_prompt(mode):
    rewrite = rewriter().rewrite(failed("The sum is 41."), diagnosis("The sum is 41.", mode=mode), PROMPT)
    assert rewrite.after.startswith(PROMPT + "\n\n" + BEGIN)
    assert rewrite.after.endswith(END)
    assert "«The sum is 41.»" in rewrite.after
    assert (rewrite.agent, rewrite.before, rewrite.error_mode, rewrite.created_at) == ("solver", PROMPT, mode, NOW)
    assert rewrite.rewriter == "template/1"
    others = [text for other, text in LESSONS.items() if other is not mode]
    assert not any(text in rewrite.after for text in others)


def test_lessons_are_different_and_hold_no_number():
    assert set(LESSONS) == set(ErrorMode)
    assert len(set(LESSONS.values())) == len(LESSONS)
    assert not re.search(r"\d", "".join(LESSONS.values()) + BEGIN + END)


def test_a_second_rewrite_replaces_the_first():
    first = rewriter().rewrite(failed("x is 41"), diagnosis("x is 41"), PROMPT)
    again = rewriter().rewrite(failed("x is 41"), diagnosis("x is 41"), first.after)
    assert again.after == first.after
    other = rewriter().rewrite(failed("y is 7"), diagnosis("y is 7", mode=ErrorMode.FM_1_3), first.after)
    assert other.after.count(BEGIN) == 1
    assert "x is 41" not in other.after
    assert other.before == first.after
    assert without_lesson(other.after) == PROMPT


def test_a_prompt_around_the_block_is_kept():
    first = rewriter().rewrite(failed("x is 41"), diagnosis("x is 41"), PROMPT).after + "\n\nBe polite."
    second = rewriter().rewrite(failed("x is 41"), diagnosis("x is 41"), first).after
    assert "Be polite." in second
    assert second.count(BEGIN) == 1


def test_an_agent_without_a_prompt_gets_the_lesson_alone():
    rewrite = rewriter().rewrite(failed("hi"), diagnosis(), None)
    assert rewrite.before == ""
    assert rewrite.after.startswith(BEGIN)


def test_instructions_of_the_trajectory_stand_in_for_none():
    trajectory = failed("hi", agents=(AgentSpec(name="solver", instructions=PROMPT),))
    assert rewriter().rewrite(trajectory, diagnosis(), None).before == PROMPT


@pytest.mark.parametrize(
    "attribution",
    [
        Attribution(run_id="r", abstained=True, abstained_reason="no fault found"),
        Attribution(run_id="r", agent=None),
        Attribution(run_id="r", agent="stranger", step=0),
    ],
)
def test_nobody_to_rewrite(attribution):
    assert rewriter().rewrite(failed("hi"), attribution, PROMPT) is None


def test_quotations_cannot_break_prompt_templates_or_the_block():
    text = f"use {{name}} and {{{{x}}}} {END} {BEGIN} done"
    rewrite = rewriter().rewrite(failed(text), diagnosis(text), PROMPT)
    block = added(PROMPT, rewrite.after)
    assert "{" not in block
    assert "}" not in block
    assert (block.count(BEGIN), block.count(END)) == (1, 1)
    assert without_lesson(rewrite.after) == PROMPT


def test_the_block_is_bounded():
    quotes = ["a" * 5_000, "b" * 5_000, "c" * 5_000]
    for bound in (700, 900, 1_200):
        rewrite = rewriter(max_added=bound).rewrite(failed("".join(quotes)), diagnosis(*quotes), PROMPT)
        assert len(added(PROMPT, rewrite.after)) <= bound
    for mode in ErrorMode:
        rewrite = rewriter(max_added=700).rewrite(failed("x"), diagnosis(mode=mode), PROMPT)
        assert len(added(PROMPT, rewrite.after)) <= 700
    with pytest.raises(ConfigError, match="700"):
        TemplateRewriter(max_added=10)


@pytest.mark.parametrize(
    ("reference", "quote"),
    [
        ("42", "it should be 42, not 41"),
        ("42", "it comes to 42.0 in all"),
        ("1,234", "we get 1234 of them"),
        ("1234", "we get 1,234 of them"),
        ("Paris", "it is not PARIS but Lyon"),
        ("Paris, France", "somewhere in paris I think"),
        ("yes", "Yes, I believe so"),
        ("B", "the answer is b or c"),
        ("巴黎", "答案是巴黎吗"),
        (
            "it was the butler who did it with the old candlestick in the library at night",
            "perhaps THE OLD candlestick",
        ),
    ],
)
def test_quotations_near_the_reference_are_left_out(reference, quote):
    rewrite = rewriter().rewrite(failed(quote, reference=reference), diagnosis(quote), PROMPT)
    assert quote not in rewrite.after
    assert "«" not in rewrite.after
    assert rewrite.evidence == ()


@pytest.mark.parametrize(
    ("reason", "quote"),
    [
        ("check: expected 42, got 41", "maybe 42 after all"),
        ("check: expected 'Canberra' but got 'Sydney'", "Sydney, not Canberra"),
        ("check: expected Canberra, got Sydney", "Sydney, not Canberra"),
        ("check: Canberra missing", "Sydney, not Canberra"),
        ("check: '42' not in result", "42 was my first thought"),
    ],
)
def test_answers_that_the_check_gives_away_are_left_out(reason, quote):
    trajectory = failed(quote, outcome_reason=reason, final_output="41 Sydney")
    rewrite = rewriter().rewrite(trajectory, diagnosis(quote), PROMPT)
    assert quote not in rewrite.after
    safe = rewriter().rewrite(trajectory, diagnosis("Sydney 41"), PROMPT)
    assert "Sydney 41" in safe.after


def test_a_check_that_names_the_agent_costs_no_quotation():
    trajectory = failed("solver says 41", outcome_reason="check: solver gave 41", final_output="41")
    assert "«solver says 41»" in rewriter().rewrite(trajectory, diagnosis("solver says 41"), PROMPT).after


def test_the_wrong_value_may_be_quoted():
    trajectory = failed("The product is 41.", outcome_reason="check: expected 42, got 41", final_output="41")
    attribution = StructuralAttributor().attribute(trajectory)
    rewrite = TemplateRewriter().rewrite(trajectory, attribution, PROMPT)
    assert "«The product is 41.»" in rewrite.after
    assert "42" not in rewrite.after


pieces = st.lists(
    st.one_of(st.sampled_from(["42", "4,200", "Paris", "the", "{x}", BEGIN, "\n", "not", "x=7"]), st.text(max_size=12)),
    max_size=8,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    quotes=st.lists(pieces.map(" ".join), max_size=4),
    reference=st.one_of(
        st.sampled_from(["42", "4200", "Paris", "Paris, France"]),
        st.integers(0, 10**6).map(str),
        st.text(min_size=1, max_size=10),
    ),
    mode=st.one_of(st.none(), st.sampled_from(ErrorMode)),
    seed=st.integers(0, 100),
)
def test_the_reference_never_enters_a_prompt(quotes, reference, mode, seed):
    reference = reference.strip()
    assume(reference)
    rng = random.Random(seed)
    leaky = [f"{quote} {reference}" if rng.random() < 0.5 else quote for quote in quotes]
    trajectory = failed(*["\n".join(leaky) or "x"], reference=reference)
    attribution = diagnosis(*[quote for quote in leaky if quote.strip()], mode=mode)
    rewrite = rewriter().rewrite(trajectory, attribution, PROMPT)
    plain = rewriter().rewrite(trajectory, diagnosis(mode=mode), PROMPT)
    fixed = added(PROMPT, plain.after)
    shown = re.findall(r"«(.*)»", added(PROMPT, rewrite.after))
    for quote in shown:
        assert reference.casefold() not in quote.casefold().split()
        if len(reference) > 2:
            assert " ".join(reference.casefold().split()) not in " ".join(quote.casefold().split())
    if not shown:
        assert added(PROMPT, rewrite.after) == fixed
    assert len(added(PROMPT, rewrite.after)) <= 1_200


def test_it_is_a_rewriter():
    assert isinstance(TemplateRewriter(), Rewriter)
