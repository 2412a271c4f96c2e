"""The work of ``tracer-hooks improve``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracer_hooks._api import Improvement, ImproveOptions
from tracer_hooks._api.improving import ImproveEstimate, Improver, told
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._improve_shown import ImproveBars, estimate_words, improvement_parts
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.cli._work_folder import work_folder
from tracer_hooks.config import store_path
from tracer_hooks.endpoint import Chat, Endpoint, endpoint_chat
from tracer_hooks.errors import BudgetSpentError, ConfigError
from tracer_hooks.report import write_improvement
from tracer_hooks.store import PromptStore
from tracer_hooks.suites import load_tasks


@dataclass(frozen=True, kw_only=True)
class WritingModel:
    """The model that writes prompts, as it was named."""

    base_url: str
    model: str
    function: str | None

    def chat(self) -> Chat:
        """Asks it.

        Raises:
            ConfigError: No model is named.
            MissingExtraError: The client is not installed.
        """
        if self.function is not None:
            found: Chat = load_function(self.function, option="--writer-model")
            return found
        if not self.base_url or not self.model:
            raise ConfigError(
                "improve needs the model that writes, expected --base-url URL and --model NAME, or a function "
                "of yours that asks one: --writer-model MODULE:chat"
            )
        endpoint = Endpoint.from_env(base_url=self.base_url, model=self.model)
        return endpoint_chat(endpoint, needed_by=f"`tracer-hooks {self.command}` with a model behind an endpoint")


@dataclass(frozen=True, kw_only=True)
class ImproveJob:
    """One call of the command."""

    team: str
    tasks: Path
    check: str | None
    model: WritingModel
    out: Path | None
    store: Path | None
    from_store: bool
    options: ImproveOptions
    dry_run: bool
    report: Path | None
    as_json: bool

    def run(self) -> int:
        """Estimate, improve, and show; gives the exit code."""
        if store_path(self.store) is None:
            raise ConfigError(
                "the run store is switched off by TRACER_HOOKS_STORE='off', and prompts are kept there; expected a "
                "path. Give one with --store"
            )
        with redirect_stdout(sys.stderr), ImproveBars(err()) as bars:  # what the team prints is no result of ours
            improver = self._improver(bars)
            estimate = self._estimate(improver)
            bars.say(estimate_words(estimate))
            if not self.dry_run:
                try:
                    result = improver.run()
                except KeyboardInterrupt:
                    bars.say("Interrupted. What was run is kept: give the same command again, and it goes on.")
                    raise
        if self.dry_run:
            if self.as_json:
                print_json({**asdict(estimate), "tokens": estimate.tokens})
            return DONE
        self._show(result)
        return FAILED if result.outcome == "stopped" else DONE

    def _improver(self, bars: ImproveBars) -> Improver:
        return Improver(
            load_object(self.team, option="MODULE:build_team"),
            load_tasks(self.tasks),
            chat=self.model.chat(),
            check=load_function(self.check, option="--check"),
            folder=self._folder(),
            store=self.store,
            from_store=self.from_store,
            options=self.options,
            on_progress=bars.show,
        )

    @staticmethod
    def _estimate(improver: Improver) -> ImproveEstimate:
        try:
            return improver.estimate()
        except BudgetSpentError:
            return improver.estimate(probes=0)

    def _folder(self) -> Path:
        return self.out or work_folder("improvement", self.team)

    def _show(self, result: Improvement) -> None:
        steps = tuple(self._next(result))
        found = told(result, next_steps=steps)
        if self.report is not None:
            self._write_report(found)
        if self.as_json:
            print_json(
                {
                    **result.model_dump(mode="json"),
                    "folder": str(self._folder()),
                    "report": None if self.report is None else str(self.report),
                    "next": list(steps),
                }
            )
            return
        for part in improvement_parts(found):
            out().print(part, soft_wrap=True)

    def _write_report(self, found: Any) -> None:
        assert self.report is not None
        try:
            write_improvement(self.report, found)
        except OSError as error:
            raise ConfigError(
                f"cannot write {str(self.report)!r}: {error.strerror}; expected a path for --report"
            ) from error
        err().print(f"report: {self.report}", soft_wrap=True)

    def _next(self, result: Improvement) -> Iterator[str]:
        """What to do now."""
        if result.outcome == "accepted":
            version = f"{result.version}{self._named(result.team)}"
            yield f"Look at them: `tracer-hooks prompts show {version}`"
            yield 'Use them: `hook(prompts="accepted")` in your code. Without it nothing changes.'
            yield f"Take them back: `tracer-hooks prompts rollback {version}`"
        elif result.outcome == "on trial" and not result.stopped:
            most = self.options.rule.most_pairs
            if len(result.pairs) >= most:
                yield f"Go on with more pairs: `{_again('--pairs', str(2 * most))}`"
        elif result.outcome in ("rejected", "nothing found"):
            yield (
                "The team's prompts stay as they are. Another seed, another model that writes or more tasks may find "
                f"better ones: `{_again('--seed', str(self.options.seed + 1), '--out', f'{self._folder()}-2')}`"
            )
        if result.stopped:
            yield "What was run is kept. Raise the limit or see to the model, and give the same command again."

    def _named(self, team: str) -> str:
        """The options that the commands for prompts need to find the team."""
        with PromptStore(self.store) as store:
            words = ["--team", team] if len(store.teams()) > 1 else []
        words += ["--store", str(self.store)] if self.store is not None else []
        return "".join(f" {shlex.quote(word)}" for word in words)


def _again(*changes: str) -> str:
    """The command that was given, with some options changed."""
    changed, kept, skips = changes[::2], [], False
    for word in sys.argv[1:]:
        if skips:
            skips = False
        elif word in changed:
            skips = True
        elif word.partition("=")[0] not in changed:
            kept.append(word)
    return shlex.join(["tracer-hooks", *kept, *changes])
