"""``tracer-hooks publish``: diagnoses of stored runs into Phoenix, MLflow or Langfuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracer_hooks.cli._options import Json, Store, existing_store
from tracer_hooks.cli.console import FAILED, err, out, print_json
from tracer_hooks.config import CaptureConfig, ContentCapture, publish_urls
from tracer_hooks.errors import BackendError, ConfigError, StoreError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.publishing import Annotation, Destination
    from tracer_hooks.telemetry import Capture


def publish_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... TO",
            help="Ids of stored runs, or their beginnings; then where to, such as phoenix://localhost:6006/project.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write the diagnoses of stored runs to their traces in Phoenix, MLflow or Langfuse.

    TO is a URL, or several with commas between; without it, TRACER_HOOKS_PUBLISH says it. What is there already is
    brought up to date. What a run's people and models wrote goes along only where TRACER_HOOKS_CAPTURE lets it.
    """
    from tracer_hooks.publishing import destinations_of
    from tracer_hooks.telemetry import Capture

    named, runs = _split(targets)
    destinations, capture = destinations_of(named), Capture(CaptureConfig.from_env())
    results: list[Published] = []
    unusable: dict[Destination, str] = {}
    for run in runs:
        for result in _published(run, destinations, capture, store, unusable):
            results.append(result)
            if not as_json:
                result.show()
    if as_json:
        print_json({"results": [result.to_dict() for result in results]})
    elif capture.config.export is ContentCapture.OFF and any(result.written for result in results):
        err().print(
            "without texts of the runs; TRACER_HOOKS_CAPTURE=redacted sends what was found, too", soft_wrap=True
        )
    if any(result.error is not None for result in results):
        raise typer.Exit(FAILED)


def _split(targets: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Where to, and the runs."""
    runs = [target for target in targets if "://" not in target]
    named = tuple(target for target in targets if "://" in target) or publish_urls()
    if not named:
        raise ConfigError(
            "there is no URL to publish to, expected one after the runs, or TRACER_HOOKS_PUBLISH. For example: "
            f"tracer-hooks publish {targets[0]} phoenix://localhost:6006/project"
        )
    if not runs:
        raise ConfigError("there is no run to publish, expected ids of stored runs. See them: tracer-hooks runs list")
    return named, runs


@dataclass(frozen=True, kw_only=True)
class Published:
    """What became of one run at one backend."""

    run: str
    to: str
    trace_id: str | None = None
    written: Sequence[Annotation] = ()
    error: str | None = None

    def show(self) -> None:
        """Print one line."""
        if self.error is not None:
            out().print(f"{self.run[:12]}  not written to {self.to}: {self.error}", style="red", soft_wrap=True)
            return
        said = "; ".join(map(_in_words, self.written))
        out().print(f"{self.run[:12]}  {self.to}: {said} (trace {self.trace_id})", soft_wrap=True)

    def to_dict(self) -> dict[str, Any]:
        """The result as the command line's contract has it."""
        shown = {"run_id": self.run, "to": self.to}
        if self.error is not None:
            return {**shown, "error": self.error}
        entries = [
            {"name": each.name, "label": each.label, "span_id": each.span_id, "metadata": dict(each.metadata)}
            for each in self.written
        ]
        return {**shown, "trace_id": self.trace_id, "written": entries}


def _in_words(annotation: Annotation) -> str:
    place = "the trace" if annotation.span_id is None else f"step {annotation.metadata.get('step')}"
    return f"{annotation.name}={annotation.label} at {place}"


def _published(
    run: str,
    destinations: Sequence[Destination],
    capture: Capture,
    store: Path | None,
    unusable: dict[Destination, str],
) -> Iterator[Published]:
    """What becomes of a run at each backend; one in ``unusable``, which are added to, is not asked again."""
    from tracer_hooks.publishing import publish_now

    try:
        with existing_store(store) as kept:
            found = kept.get(run, with_tape=False)
        if found.attribution is None:
            raise StoreError(f"it has no diagnosis. Next: tracer-hooks diagnose {found.run_id[:12]}")
    except StoreError as error:
        yield from (Published(run=run, to=each.url, error=str(error)) for each in destinations)
        return
    for destination in destinations:
        written: Sequence[Annotation] = ()
        problem = unusable.get(destination)
        if problem is None:
            try:
                written = publish_now(destination, found.trajectory, found.attribution, capture)
                problem = None if written else "the run has no trace"
            except BackendError as error:
                problem = str(error)
                if error.kind not in ("missing", "refused"):
                    unusable[destination] = problem
        trace_id = found.trajectory.trace_id
        yield Published(run=found.run_id, to=destination.url, trace_id=trace_id, written=written, error=problem)
