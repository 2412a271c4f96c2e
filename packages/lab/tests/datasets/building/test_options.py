import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.datasets import BuildOptions
from tracer_hooks_lab.faults import FaultStrategy, InjectOptions, LLMWriter, mutators_of


def test_named_mutators_leave_out_the_modes_without_any() -> None:
    options = BuildOptions(kinds=("other_conclusion", "wrong_working"))
    assert options.mutators == {ErrorMode.FM_2_6: ("other_conclusion",), ErrorMode.FM_3_3: ("wrong_working",)}
    assert options.described()["kinds"] == ["other_conclusion", "wrong_working"]
    assert "kinds" not in BuildOptions().described()
    every = BuildOptions(modes=(ErrorMode.FM_2_6,))
    assert every.mutators == {ErrorMode.FM_2_6: tuple(one.kind for one in mutators_of(ErrorMode.FM_2_6))}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"modes": (ErrorMode.FM_2_6,), "kinds": ("wrong_working",)}, "no mutator 'wrong_working' of these modes"),
        ({"repeats": 0}, "expected"),
        ({"faults_per_run": -1}, "expected"),
        ({"workers": 0}, "expected"),
        ({"modes": ()}, "no mode"),
        ({"writer": "llm"}, "writer is 'llm'"),
        ({"weak_from": 1.5}, r"weak_from is 1\.5, expected a probability between 0 and 1"),
    ],
)
def test_options_that_cannot_work_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BuildOptions(**wrong)  # type: ignore[arg-type]  # options of any type


def test_modes_that_only_new_text_shows_are_skipped_unless_something_writes_it() -> None:
    replies = (FaultStrategy.RESPONSE_CORRUPTION,)
    skipped = (ErrorMode.FM_1_2, ErrorMode.FM_1_5, ErrorMode.FM_2_1)
    assert BuildOptions(strategies=replies).skipped_modes == skipped
    assert BuildOptions().skipped_modes == ()  # prompt injection is one of its strategies
    writer = InjectOptions(writer=LLMWriter(lambda messages: "Hello."))
    assert BuildOptions(strategies=replies, writer="llm", inject=writer).skipped_modes == ()
    assert BuildOptions(strategies=replies, faults_per_run=0).skipped_modes == ()


def test_a_build_of_nothing_but_such_modes_is_refused_with_what_makes_them() -> None:
    replies = (FaultStrategy.RESPONSE_CORRUPTION,)
    with pytest.raises(ConfigError, match=r"err by FM-1.2, FM-2.1: .*--writer llm .*--strategies prompt_injection"):
        BuildOptions(modes=(ErrorMode.FM_1_2, ErrorMode.FM_2_1), strategies=replies)
    BuildOptions(modes=(ErrorMode.FM_1_2,), strategies=(*replies, FaultStrategy.CHANNEL))
    BuildOptions(modes=(), strategies=replies, faults_per_run=0)
