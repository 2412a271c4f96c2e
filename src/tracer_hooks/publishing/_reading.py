"""Failed traces of a Phoenix project or an MLflow experiment, read over HTTP into runs as those of a file are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from tracer_hooks._text import counted
from tracer_hooks.datasets import NO_RUN, LoadedRecord, refused, runs_of
from tracer_hooks.errors import BackendError, ConfigError
from tracer_hooks.publishing._destinations import Destination, send_request
from tracer_hooks.telemetry import decode_spans

_PAGE = 100
_SPANS = 200
"""Spans that one request to Phoenix asks for: each may hold a whole conversation."""
_AT_ONCE = 10
"""Traces whose spans one request to MLflow asks for."""
_TIMEOUT_S = 60.0


def traces_in(
    destination: Destination, *, since: datetime | None = None, limit: int = _PAGE, only_failed: bool = True
) -> Iterator[LoadedRecord]:
    """Yield the runs of the traces in a project, newest first, as :func:`tracer_hooks.datasets.load` those of a file.

    A source is the project's URL with ``#`` and the trace's id. Traces that hold no run, such as those of a web server
    or of the making of an agent, are passed over; if all do, one record says so.

    Args:
        destination: Phoenix or MLflow; its project is by default Phoenix' ``default``, or MLflow's experiment ``0``.
        since: Only traces that began then or later.
        limit: So many traces at most.
        only_failed: Only those that the backend itself shows as failed: in MLflow those whose state is an error, in
            Phoenix those with a span whose status is one.

    Raises:
        ConfigError: Traces cannot be read from such a backend.
        BackendError: It cannot be read; the message says why.
    """
    if destination.kind == "langfuse":
        raise ConfigError("traces are read from Phoenix and MLflow, and Langfuse is neither. Export them to a file")
    read = _phoenix if destination.kind == "phoenix" else _mlflow
    found, passed_over = False, 0
    for trace_id, nodes in islice(read(destination, since, min(limit, _PAGE), only_failed), limit):
        source = f"{destination.url.rstrip('/')}#{trace_id}"
        content = decode_spans(nodes, f"trace {trace_id}")
        damaged = [refused(source, str(error)) for error in content.errors]
        records = [*runs_of(content.spans, source), *damaged]
        found, passed_over = found or bool(records), passed_over + (not records)
        yield from records
    if passed_over and not found:
        yield refused(destination.url, f"the spans of {counted(passed_over, 'trace')} are {NO_RUN}")


_Spans = Iterator[tuple[str, list[Any]]]


def _phoenix(destination: Destination, since: datetime | None, page: int, only_failed: bool) -> _Spans:
    path = f"/v1/projects/{quote(destination.project or 'default', safe='')}"
    asked = {"sort": "start_time", "order": "desc", "limit": page}
    if since is not None:
        asked["start_time"] = since.isoformat()
    if only_failed:
        asked["error"] = "true"
    for trace in _pages_of_phoenix(destination, f"{path}/traces", asked):
        trace_id = _text(destination, trace, "trace_id")
        of_trace = {"trace_id": trace_id, "limit": _SPANS}
        yield trace_id, list(_pages_of_phoenix(destination, f"{path}/spans/otlpv1", of_trace))


def _pages_of_phoenix(destination: Destination, path: str, asked: Mapping[str, object]) -> Iterator[Any]:
    cursor: dict[str, object] = {}
    while True:
        answer = _asked(destination, "GET", f"{path}?{urlencode({**asked, **cursor})}")
        yield from _listed(destination, answer, "data")
        if not answer.get("next_cursor"):
            return
        cursor = {"cursor": answer["next_cursor"]}


_TRACES = "/api/3.0/mlflow/traces"
_EXPERIMENTS = "/api/2.0/mlflow/experiments"


def _mlflow(destination: Destination, since: datetime | None, page: int, only_failed: bool) -> _Spans:
    conditions = ["trace.status = 'ERROR'"] if only_failed else []
    if since is not None:
        conditions.append(f"trace.timestamp_ms >= {int(since.timestamp() * 1000)}")
    asked = {
        "locations": [
            {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": _experiment_id(destination)}}
        ],
        "max_results": page,
        "order_by": ["timestamp_ms DESC"],
        **({"filter": " AND ".join(conditions)} if conditions else {}),
    }
    while True:
        answer = _asked(destination, "POST", f"{_TRACES}/search", asked)
        found = [_text(destination, trace, "trace_id") for trace in _listed(destination, answer, "traces")]
        for start in range(0, len(found), _AT_ONCE):
            yield from _spans_of_mlflow(destination, found[start : start + _AT_ONCE])
        if not answer.get("next_page_token"):
            return
        asked["page_token"] = answer["next_page_token"]


def _spans_of_mlflow(destination: Destination, ids: list[str]) -> _Spans:
    answer = _asked(destination, "GET", f"{_TRACES}/batchGet?{urlencode({'trace_ids': ids}, doseq=True)}")
    spans = {
        _text(destination, trace.get("trace_info"), "trace_id"): trace.get("spans") or []
        for trace in _listed(destination, answer, "traces")
    }
    for trace_id in ids:
        yield trace_id, spans.get(trace_id, [])


def _experiment_id(destination: Destination) -> str:
    """The experiment that is named, by its id or its name; a search in one that is not there finds nothing."""
    named = destination.project or "0"
    if named.isdecimal():
        answer = _asked(destination, "GET", f"{_EXPERIMENTS}/get?{urlencode({'experiment_id': named})}")
    else:
        answer = _asked(destination, "GET", f"{_EXPERIMENTS}/get-by-name?{urlencode({'experiment_name': named})}")
    return _text(destination, answer.get("experiment"), "experiment_id")


def _asked(destination: Destination, method: str, path: str, body: object = None) -> dict[str, Any]:
    """The object that is answered; that the project is not there is said in so many words."""
    try:
        answer = send_request(destination, method, path, body, timeout_s=_TIMEOUT_S)
    except BackendError as error:
        # MLflow says it as it says that a trace is not there, Phoenix in words of its own.
        if error.status == 404 and (error.kind == "missing" or "Project with name" in str(error)):
            what, named = ("experiment", "0") if destination.kind == "mlflow" else ("project", "default")
            step = f"The {what} is the last part of the URL; see which there are at {destination.address}"
            reason = f"has no {what} {destination.project or named!r}"
            raise destination.failure("refused", reason, status=404, next_step=step) from None
        raise
    if not isinstance(answer, dict):
        raise _odd(destination)
    return answer


def _listed(destination: Destination, answer: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects under ``key``; MLflow leaves an empty list out."""
    found = answer.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _odd(destination)
    return found


def _text(destination: Destination, node: object, key: str) -> str:
    found = node.get(key) if isinstance(node, dict) else None
    if not isinstance(found, str):
        raise _odd(destination)
    return found


def _odd(destination: Destination) -> BackendError:
    return destination.failure("odd", "gives traces in another form than expected")
