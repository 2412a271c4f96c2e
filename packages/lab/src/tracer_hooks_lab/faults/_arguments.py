"""Arguments of a tool call, changed at one value and otherwise left as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from tracer_hooks_lab.faults._entities import names_in, other_name
from tracer_hooks_lab.faults._numbers import near, numbers_in, replace_at, value_of, values_in

Path = tuple[Any, ...]


def change_leaf(arguments: Any, known: Sequence[str], rng: Random) -> Any:
    """The arguments with one number, or else one name, changed; None when they hold neither."""
    changed = replace_leaf_value(arguments, None, rng, avoid=values_in(known))
    return changed if changed is not None else swap_leaf(arguments, known, rng)


def replace_leaf_value(
    arguments: Any, values: Collection[Decimal] | None, rng: Random, *, avoid: Collection[Decimal] = ()
) -> Any:
    """The arguments with one number changed: one of ``values``, or any when that is None; None without such a one."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
            return None
        if isinstance(leaf, str):
            fitting = [n for n in numbers_in(leaf) if values is None or n.value in values]
            number = rng.choice(fitting) if fitting else None
            return None if number is None else replace_at(leaf, number, near(number.text, rng, avoid=avoid))
        if abs(leaf) >= 1e15:  # beyond what a float, and a reader, tells apart
            return None
        written = str(leaf)
        if "e" in written or "n" in written or (values is not None and value_of(written) not in values):
            return None
        return type(leaf)(near(written, rng, avoid=avoid))

    return _change_one(arguments, change, rng)


def swap_leaf(arguments: Any, known: Sequence[str], rng: Random) -> Any:
    """The arguments with one name exchanged for another that ``known`` texts hold; None when there is none."""
    given = {leaf for _, leaf in _leaves(arguments, ()) if isinstance(leaf, str)}

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, str):
            return None
        for name in names_in(f"x {leaf}"):  # so that a name at the start is none of a sentence's first word
            other = other_name(name, known, rng)
            if other is not None and other not in given:
                return leaf.replace(name, other)
        return None

    return _change_one(arguments, change, rng)


def _change_one(arguments: Any, change: Callable[[Any], Any], rng: Random) -> Any:
    leaves = list(_leaves(arguments, ()))
    rng.shuffle(leaves)
    for path, leaf in leaves:
        changed = change(leaf)
        if changed is not None and changed != leaf:
            return _with(arguments, path, changed)
    return None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path, value


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, Mapping):
        return {key: _with(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    return [_with(item, path[1:], new) if place == path[0] else item for place, item in enumerate(value)]
