"""JSON schemas of the replies, narrowed to the names and numbers of one trajectory."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tracer_hooks.attribution._judge._case import Case
from tracer_hooks.attribution._judge._replies import Reply

_MOST_LISTED = 300
_MOST_ITEMS = 6
_DROPPED = ("title", "description", "default")


def reply_schema(
    kind: type[Reply], case: Case, *, steps: Sequence[int] | None = None, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema of ``kind`` for ``case``, in the form that strict servers want.

    There are no references in it, every field is required, and further ones are not allowed.

    Args:
        kind: Form of the reply.
        case: Whose agents, steps and verdicts may be named.
        steps: The steps that may be named, when they are not those of the case.
        labels: The labels that may be chosen.
    """
    narrowed: dict[str, Any] = {
        "agent": {"type": "string", "enum": list(case.agents)},
        "step": _steps(case.answerable if steps is None else steps),
        "verdict": {"type": "string", "enum": list(case.verdicts)},
    }
    if labels:
        narrowed["choice"] = {"type": "string", "enum": list(labels)}
    raw = _raw_schema(kind)
    return _strict(raw, raw.get("$defs", {}), narrowed)


@functools.cache
def _raw_schema(kind: type[Reply]) -> dict[str, Any]:
    return kind.model_json_schema()


def _steps(allowed: Sequence[int]) -> dict[str, Any]:
    if len(allowed) <= _MOST_LISTED:
        return {"type": "integer", "enum": list(allowed)}
    return {"type": "integer", "minimum": allowed[0], "maximum": allowed[-1]}


def _strict(node: Mapping[str, Any], shared: Mapping[str, Any], narrowed: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return _strict(shared[node["$ref"].rpartition("/")[2]], shared, narrowed)
    made = {key: value for key, value in node.items() if key not in (*_DROPPED, "$defs")}
    if "anyOf" in made:
        made["anyOf"] = [_strict(each, shared, narrowed) for each in made["anyOf"]]
    if "items" in made:
        made |= {"items": _strict(made["items"], shared, narrowed), "maxItems": _MOST_ITEMS}
    if "properties" in made:
        made["properties"] = {
            name: narrowed.get(name) or _strict(each, shared, narrowed) for name, each in made["properties"].items()
        }
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made
