"""The options that say how runs ended, for the commands that read traces of others."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from tracer_hooks.errors import ConfigError

if TYPE_CHECKING:  # at run time with the work: the list of commands needs no records
    from tracer_hooks.datasets import Stated


class OutcomeName(StrEnum):
    """What ``--outcome`` takes."""

    FAILED = "failed"
    SUCCEEDED = "succeeded"
    UNKNOWN = "unknown"


Failed = Annotated[bool, typer.Option("--failed", help="The runs failed; short for --outcome failed.")]
Outcome = Annotated[
    Optional[OutcomeName],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--outcome", help="How the runs ended, whatever the traces say. Holds for every run in PATH."),
]
Reason = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--reason", help="Why they failed, such as 'expected 470, got 430'.", metavar="TEXT"),
]
Expected = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--expected",
        help="The right answer. Without --outcome the runs whose final answer differs from it are failed ones.",
        metavar="TEXT",
    ),
]


def stated_by(*, failed: bool, outcome: OutcomeName | None, reason: str | None, expected: str | None) -> Stated:
    """What the options say.

    Raises:
        ConfigError: They contradict each other.
    """
    from tracer_hooks.datasets import Stated
    from tracer_hooks.schema import RunOutcome

    if failed and outcome not in (None, OutcomeName.FAILED):
        raise ConfigError(f"--failed and --outcome {outcome} contradict each other, expected one of them")
    if reason is not None and not failed and outcome is None and expected is None:
        raise ConfigError("--reason says why runs failed, expected --failed or --expected with it. Next: add --failed")
    said = RunOutcome.FAILED if failed else RunOutcome(outcome) if outcome is not None else None
    for name, text in (("--reason", reason), ("--expected", expected)):
        if text is not None and not text.strip():
            raise ConfigError(f"{name} is empty, expected text. Next: leave {name} out")
    return Stated(outcome=said, reason=reason, expected=expected)
