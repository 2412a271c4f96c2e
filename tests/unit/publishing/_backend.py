"""A server on loopback that answers as Phoenix, MLflow and Langfuse do, and fails as a test wants it to."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tracer_hooks.schema import Attribution, Finding, FindingKind, RunOutcome, Step, Trajectory

TRACE, SPAN, OTHER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
TEXT = "says 12 where stock returned 17"


def failed_run(trace_id: str | None = TRACE, **changes: Any) -> Trajectory:
    """Two steps, the second of which is wrong."""
    steps = [
        Step(index=0, agent="lookup", content="17", span_id=OTHER),
        Step(index=1, agent="clerk", content="12", span_id=SPAN),
    ]
    values = {"run_id": "r1", "team": "t", "outcome": RunOutcome.FAILED, "trace_id": trace_id, "steps": steps}
    return Trajectory(framework="plain", task="how many?", **{**values, **changes})


def blamed(step: int = 1, *, contributing: int | None = None) -> Attribution:
    """The diagnosis that names ``step``."""
    agents = ("lookup", "clerk")
    places = [step] if contributing is None else [step, contributing]
    findings = tuple(
        Finding(
            kind=FindingKind.WRONG_CALCULATION,  # an error of the step's own, which alone can contribute
            step=place,
            agent=agents[place],
            quote="12",
            text=TEXT,
            leads_to_answer=True,
        )
        for place in places
    )
    return Attribution(
        run_id="r1",
        agent=agents[step],
        step=step,
        confidence=0.95,
        agent_confidence=0.95,
        findings=findings,
        attributor="structural/1",
    )


class ScriptedBackend:
    """What the three backends keep of annotations, by their own rules.

    Attributes:
        requests: All that came: method, path, body, headers.
        entries: What Phoenix and Langfuse keep, by what makes it one entry; of MLflow, by id.
        traces: Traces and spans that have arrived; None for all.
        failure: What is answered instead: a status and a body.
        hangs: Whether requests are never answered.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any, dict[str, str]]] = []
        self.entries: dict[Any, dict[str, Any]] = {}
        self.traces: set[str] | None = None
        self.failure: tuple[int, str] | None = None
        self.hangs = threading.Event()
        self.port = 0

    def url(self, kind: str) -> str:
        return f"{kind}{'+http' if kind == 'langfuse' else ''}://127.0.0.1:{self.port}" + (
            "" if kind == "langfuse" else "/office"
        )

    def is_here(self, *ids: str) -> bool:
        return self.traces is None or self.traces.issuperset(ids)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.failure is not None:
            return self.failure
        if path.startswith("/v1/"):
            return self._phoenix(path, body)
        if path.startswith("/api/3.0/mlflow/traces/"):
            return self._mlflow(method, path, body)
        if (method, path) == ("POST", "/api/public/scores"):
            self.entries[body["id"]] = body
            return 200, {"id": body["id"]}
        return 404, "<html>nothing here</html>"

    def _phoenix(self, path: str, body: Any) -> tuple[int, Any]:
        place = {"/v1/span_annotations?sync=true": "span_id", "/v1/trace_annotations?sync=true": "trace_id"}[path]
        missing = [each[place] for each in body["data"] if not self.is_here(each[place])]
        if missing:
            return 404, f"Spans with IDs {', '.join(missing)} do not exist."
        for each in body["data"]:
            self.entries[(each["name"], each[place], each["identifier"])] = each
        return 200, {"data": [{"id": "U3Bhbg=="} for _ in body["data"]]}

    def _mlflow(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        found = re.fullmatch(r"/api/3.0/mlflow/traces/tr-([0-9a-f]{32})(/assessments)?(?:/(.+))?", path)
        assert found is not None
        if not self.is_here(found[1]):
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Trace not found."}
        if method == "GET":
            return 200, {"trace": {"trace_info": {"assessments": list(self.entries.values())}}}
        if method == "DELETE":
            del self.entries[found[3]]
            return 200, {}
        given = body["assessment"]
        if method == "PATCH":
            assert found[3] in self.entries
            self.entries[found[3]].update({key: given[key] for key in body["update_mask"].split(",")})
        elif given["assessment_id"] in self.entries:
            return 500, {"error_code": "INTERNAL_ERROR", "message": "due to a constraint violation."}
        else:
            self.entries[given["assessment_id"]] = given
        return 200, {"assessment": given}


@contextmanager
def serving(backend: ScriptedBackend, port: int = 0) -> Iterator[ScriptedBackend]:
    """The backend on loopback, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(size)) if size else None
            backend.requests.append((self.command, self.path, body, dict(self.headers)))
            while backend.hangs.is_set():
                time.sleep(0.01)
            status, answer = backend.answer(self.command, self.path, body)
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Location", "https://elsewhere.example/login?token=SECRET")
            with suppress(OSError):  # nobody waits for the answer any more
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _handle

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    backend.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield backend
    finally:
        backend.hangs.clear()
        server.shutdown()
        server.server_close()
        thread.join()
