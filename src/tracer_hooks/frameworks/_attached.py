"""Values that live as long as an object of somebody else's, since they are kept in that object.

A dictionary beside the objects, weak or not, cannot do it: a hooked team's runs hold exceptions, these hold frames, and
frames hold the team, so that what is found under the team keeps the team alive.
"""

from __future__ import annotations

import weakref
from typing import Any


class _Attachment:
    """Holds values for one object; a copy or a pickle of that object has no use of them."""

    __slots__ = ("_owner", "_values")

    def __init__(self, owner: Any, values: tuple[Any, ...]) -> None:
        self._owner = weakref.ref(owner)
        self._values = values

    def values_for(self, owner: Any) -> tuple[Any, ...]:
        """The values; none for another object, such as a shallow copy."""
        return self._values if self._owner() is owner else ()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return object, ()


def attached(owner: Any, name: str) -> tuple[Any, ...]:
    """What is kept in ``owner`` under ``name``, the newest last."""
    found = getattr(owner, "__dict__", {}).get(name)
    return found.values_for(owner) if isinstance(found, _Attachment) else ()


def attach(owner: Any, name: str, value: Any) -> bool:
    """Keep ``value`` in ``owner``; False for an object that can hold nothing, or cannot be referred to weakly."""
    try:
        owner.__dict__[name] = _Attachment(owner, (*attached(owner, name), value))
    except (AttributeError, TypeError):
        return False
    return True


def detach(owner: Any, name: str, value: Any) -> None:
    """Take ``value`` out of ``owner`` again; values are taken out in any order."""
    left = tuple(one for one in attached(owner, name) if one is not value)
    if left:
        owner.__dict__[name] = _Attachment(owner, left)
    else:
        getattr(owner, "__dict__", {}).pop(name, None)
