"""Page of an evaluation: the same tables as on the terminal, with a bar behind each figure."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files

from tracer_hooks._text import counted
from tracer_hooks.evaluation._report import EvaluationReport
from tracer_hooks.evaluation._tables import group_size, tables_of

_DATASETS = {
    "whowhen": "Who&When",
    "aegis": "Aegis",
    "agentrx": "AgentRx",
    "trail": "TRAIL",
    "trajectory": "Labelled trajectories",
    "graded": "Graded runs",
}


def render_evaluation(report: EvaluationReport, *, made_at: datetime | None = None) -> str:
    """The page of an evaluation, self-contained: it loads nothing and runs no script.

    Args:
        report: What was measured.
        made_at: When; now by default.
    """
    from tracer_hooks.report import asset, environment

    attributors = [f"{name} ({version})" if version else name for name, version in report.attributors.items()]
    return (
        environment()
        .from_string(_asset("evaluation.html.j2"))
        .render(
            title=_DATASETS.get(report.dataset, report.dataset),
            report=report,
            facts=[counted(report.runs, "run"), ", ".join(attributors), f"tracer-hooks {report.tracer_hooks}"],
            groups=[(f"g{number}", group, list(tables_of(group))) for number, group in enumerate(report.groups)],
            group_size=group_size,
            style=asset("report.css") + _asset("evaluation.css"),
            made_at=made_at or datetime.now(UTC),
        )
    )


def _asset(name: str) -> str:
    return files("tracer_hooks.evaluation").joinpath("templates", name).read_text(encoding="utf-8")
