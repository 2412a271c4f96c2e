"""The weaker way: a process of its own with limits, in a temporary folder, behind an audit hook."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator

from tracer_hooks.suites._sandbox._child import INTERPRETER_FLAGS
from tracer_hooks.suites._sandbox._job import CHILD, ReportTo, Start
from tracer_hooks.suites._sandbox._limits import SandboxLimits


@contextlib.contextmanager
def in_process(report_to: ReportTo, limits: SandboxLimits) -> Iterator[Start]:
    """Start it in a temporary folder that is deleted afterwards."""
    stage = [str(CHILD), "enter", f"{report_to.lines},{report_to.started}", json.dumps(limits.bounds())]
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        yield Start(arguments=[sys.executable, *INTERPRETER_FLAGS, *stage], cwd=os.path.realpath(folder))
