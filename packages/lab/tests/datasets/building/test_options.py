"""What may be asked of a build."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.datasets import BuildOptions
from tracer_hooks_lab.faults import mutators_of


def test_every_mutator_of_the_modes_may_be_used() -> None:
    options = BuildOptions(modes=(ErrorMode.FM_2_6,))
    assert options.mutators == {ErrorMode.FM_2_6: tuple(one.kind for one in mutators_of(ErrorMode.FM_2_6))}


def test_named_mutators_leave_out_the_modes_without_any() -> None:
    options = BuildOptions(kinds=("other_conclusion", "wrong_recount"))
    assert options.mutators == {ErrorMode.FM_2_6: ("other_conclusion",), ErrorMode.FM_3_3: ("wrong_recount",)}
    assert options.described()["kinds"] == ["other_conclusion", "wrong_recount"]
    assert "kinds" not in BuildOptions().described()


def test_a_mutator_that_is_not_there_is_noticed_at_once() -> None:
    with pytest.raises(ConfigError, match="no mutator 'wrong_recount' of these modes"):
        BuildOptions(modes=(ErrorMode.FM_2_6,), kinds=("wrong_recount",))


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"faults_per_run": -1}, {"workers": 0}, {"modes": ()}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        BuildOptions(**wrong)  # type: ignore[arg-type]  # options of any type
