"""Ways in which a team travels: copied, or written down and read again."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any


def pickled(team: Any) -> Any:
    """Written down and read again."""
    return pickle.loads(pickle.dumps(team))


def own_copy(team: Any) -> Any:
    """CrewAI's own way; LangGraph's ``graph.copy()`` is hooked like the graph, and is tested with the adapter."""
    return team.copy()


WAYS: dict[str, Callable[[Any], Any]] = {"deepcopy": copy.deepcopy, "pickle": pickled, "copy": own_copy}


def arrive(way: str, team: Any) -> tuple[Any, str | None]:
    """What arrives of ``team``; or nothing, and what the framework says about it."""
    try:
        return WAYS[way](team), None
    except Exception as error:
        return None, plain_text(error)


def plain_text(value: object) -> str:
    """A value as text that is equal for equal values."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))
