"""The queue of failed runs to label, and what a form about one of them does."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tracer_hooks.errors import ConfigError, DatasetError, StoreError
from tracer_hooks.report import ReportRun
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.serving._labels import LOOKED_AT, LabelConflictError, queue_of, unlabelled
from tracer_hooks.serving._pages import LiveLinks, LivePages
from tracer_hooks.store import StoredRun

_MOST_FORM = 65_536
_AFTER = 8
"""Runs that are listed after the first."""


class LabelPages:
    """``/label``: GET shows the run that a label tells most about, POST gives a label or takes it back."""

    def __init__(self, pages: LivePages) -> None:
        self._pages = pages

    def show(self, request: Request) -> Response:
        """The queue, from the run on that is asked for with ``at``."""
        text = request.query_params.get("at", "") or "0"
        if not (text.isascii() and text.isdigit()):
            raise ConfigError(f"at is {text[:40]!r}, expected a number")
        desk, problem = self._pages.desk, ""
        labels: Mapping[str, LabeledTrajectory] = {}
        try:
            labels = desk.labels()
        except DatasetError as error:
            problem = str(error)
        left = unlabelled(self._pages.memory.get("queue", lambda: queue_of(self._pages.store)), labels)
        at = min(int(text[:9]), LOOKED_AT)
        asked = left[at] if at < len(left) and not problem else None
        run = self._read(asked[0].run_id) if asked is not None else None
        hint, commands = desk.commands(labels, run.run_id if run is not None else "")
        last = self._form(self._read(request.query_params.get("given", "")))
        queue = {
            "left": len(left), "labels": len(labels), "file": str(desk.path), "looked_at": LOOKED_AT,
            "problem": problem, "last": last if last is not None and last["given"] else None,
            "why": asked[1] if asked is not None else (), "form": self._form(run),
            "skip": f"/label?at={at + 1}" if at + 1 < len(left) else "",
            "hint": hint, "commands": commands, "rows": left[at + 1 : at + 1 + _AFTER], "links": LiveLinks(),
        }  # fmt: skip
        shown = ReportRun.of_stored([run]) if run is not None else ReportRun(attempts=[])
        return HTMLResponse(self._pages.render(shown, "label", template="label.html.j2", queue=queue))

    async def give(self, request: Request) -> Response:
        """Do what a form says."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_FORM:
                raise ConfigError(f"the form has more than {_MOST_FORM:,} bytes")
        return await run_in_threadpool(self._give, bytes(body))

    def _give(self, body: bytes) -> Response:
        sent = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        run_id, act, seen = sent.get("run", ""), sent.get("act", ""), sent.get("seen", "")
        if not self._pages.access.is_form_token(sent.get("token", ""), run_id):
            said = (
                "The form is not of this server, or older than its last start. Open the page again, and send it anew."
            )
            return self._pages.notice(403, "The label was not taken", said)
        run = self._pages.store.get(run_id, with_tape=False)
        try:
            if act == "undo":
                self._pages.desk.take_back(run.trajectory, seen=seen)
            elif act in ("right", "wrong"):
                step = sent.get("step", "")
                if not (step.isascii() and step.isdigit()):
                    raise ConfigError(f"step is {step[:40]!r}, expected the number of a step")
                mode = sent.get("mode", "") if act == "wrong" else _mode_of(run)
                self._pages.desk.give(run.trajectory, int(step[:9]), mode, seen=seen)
            else:
                raise ConfigError(f"act is {act[:40]!r}, expected right, wrong or undo")
        except LabelConflictError as error:
            return self._pages.notice(409, "The label was not taken", str(error))
        except DatasetError as error:
            return self._pages.notice(503, "The label was not taken", str(error))
        if sent.get("back") == "queue":
            return RedirectResponse("/label" if act == "undo" else f"/label?{urlencode({'given': run_id})}", 303)
        return RedirectResponse(f"{LiveLinks().run(run_id)}#label", 303)

    def _read(self, run_id: str) -> StoredRun | None:
        with contextlib.suppress(StoreError):  # deleted since
            return self._pages.store.get(run_id, with_tape=False)
        return None

    def _form(self, run: StoredRun | None) -> dict[str, Any] | None:
        return None if run is None else self._pages.form("a1", run, back="queue")


def _mode_of(run: StoredRun) -> str:
    """The error mode that the diagnosis names, which is right where the diagnosis is."""
    found = run.attribution
    return found.error_mode.value if found is not None and found.error_mode is not None else ""
