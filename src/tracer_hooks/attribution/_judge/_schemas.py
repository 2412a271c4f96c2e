"""JSON schemas of the replies, narrowed to the names and numbers of one trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracer_hooks.attribution._judge._case import Case
from tracer_hooks.attribution._judge._replies import Reply

_MOST_LISTED = 300
_MOST_ITEMS = 6
_DROPPED = ("title", "description", "default")


def reply_schema(kind: type[Reply], case: Case, *, labels: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of ``kind`` for ``case``: only its agents, steps and verdicts.

    It is in the form that strict servers want: no references, every field required, no further fields.
    """
    narrowed: dict[str, Any] = {
        "agent": {"type": "string", "enum": list(case.agents)},
        "step": _steps(case.answerable),
        "verdict": {"type": "string", "enum": list(case.verdicts)},
    }
    if labels:
        narrowed["choice"] = {"type": "string", "enum": list(labels)}
    raw = kind.model_json_schema()
    return _strict(raw, raw.get("$defs", {}), narrowed)


def _steps(answerable: Sequence[int]) -> dict[str, Any]:
    if len(answerable) <= _MOST_LISTED:
        return {"type": "integer", "enum": list(answerable)}
    return {"type": "integer", "minimum": answerable[0], "maximum": answerable[-1]}


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
