"""Patches are undone exactly."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from tracer_hooks.frameworks import PatchSet


class Plain:
    shown = "class"

    def method(self) -> str:
        return "class"


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = "old"


class SlottedChild(Slotted):
    """Has a ``__dict__`` beside the slot that it inherits."""


@dataclass(frozen=True)
class Frozen:
    value: str = "old"


class Model(BaseModel):
    model_config = ConfigDict(frozen=True)
    value: str = "old"

    def method(self) -> str:
        return "class"


@pytest.mark.parametrize("make", [Plain, Model])
def test_what_an_instance_did_not_have_is_gone_again(make: Any) -> None:
    owner = make()
    before = dict(vars(owner))
    patches = PatchSet()
    patches.patch(owner, "method", lambda: "new")
    assert owner.method() == "new"
    patches.undo()
    assert vars(owner) == before
    assert owner.method() == "class"


def test_a_class_gets_its_own_descriptor_back() -> None:
    class Owner:
        @staticmethod
        def static() -> str:
            return "old"

        @classmethod
        def of_class(cls) -> str:
            return "old"

        @property
        def computed(self) -> str:
            return "old"

    before = dict(vars(Owner))
    patches = PatchSet()
    for name in ("static", "of_class", "computed"):
        patches.patch(Owner, name, "new")
    patches.patch(Owner, "added", "new")
    patches.undo()
    assert all(vars(Owner)[name] is before[name] for name in before)
    assert not hasattr(Owner, "added")


@pytest.mark.parametrize("make", [Slotted, SlottedChild, Frozen, Model])
def test_objects_that_resist_are_patched_and_restored(make: Any) -> None:
    owner = make()
    patches = PatchSet()
    patches.patch(owner, "value", "new")
    assert owner.value == "new"
    patches.undo()
    assert owner.value == "old"


def test_several_patches_of_one_attribute_are_undone_to_the_same_object() -> None:
    old = object()
    owner = SimpleNamespace(value=old)
    patches = PatchSet()
    for value in ("one", "two"):
        patches.patch(owner, "value", value)
        assert owner.value == value
    patches.undo()
    assert owner.value is old


def test_undoing_twice_leaves_the_users_later_change_alone() -> None:
    owner = SimpleNamespace(value="old")
    patches = PatchSet()
    patches.patch(owner, "value", "new")
    patches.undo()
    owner.value = "the user's"
    patches.undo()
    assert owner.value == "the user's"


def test_another_set_can_be_taken_over() -> None:
    owner = SimpleNamespace(value="old")
    first, second = PatchSet(), PatchSet()
    second.patch(owner, "value", "new")
    first.add(second)
    second.undo()
    assert owner.value == "new"
    first.undo()
    assert owner.value == "old"


def test_an_undo_that_fails_does_not_keep_the_rest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("cannot undo")

    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    owner = SimpleNamespace(value="old")
    patches = PatchSet()
    patches.patch(owner, "value", "new")
    patches.on_undo(fail)
    patches.undo()
    assert owner.value == "old"
    assert "cannot undo" in caplog.text
