"""Every mutator of every mode: it changes a fitting reply, leaves no marker, keeps the format, and knows its limits."""

import re
from decimal import Decimal
from random import Random

import pytest

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks_lab.faults import (
    LEAK_WORDS,
    FaultContext,
    FaultSpec,
    FaultStrategy,
    Mutator,
    Target,
    Utterance,
    _mutators,
    check_can_be_made,
    context_of_step,
    corrupt,
    fitting_kinds,
    get_mutator,
    instructions_for,
    leaked_words,
    mutators_of,
    place_fault,
    register_mutator,
)
from tracer_hooks_lab.faults._text_parts import near, numbers_in

from ._runs import CODE, DEBATE, PIPELINE, contexts

EVERY = [mutator for mode in ErrorMode for mutator in mutators_of(mode)]
IDS = [f"{mutator.mode.value}-{mutator.kind}" for mutator in EVERY]


def fits(mutator: Mutator, seed: int) -> list[tuple[FaultContext, ChatReply]]:
    found = [(context, corrupt(context, mutator.mode, kind=mutator.kind, seed=seed)) for context in contexts()]
    return [(context, done.reply) for context, done in found if done is not None]


def mutated(mode: ErrorMode, kind: str, text: str, **known: object) -> str | None:
    context = FaultContext(agent="solver", reply=ChatReply(content=text), **known)  # type: ignore[arg-type]
    done = corrupt(context, mode, kind=kind)
    return None if done is None else done.reply.content


@pytest.mark.parametrize("mode", [mode for mode in ErrorMode if not mutators_of(mode)])
def test_a_mode_without_mutators_names_what_makes_it(mode: ErrorMode) -> None:
    spec = FaultSpec(strategy=FaultStrategy.RESPONSE_CORRUPTION, mode=mode)
    for refused in (
        lambda: check_can_be_made(spec),
        lambda: place_fault(PIPELINE, spec),
        lambda: get_mutator(mode, "starts_over"),
    ):
        with pytest.raises(FaultError, match=rf"err by {mode.value}: .*Run with: --writer llm .*prompt_injection"):
            refused()
    assert {one for one in ErrorMode if not mutators_of(one)} == {"FM-1.2", "FM-1.5", "FM-2.1"}
    check_can_be_made(spec.model_copy(update={"writer": "llm"}))
    check_can_be_made(spec.model_copy(update={"strategy": FaultStrategy.PROMPT_INJECTION}))
    assert corrupt(context_of_step(PIPELINE, 2), mode) is None


@pytest.mark.parametrize("mutator", EVERY, ids=IDS)
def test_a_mutator_changes_a_fitting_reply_without_a_trace_of_it(mutator: Mutator) -> None:
    changes = [change for seed in range(4) for change in fits(mutator, seed)]
    assert changes == [change for seed in range(4) for change in fits(mutator, seed)], "one seed, one change"
    assert changes
    for context, reply in changes:
        before = context.reply
        assert (reply.content, reply.tool_calls) != (before.content, before.tool_calls)
        assert leaked_words(reply.content, before.content) == ()
        assert "{" not in reply.content
        if mutator.target is not Target.ARGUMENTS:
            assert reply.content.strip()
            assert not reply.tool_calls
        for line in re.findall(r"(?m)^ANSWER:.*$", reply.content):
            assert re.fullmatch(r"ANSWER: \d+\.\d\d", line)
        assert reply.content.count("```") % 2 == 0
        known = " ".join([context.task, before.content, *(said.text for said in context.history)])
        new = set(re.findall(r"[a-z]{3,}", reply.content.lower())) - set(re.findall(r"[a-z]{3,}", known.lower()))
        assert len(new) <= 3, new  # words turned into their opposites, such as "incorrect" and "fails"


@pytest.mark.parametrize("mutator", EVERY, ids=IDS)
def test_a_mutator_gives_nothing_where_nothing_fits(mutator: Mutator) -> None:
    empty = FaultContext(agent="solver")
    assert corrupt(empty, mutator.mode, kind=mutator.kind) is None
    bare = FaultContext(agent="solver", reply=ChatReply(tool_calls=(RequestedTool(name="now", arguments={}),)))
    assert corrupt(bare, mutator.mode, kind=mutator.kind) is None
    assert mutated(mutator.mode, mutator.kind, "Hm") is None


def test_other_seeds_choose_other_mutators_and_other_values() -> None:
    context = context_of_step(PIPELINE, 2)
    done = [corrupt(context, ErrorMode.FM_2_6, seed=seed) for seed in range(20)]
    assert len({d.reply.content for d in done if d is not None}) >= 4
    kinds = {d.kind for seed in range(20) if (d := corrupt(context, ErrorMode.FM_1_1, seed=seed)) is not None}
    assert len(kinds) >= 3


def test_the_kinds_that_fit_are_those_that_change_the_reply() -> None:
    context = context_of_step(PIPELINE, 1)
    assert set(fitting_kinds(context, ErrorMode.FM_2_6)) == {"calls_with_another_value"}
    assert fitting_kinds(context, ErrorMode.FM_3_3) == ()
    assert corrupt(context, ErrorMode.FM_3_3) is None
    with pytest.raises(FaultError, match=r"FM-2.6 has no mutator 'nonsense', expected one of other_conclusion"):
        get_mutator(ErrorMode.FM_2_6, "nonsense")
    with pytest.raises(FaultError, match="has a mutator 'other_conclusion' already"):
        register_mutator(ErrorMode.FM_2_6, "other_conclusion")(lambda text, context, rng: text)


def test_a_wrong_given_is_carried_through_to_the_result() -> None:
    text = "Each of the 4 boxes holds 9 pens, so 4 boxes hold 36 pens.\nANSWER: 36"
    reply = mutated(ErrorMode.FM_1_1, "changed_given", text, task="There are 4 boxes. How many pens are there?")
    assert reply is not None
    assert not re.search(r"\b4\b", reply)
    assert not re.search(r"\b36\b", reply)
    first, second = re.findall(r"(\d+) boxes", reply)
    assert first == second
    assert re.findall(r"hold (\d+) pens", reply) == re.findall(r"ANSWER: (\d+)$", reply)


@pytest.mark.parametrize(
    ("mode", "kind", "text", "known", "expected"),
    [
        (
            ErrorMode.FM_2_5,
            "own_number_for_theirs",
            "With the corrected price of 31 it is 62.",
            {"task": "Two books at 30 each.", "history": (Utterance(agent="clerk", text="It is 31 now.", step=0),)},
            "With the corrected price of 30 it is 62.",
        ),
        (
            ErrorMode.FM_2_4,
            "leaves_a_fact_out",
            "The flight leaves on time. It costs 340 EUR. Have a look.",
            {},
            "The flight leaves on time. Have a look.",
        ),
        (
            ErrorMode.FM_3_3,
            "wrong_verdict",
            "Yes, this is correct.\nVERDICT: PASS",
            {},
            "No, this is incorrect.\nVERDICT: FAIL",
        ),
    ],
)
def test_what_becomes_of_a_reply(mode, kind, text, known, expected) -> None:
    assert mutated(mode, kind, text, **known) == expected


def test_separators_and_decimals_stay_as_they_are_and_the_reasoning_does() -> None:
    reply = mutated(ErrorMode.FM_2_6, "other_conclusion", "We have 6 x 7, and 6 x 7 = 42.\nANSWER: 42")
    assert reply.startswith("We have 6 x 7, and 6 x 7 = 42.\nANSWER: ")
    assert not reply.endswith("ANSWER: 42")
    assert near("-5", Random(0), avoid=[Decimal(-n) for n in range(200)]) == "-200"
    reply = mutated(ErrorMode.FM_2_6, "other_conclusion", "It was 1,200.50 and went up by a little. ANSWER: 1,250.75")
    assert reply is not None
    assert re.search(r"ANSWER: 1?\d?,?\d{3}\.\d\d$", reply)
    assert "ANSWER: 1,250.75" not in reply


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("Yes", {"No"}),
        ("**NO**", {"**YES**"}),
        ("the plan is valid", {"the plan is invalid"}),
        ("(B)", {"(A)", "(C)", "(D)"}),
        ("Carla", {"Tom", "Lisbon"}),
        ("it cannot be done", {"it can be done"}),
        ("the shop is not open", {"the shop is open"}),
        ("no element is left", {"no element is not left"}),
        ("blue", {None}),
    ],
)
def test_a_conclusion_in_words_is_changed_for_another_of_its_kind(said: str, changed: set[str | None]) -> None:
    before = "I looked at all of it.\nANSWER: "
    context = FaultContext(agent="a", task="Is Tom or Carla in Lisbon?", reply=ChatReply(content=f"{before}{said}"))
    found = [corrupt(context, ErrorMode.FM_2_6, kind="other_conclusion", seed=seed) for seed in range(30)]
    assert {None if done is None else done.reply.content.removeprefix(before) for done in found} == changed


def test_numbers_that_only_count_are_left_alone() -> None:
    found = numbers_in("1. In step 3 there are 7 boxes, item #4 holds 9.\n2) Part 12: 8 lids.")
    assert [number.text for number in found] == ["7", "9", "8"]


def test_a_step_that_the_run_has_not_is_named_with_the_command_that_shows_them() -> None:
    with pytest.raises(
        FaultError, match=rf"no step 99, expected 0 to \d+\. Run: tracer-hooks runs show {PIPELINE.run_id}"
    ):
        context_of_step(PIPELINE, 99)


def test_a_premature_end_keeps_the_word_that_stops_the_team() -> None:
    done = corrupt(context_of_step(PIPELINE, 3), ErrorMode.FM_3_1, kind="first_number_as_result")
    assert re.search(r"ANSWER: (75\.00|7\.50)\nTERMINATE$", done.reply.content)


def test_changed_arguments_keep_keys_types_and_the_other_values() -> None:
    done = corrupt(context_of_step(DEBATE, 3), ErrorMode.FM_2_6, kind="calls_with_another_value")
    arguments = done.reply.tool_calls[0].arguments
    before = {"a": 16, "b": 12, "who": "Anna"}
    assert {key: type(value) for key, value in arguments.items()} == {"a": int, "b": int, "who": str}
    assert sum(arguments[key] != before[key] for key in before) == 1
    done = corrupt(context_of_step(DEBATE, 3), ErrorMode.FM_1_3, kind="repeats_a_call")
    assert done.reply.tool_calls[0].arguments == {"a": 16, "b": 13, "who": "Ben Miller"}, "those of an earlier call"
    before_it = ChatReply(content="It is 6 x 7 = 42. ANSWER: 42", chunks=("It is 6 x 7", " = 42.", " ANSWER: 42"))
    done = corrupt(FaultContext(agent="a", reply=before_it), ErrorMode.FM_2_6, kind="other_conclusion")
    assert len(done.reply.chunks) == 3, "it is still streamed in as many pieces"
    assert "".join(done.reply.chunks) == done.reply.content


def test_a_mutator_of_ones_own_that_drops_the_calls_ends_the_turn_as_a_model_would(monkeypatch) -> None:
    monkeypatch.setattr(_mutators, "_MUTATORS", {mode: {} for mode in ErrorMode})
    mode = ErrorMode.FM_1_2
    register_mutator(mode, "leaves_it", target=Target.TURN)(lambda text, context, rng: context.others[0].agent)
    check_can_be_made(FaultSpec(strategy=FaultStrategy.RESPONSE_CORRUPTION, mode=mode))
    before = ChatReply(tool_calls=(RequestedTool(name="price"),), finish_reason="tool_calls")
    said = (Utterance(agent="clerk", text="Your turn.", step=0),)
    done = corrupt(FaultContext(agent="a", reply=before, history=said), mode)
    assert (done.kind, done.reply.content, done.reply.tool_calls) == ("leaves_it", "clerk", ())
    assert done.reply.finish_reason == "stop"


@pytest.mark.parametrize("mode", ErrorMode)
def test_instructions_have_several_wordings_and_do_not_name_the_mode(mode: ErrorMode) -> None:
    texts = instructions_for(mode)
    assert len(set(texts)) >= 3
    assert not any(mode.title in text.lower() or mode.value in text for text in texts)
    assert [text for text in texts if leaked_words(text)] == []
    assert [text for text in texts if re.search(r"(?i)\b(?:error|mistake|wrong|MAST)\b", text)] == []


@pytest.mark.parametrize("word", LEAK_WORDS)
def test_each_leak_word_is_found_unless_it_was_there_before(word: str) -> None:
    text = f"Here is some {word.upper()} text."
    assert leaked_words(text)
    assert leaked_words(text, text) == ()


def test_code_in_a_reply_stays_code_when_prose_is_changed() -> None:
    for mode in ErrorMode:
        for mutator in mutators_of(mode):
            done = corrupt(FaultContext(agent="a", reply=ChatReply(content=CODE)), mode, kind=mutator.kind)
            if done is not None and "```" in done.reply.content:
                compile(done.reply.content.split("```python\n")[1].split("```")[0], "reply", "exec")


def test_numbers_of_any_length_do_no_harm() -> None:
    text = f"The key is {'7' * 5000}, or {'1' * 29}. ANSWER: {'9' * 6000}"
    reply = mutated(ErrorMode.FM_2_3, "answers_another_question", text)
    assert reply is None or reply.startswith(f"The key is {'7' * 5000}")
    call = RequestedTool(name="t", arguments={"big": 10**40, "small": -0.0})
    done = corrupt(FaultContext(agent="a", reply=ChatReply(tool_calls=(call,))), ErrorMode.FM_2_6)
    assert done.reply.tool_calls[0].arguments["big"] == 10**40
    assert done.reply.tool_calls[0].arguments["small"] != 0
