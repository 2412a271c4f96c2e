"""Mutators, tool faults and channel faults on whatever a model may write: they never raise and never leave a marker."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.frameworks import ToolReply
from tracer_hooks.schema import ErrorMode
from tracer_hooks.telemetry import ChatReply, RequestedTool, message_text, text_message
from tracer_hooks_lab.faults import (
    ChannelFault,
    FaultContext,
    ToolFault,
    Utterance,
    corrupt,
    faulty_messages,
    faulty_tool_reply,
    leaked_words,
    mutators_of,
)

PIECES = st.sampled_from(
    [
        *("ANSWER: 42", "The answer is 7.50 EUR.", "\\boxed{12}", "- 3 apples", "1. First", "**Result:** yes", "Paris"),
        *("```python\n", "x = [1, 2][0]\n", "```", "def f(n):\n    return n + 1\n", "\n", " ", "{", "}", "\\1", "\x0c"),
        *("not", "is", "TERMINATE", "3 km", "(a) b", "50%", "1e9", "0", "00", "1,234.5", "-7"),
        *("\N{EN DASH}3", "½", "é"),
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=12).map(" ".join), st.lists(PIECES).map("".join))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
EVERY = [mutator for mode in ErrorMode for mutator in mutators_of(mode)]


@settings(max_examples=50)
@given(text=TEXTS, task=TEXTS, other=TEXTS, arguments=VALUES, seed=st.integers(0, 9))
def test_a_mutator_gives_another_reply_or_none(text: str, task: str, other: str, arguments: object, seed: int) -> None:
    said = (
        Utterance(agent="b", text=other, step=0),
        Utterance(agent="a", text=task, step=1, tool_calls=(RequestedTool(name="t", arguments=[1]),)),
        Utterance(agent="t", text=other, step=1, is_tool_result=True),
    )
    replies = [
        ChatReply(content=text),
        ChatReply(content=text, tool_calls=(RequestedTool(name="t", arguments=arguments),)),
    ]
    for reply in replies:
        context = FaultContext(agent="a", task=task, history=said, reply=reply, step=2)
        for mutator in EVERY:
            done = corrupt(context, mutator.mode, kind=mutator.kind, seed=seed)
            if done is not None:
                assert done.reply != reply
                assert leaked_words(done.reply.content, "\n".join([task, other, text])) == ()


@settings(max_examples=50)
@given(text=TEXTS, earlier=TEXTS, seed=st.integers(0, 9))
def test_a_tool_fault_gives_another_result_or_none(text: str, earlier: str, seed: int) -> None:
    for kind in ToolFault:
        reply = ToolReply(content=text)
        got = faulty_tool_reply(kind, "t", reply, earlier=[earlier], known=[earlier], rng=Random(seed))
        assert got is None or got.content != text


@settings(max_examples=50)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4), others=st.lists(TEXTS, max_size=3), seed=st.integers(0, 9))
def test_a_channel_fault_keeps_the_number_of_messages(texts: list[str], others: list[str], seed: int) -> None:
    messages = [text_message("user", text) for text in [*texts, *others]]
    for kind in ChannelFault:
        got = faulty_messages(kind, messages, [Utterance(agent="x", text=text) for text in others], Random(seed))
        if got is not None:
            assert len(got) == len(messages)
            assert [message_text(m) for m in got] != [message_text(m) for m in messages]
