"""The way of the answer's values as the record has it."""

from __future__ import annotations

from tracer_hooks.attribution._provenance import Link, provenance_of
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.schema import ValueLink

MOST_LINKS = 24
"""Links that a diagnosis keeps."""


def value_links(trace: Trace, step: int) -> tuple[ValueLink, ...]:
    """Where the answer's values come from, in order of the steps; of many, those of the named step's values first.

    Args:
        trace: What happened.
        step: The step that the diagnosis names. A departure that the answer was not followed back to is told only of
            this step.
    """
    links = [one for one in provenance_of(trace).links if one.leads_to_answer or one.step == step]
    ranks: dict[str, int] = {}
    for one in links:
        ranks[one.value] = min(_rank(one, step), ranks.get(one.value, 3))
    kept = sorted(range(len(links)), key=lambda place: (ranks[links[place].value], place))[:MOST_LINKS]
    return tuple(_as_record(links[place]) for place in sorted(kept))


def _rank(link: Link, step: int) -> int:
    """Which values matter most: those that depart at the named step, that depart elsewhere, that it has at all."""
    if link.origin.is_departure:
        return 0 if link.step == step else 1
    return 2 if link.step == step else 3


def _as_record(link: Link) -> ValueLink:
    note = f"from {' and '.join(link.operands)}" if link.operands else link.note
    return ValueLink(value=link.value, step=link.step, origin=link.origin, source=link.source, note=note)
