"""The work of ``tracer-hooks inject``."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from tracer_hooks._api.rerunning import inject
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._fault_options import tool_rules
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.cli._replay_shown import TrialProgress
from tracer_hooks.endpoint import Endpoint, endpoint_chat
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.faults import FaultWriter, Injection, LLMWriter
from tracer_hooks.replay import CostCap
from tracer_hooks.schema import to_json

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, kw_only=True)
class InjectJob:
    """One call of the command."""

    team: str
    task: str
    fault: Mapping[str, Any]
    check: str | None
    expected: str | None
    rule: Mapping[str, int]
    clean_runs: int
    tools: Sequence[str]
    base_url: str
    model: str
    max_runs: int | None
    out: Path | None
    as_json: bool

    def work(self) -> int:
        """Inject, verify, and show what came of it; gives the exit code."""
        if self.fault["mode"] is None and self.fault["strategy"] in ("response_corruption", "prompt_injection"):
            raise ConfigError(f"a fault by {self.fault['strategy']} needs its mode, expected --mode FM-2.6 or another")
        with TrialProgress(err(), "injecting") as progress, redirect_stdout(sys.stderr):
            found = inject(
                load_object(self.team, option="TEAM"),
                self.task,
                self.fault,
                check=load_function(self.check, option="--check"),
                expected=self.expected,
                rule=self.rule,
                clean_runs=self.clean_runs,
                tools=tool_rules(self.tools),
                writer=self._writer(),
                cap=CostCap(max_runs=self.max_runs),
                on_trial=progress.trial_ended,
            )
        if self.out is not None and found.is_verified:
            _append(self.out, found)
        if self.as_json:
            print_json(_document(found, self.out))
        else:
            self._show(found)
        return DONE if found.is_verified else FAILED

    def _writer(self) -> FaultWriter | None:
        return llm_writer(self.base_url, self.model) if self.fault["writer"] == "llm" else None

    def _show(self, found: Injection) -> None:
        spec, applied = found.spec, found.applied
        mode = f" {spec.mode.value} ({spec.mode.title})" if spec.mode is not None else ""
        kind = f", {applied.kind}" if applied is not None else ""
        _print(Text(f"step {spec.step}, agent {spec.agent}:{mode} by {spec.strategy.value}{kind}", "bold"))
        if applied is not None:
            for line in _diff(applied.before, applied.after):
                _print(Text(line, _STYLES.get(line[:1], "")))
        checked = found.verification
        _print(Text(f"with the fault    {checked.faulty_failures} of {checked.faulty_runs} runs failed"))
        _print(Text(f"without it        {checked.control_passes} of {checked.control_runs} runs succeeded"))
        _print(
            Text(f"cost              {checked.runs} runs, {checked.tokens} live tokens, {checked.seconds:.1f} s", "dim")
        )
        if found.is_verified:
            _print(Text("verified", "bold green"))
            if self.out is not None:
                _print(Text(f"appended to {self.out}"))
        else:
            _print(Text.assemble(("discarded", "bold yellow"), f": {found.discarded}"))


def llm_writer(base_url: str, model: str) -> FaultWriter:
    """A language model that writes faults.

    Raises:
        ConfigError: It is not said where it is.
        MissingExtraError: The client is not installed.
    """
    if not base_url or not model:
        raise ConfigError("--writer llm needs the model that writes, expected --base-url URL and --model NAME")
    endpoint = Endpoint.from_env(base_url=base_url, model=model)
    return LLMWriter(endpoint_chat(endpoint, needed_by="--writer llm"))


def _append(path: Path, found: Injection) -> None:
    line = to_json(found.labeled()) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DatasetError(
            f"cannot write {str(path)!r}: {error.strerror or error}; expected a file for --out"
        ) from error


def _diff(before: str, after: str) -> list[str]:
    """What was changed, line by line; texts without a line in common as one block each."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def _document(found: Injection, path: Path | None) -> dict[str, Any]:
    spec = found.spec
    return {
        "verified": found.is_verified,
        "discarded": found.discarded,
        "fault": {**spec.model_dump(mode="json"), "fault_id": spec.fault_id},
        "applied": found.applied.model_dump(mode="json") if found.applied is not None else None,
        "verification": found.verification.model_dump(mode="json"),
        "clean_run_id": found.clean.run_id,
        "faulty_run_id": found.faulty.run_id if found.faulty is not None else None,
        "out": str(path) if path is not None and found.is_verified else None,
    }


def _print(line: Text) -> None:
    out().print(line, soft_wrap=True)
