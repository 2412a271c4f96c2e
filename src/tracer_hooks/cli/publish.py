"""``tracer-hooks publish``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracer_hooks.cli._options import Json, Store, existing_store
from tracer_hooks.cli.console import FAILED, err, out, print_json
from tracer_hooks.config import CaptureConfig, publish_urls
from tracer_hooks.errors import BackendError, ConfigError, StoreError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.publishing import Destination
    from tracer_hooks.store import RunStore
    from tracer_hooks.telemetry import Capture


def publish_command(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="RUN... TO", help="Ids of stored runs; then a URL, as in hook(publish=)."),
    ],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Write the diagnoses of stored runs to their traces in Phoenix, MLflow or Langfuse.

    TO is such as phoenix://localhost:6006/project; without it, TRACER_HOOKS_PUBLISH says where to. What is there
    already is brought up to date. Texts of the runs go along only where TRACER_HOOKS_CAPTURE lets them.
    """
    from tracer_hooks.publishing import destinations_of
    from tracer_hooks.telemetry import Capture

    runs = [target for target in targets if "://" not in target]
    urls = [target for target in targets if "://" in target] or publish_urls()
    if not urls or not runs:
        raise ConfigError("expected runs and a URL, as in: tracer-hooks publish RUN phoenix://localhost:6006/project")
    destinations, capture, results = destinations_of(urls), Capture(CaptureConfig.from_env()), []
    with existing_store(store) as kept:
        for run in runs:
            for destination in destinations:
                result = {"run_id": run, "to": destination.url, **_published(kept, run, destination, capture)}
                results.append(result)
                if not as_json:
                    _show(result)
    if as_json:
        print_json({"results": results})
    elif capture.export_policy.blocks_all:
        err().print("Texts of runs stay here; TRACER_HOOKS_CAPTURE=redacted sends what was found, too", soft_wrap=True)
    if any("error" in result for result in results):
        raise typer.Exit(FAILED)


def _published(kept: RunStore, run_id: str, destination: Destination, capture: Capture) -> dict[str, Any]:
    """What was written of a run, or why nothing was."""
    from tracer_hooks.publishing import publish_now

    try:
        run = kept.get(run_id, with_tape=False)
        if run.attribution is None:
            return {"error": f"it has no diagnosis. Next: tracer-hooks diagnose {run.run_id[:12]}"}
        written = publish_now(destination, run.trajectory, run.attribution, capture)
    except (BackendError, StoreError) as error:
        return {"error": str(error)}
    if not written:
        return {"error": "the run has no trace"}
    entries = [{"name": each.name, "label": each.label, "span_id": each.span_id} for each in written]
    return {"trace_id": run.trajectory.trace_id, "written": entries}


def _show(result: dict[str, Any]) -> None:
    head = f"{result['run_id'][:12]}  {result['to']}: "
    if "error" in result:
        out().print(f"{head}not written: {result['error']}", style="red", soft_wrap=True)
        return
    entries = (
        f"{each['name']}={each['label']} at {'span ' + each['span_id'] if each['span_id'] else 'the trace'}"
        for each in result["written"]
    )
    out().print(f"{head}{', '.join(entries)} (trace {result['trace_id']})", soft_wrap=True)
