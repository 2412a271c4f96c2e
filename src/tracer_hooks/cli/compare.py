"""``tracer-hooks compare``."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tracer_hooks._text import counted
from tracer_hooks.cli._options import Json, Store, existing_store
from tracer_hooks.cli.console import out, print_json

if TYPE_CHECKING:  # at run time with the work: help needs no records
    from tracer_hooks.rerun import RunComparison, StepComparison

_WIDTH = 80
_STYLES = {"changed": "yellow", "only_a": "red", "only_b": "green"}


def compare_command(
    a: Annotated[str, typer.Argument(metavar="A", help="The first run's id, or the beginning of it.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The second run's id, or the beginning of it.")],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Compare two stored runs step by step, and their answers."""
    from tracer_hooks.rerun import compare

    with existing_store(store) as kept:
        found = compare(kept.get(a, with_tape=False), kept.get(b, with_tape=False))
    if as_json:
        print_json({**found.model_dump(mode="json"), "same_answer": found.same_answer})
        return
    for line in comparison_lines(found):
        out().print(line, soft_wrap=True)


def comparison_lines(found: RunComparison) -> list[Text]:
    """The comparison for a terminal of 80 columns: steps that are the same are folded, long texts cut."""
    lines = [
        Text(_cut(f"A {found.a} {found.outcome_a}")),
        Text(_cut(f"B {found.b} {found.outcome_b}")),
        Text("  A   B", style="dim"),
    ]
    for is_same, group in groupby(found.steps, key=lambda step: step.state == "same"):
        steps = list(group)
        if is_same:
            first, last = steps[0], steps[-1]
            more = f" to {last.a} {last.b}" if len(steps) > 1 else ""
            lines.append(Text(f"{first.a:>3} {first.b:>3}{more}  {counted(len(steps), 'step')} the same", style="dim"))
        else:
            lines.extend(line for step in steps for line in _step_lines(step))
    if found.same_answer:
        return [*lines, Text(_cut(f"the answer is the same: {_line(found.answer_a)}"))]
    return [
        *lines,
        Text("the answer differs:"),
        Text(_cut(f"    A: {_line(found.answer_a)}"), style="red"),
        Text(_cut(f"    B: {_line(found.answer_b)}"), style="green"),
    ]


def _step_lines(step: StepComparison) -> list[Text]:
    here = "-" if step.a is None else str(step.a)
    there = "-" if step.b is None else str(step.b)
    words = {"only_a": "only in A", "only_b": "only in B"}.get(step.state, f"differs in {', '.join(step.differs)}")
    lines = [Text(_cut(f"{here:>3} {there:>3}  {_line(step.agent)}: {words}"), style=_STYLES[step.state])]
    if step.a is not None:
        lines.append(Text(_cut(f"         A: {_line(step.text_a)}")))
    if step.b is not None:
        lines.append(Text(_cut(f"         B: {_line(step.text_b)}")))
    return lines


def _line(text: str | None) -> str:
    return " ".join((text or "").split()) or "(nothing)"


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
