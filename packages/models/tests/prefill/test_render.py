import numpy as np
import pytest

from tracer_hooks.schema import Step, StepKind, ToolCall
from tracer_hooks_models.prefill._render import part_at, shorten, step_text, transcribe


def decoded(model, tokens):
    return model.tokenizer.decode(tokens)


def test_a_short_text_is_kept_whole(random_model) -> None:
    text = shorten(random_model.tokenizer, "the clerk adds", 50, "head")
    assert decoded(random_model, text.tokens) == "the clerk adds"
    assert (text.spans[0][0], text.spans[-1][1]) == (0, len("the clerk adds"))


@pytest.mark.parametrize("repeats", [30, 3000])
@pytest.mark.parametrize(("cut", "has_end"), [("head", False), ("head_tail", True)])
def test_a_long_text_keeps_its_beginning_or_both_ends(random_model, cut, has_end, repeats: int) -> None:
    text = "begin " + "clerk adds apples " * repeats + "zebra"
    short = shorten(random_model.tokenizer, text, 20, cut)
    said = decoded(random_model, short.tokens)
    assert said.startswith("begin")
    assert " [...] " in said
    assert said.endswith("zebra") == has_end
    assert sum(span[0] >= 0 for span in short.spans) == 20
    assert all(0 <= start <= end <= len(text) for start, end in short.spans if start >= 0)
    if has_end:
        assert text[short.spans[-1][0] : short.spans[-1][1]] == said[-(short.spans[-1][1] - short.spans[-1][0]) :]


def test_headers_name_agent_and_recipient_and_belong_to_no_step(random_model, make_run) -> None:
    trajectory = make_run("alpha", "beta")
    handoff = Step(index=2, agent="planner", kind=StepKind.HANDOFF, content="gamma", recipient="clerk")
    trajectory = trajectory.model_copy(update={"steps": (*trajectory.steps, handoff)})
    texts = [shorten(random_model.tokenizer, step_text(step), 20, "head") for step in trajectory.steps]
    transcript = transcribe(random_model.tokenizer, trajectory, texts, task_tokens=20, notes={1: "[Note] look"})
    said = decoded(random_model, transcript.tokens)
    assert said.endswith(
        "Task: add the apples\n\n[Step 0] planner: alpha\n\n[Note] look\n\n[Step 1] clerk: beta\n\n"
        "[Step 2] planner -> clerk: gamma\n\n"
    )
    assert transcript.tokens[0] == random_model.tokenizer.bos_token_id
    for step, word in enumerate(("alpha", "beta", "gamma")):
        assert decoded(random_model, transcript.tokens[transcript.owner == step]) == word
        start, end = transcript.pieces[step]
        assert decoded(random_model, transcript.tokens[start:end]).endswith(f": {word}")
    assert (transcript.owner[: transcript.kept] == -1).all()
    assert np.unique(transcript.owner).tolist() == [-1, 0, 1, 2]


def test_tool_calls_and_errors_are_part_of_what_a_step_says() -> None:
    call = ToolCall(name="search", arguments={"query": "river"}, result="stone", error="timeout")
    step = Step(index=0, agent="a", content="I search", tool_calls=(call,), error="gone")
    assert step_text(step) == 'I search\ngone\ncalls search({"query": "river"})\nstone\ntimeout'
    for name, word in (("content", "search"), ("result", "stone"), ("tool error", "timeout")):
        part, text, at = part_at(step, step_text(step).index(word))
        assert part == name
        assert text[at:].startswith(word)
