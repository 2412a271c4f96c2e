"""``tracer-hooks eval``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tracer_hooks.attribution import get_attributor
from tracer_hooks.cli._console import DONE, FAILED, err, out_wide, print_json
from tracer_hooks.errors import TracerHooksError

if TYPE_CHECKING:
    from tracer_hooks.evaluation import EvaluationReport


@dataclass(frozen=True, kw_only=True)
class EvalJob:
    """One call of the command."""

    dataset: str
    data: Path
    attributors: Sequence[str]
    labels: Path | None
    with_reference: bool
    cross_validate: int | None
    detection: bool
    limit: int | None
    seed: int
    as_json: bool
    html: Path | None

    def run(self) -> int:
        """Measure, and show the figures; gives the exit code."""
        report = self._measure()
        self._write_page(report)
        if self.as_json:
            print_json(report.model_dump(mode="json"))
        else:
            _show(report)
        if report.problems:
            set_apart = "1 record or answer was" if len(report.problems) == 1 else f"{len(report.problems)} were"
            err().print(f"{report.runs} runs measured; {set_apart} set apart")
        return FAILED if report.problems else DONE

    def _measure(self) -> EvaluationReport:
        from tracer_hooks.evaluation import EvaluationOptions, evaluate, read_data, read_second_labels

        # wrong names are usage errors before any work, and so is what is not installed
        attributors = {name: get_attributor(name) for name in self.attributors}
        labels = () if self.labels is None else read_second_labels(self.labels)
        options = EvaluationOptions(
            with_reference=self.with_reference,
            detection=self.detection,
            cross_validate=self.cross_validate,
            seed=self.seed,
        )
        with _progress() as progress:
            reading = progress.add_task("reading", total=None)
            data = read_data(self.dataset, self.data, limit=self.limit, seed=self.seed, labels=labels)
            progress.remove_task(reading)
            asking = progress.add_task("diagnosing", total=len(data.cases))

            def tell(what: str, done: int, total: int) -> None:
                progress.update(asking, description=what, completed=done, total=total)

            return evaluate(data, attributors, options, progress=tell)

    def _write_page(self, report: EvaluationReport) -> None:
        from tracer_hooks.evaluation import render_evaluation

        if self.html is None:
            return
        try:
            self.html.parent.mkdir(parents=True, exist_ok=True)
            self.html.write_text(render_evaluation(report), encoding="utf-8")
        except OSError as error:
            raise TracerHooksError(
                f"cannot write {str(self.html)!r}: {error.strerror}; expected a path for --html"
            ) from error
        err().print(f"page: {self.html}", soft_wrap=True)


@contextmanager
def _progress() -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=err(), transient=True, disable=not err().is_terminal, redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:  # fmt: skip
        yield progress


def _show(report: EvaluationReport) -> None:
    from tracer_hooks.evaluation import evaluation_tables

    console = out_wide()
    console.print(evaluation_tables(report, width=console.width))
