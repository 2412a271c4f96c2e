"""The work of ``tracer-hooks replay``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from tracer_hooks._api.rerunning import counterfactual, find_decisive_step, replay_run
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._fault_options import tool_rules
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.cli._replay_shown import TrialProgress, counterfactual_shown, search_shown, tested_line
from tracer_hooks.endpoint import Endpoint, endpoint_chat
from tracer_hooks.errors import ConfigError, ReplayError, StoreError, TapeMismatchError, TracerHooksError
from tracer_hooks.replay import Correction, CostCap, GuidanceProposer, Proposer, Replayed, proposers_of
from tracer_hooks.store import RunStore, StoredRun


@dataclass(frozen=True, kw_only=True)
class ReplayJob:
    """One call of the command."""

    run: str
    step: int | None
    correction: str | None
    correction_file: Path | None
    guidance: str | None
    find: bool
    team: str | None
    check: str | None
    expected: str | None
    task: str | None
    trials: int
    suspect_trials: int
    tools: Sequence[str]
    lenient: bool
    proposer: str
    base_url: str
    model: str
    max_runs: int | None
    max_tokens: int | None
    max_seconds: float | None
    store: Path | None
    as_json: bool

    def work(self) -> int:
        """Replay, and show what came of it; gives the exit code."""
        if self.find and self.step is not None:
            raise ConfigError("--find looks for the step itself; expected either --find or --from K, not both")
        correction, proposers = self._correction(), self._proposers()
        if self.step is not None and len(proposers) > 1:
            raise ConfigError(f"--from K has one correction, expected one proposer, not {self.proposer!r}")
        stored = _stored(self.run, self.store)
        if self.task is not None:
            stored = stored.model_copy(update={"task": self.task})
        if self.team is None:
            raise ConfigError(
                f"run {stored.run_id!r} cannot be made again without its team; expected what builds it. "
                f"Run: tracer-hooks replay {self.run} --team MODULE:build_team"
            )
        with redirect_stdout(sys.stderr):  # what the user's code prints is no part of our document
            arguments = self._arguments(self.team)
        if self.find:
            return self._find(stored, arguments)
        if self.step is not None:
            return self._counterfactual(stored, self.step, correction, arguments)
        return self._whole(stored, arguments)

    def _correction(self) -> Correction | None:
        named = {
            "--correction": self.correction,
            "--correction-file": self.correction_file,
            "--guidance": self.guidance,
        }
        given = [name for name, value in named.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} are both given, expected one correction")
        if given and self.step is None:
            raise ConfigError(f"{given[0]} needs the step that it is for. Run: tracer-hooks replay {self.run} --from K")
        if self.guidance is not None:
            return Correction(guidance=self.guidance)
        if self.correction_file is not None:
            return Correction(content=_text_of(self.correction_file))
        return None if self.correction is None else Correction(content=self.correction)

    def _proposers(self) -> tuple[Proposer, ...]:
        """Those who write corrections, in order."""
        names = [name.strip() for name in self.proposer.split(",")]
        return proposers_of([self._writer() if name == GuidanceProposer.name else name for name in names])

    def _writer(self) -> Proposer:
        if not self.base_url or not self.model:
            raise ConfigError(
                "--proposer guidance needs the model that writes, expected --base-url URL and --model NAME"
            )
        endpoint = Endpoint.from_env(base_url=self.base_url, model=self.model)
        return GuidanceProposer(endpoint_chat(endpoint, needed_by="`tracer-hooks replay --proposer guidance`"))

    def _arguments(self, team: str) -> dict[str, Any]:
        return {
            "build_team": load_object(team, option="--team"),
            "check": load_function(self.check, option="--check"),
            "expected": self.expected,
            "tools": tool_rules(self.tools, others=None) or None,
            "mode": "lenient" if self.lenient else "strict",
        }

    def _searching(self, arguments: Mapping[str, Any], progress: TrialProgress) -> dict[str, Any]:
        cap = CostCap(max_runs=self.max_runs, max_tokens=self.max_tokens, max_seconds=self.max_seconds)
        more = {
            "trials": self.trials,
            "suspect_trials": self.suspect_trials,
            "proposer": self._proposers(),
            "cap": cap,
            "on_trial": progress.trial_ended,
        }
        return {**arguments, **more}

    def _whole(self, stored: StoredRun, arguments: Mapping[str, Any]) -> int:
        try:
            with _team_at_work(self.team):
                replayed = replay_run(stored, **arguments)
        except TapeMismatchError as error:
            if self.as_json:
                print_json({"run": stored.run_id, "reproduced": False, "reason": str(error)})
                return FAILED
            raise
        same = _answer_of(replayed) == (stored.trajectory.final_output or "")
        reproduced = replayed.is_from_tape and same
        if self.as_json:
            print_json(_whole_document(stored, replayed, reproduced=reproduced, same_answer=same))
        else:
            _show_whole(replayed, reproduced=reproduced, same_answer=same)
        return DONE if reproduced else FAILED

    def _counterfactual(
        self, stored: StoredRun, step: int, correction: Correction | None, arguments: Mapping[str, Any]
    ) -> int:
        with TrialProgress(err(), f"step {step}") as progress, _team_at_work(self.team):
            result = counterfactual(stored, step=step, correction=correction, **self._searching(arguments, progress))
        if self.as_json:
            print_json({**result.model_dump(mode="json"), "effect": result.effect})
        else:
            out().print(counterfactual_shown(result), soft_wrap=True)
        return DONE

    def _find(self, stored: StoredRun, arguments: Mapping[str, Any]) -> int:
        with TrialProgress(err(), "searching") as progress, _team_at_work(self.team):
            searching = self._searching(arguments, progress)
            searching["on_test"] = lambda test: progress.say(tested_line(test))
            found = find_decisive_step(stored, **searching)
        if self.as_json:
            print_json(found.model_dump(mode="json"))
        else:
            out().print(search_shown(found), soft_wrap=True)
        return DONE


@contextmanager
def _team_at_work(team: str | None) -> Iterator[None]:
    """What the team prints goes to stderr; an error that is not ours is its factory's, since a run keeps its own."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except TracerHooksError:
        raise
    except Exception as error:
        raise ReplayError(
            f"the team {team!r} could not be built again: {type(error).__name__}: {error}. Call it once by "
            "itself to see where, or give another one with --team MODULE:NAME"
        ) from error


def _stored(run_id: str, store: Path | None) -> StoredRun:
    path = needed_store(store)
    with RunStore(path, read_only=True) as runs:
        if not runs.path.exists():
            raise StoreError(f"there is no run store at {str(runs.path)!r}. Hook a team, or run: tracer-hooks demo")
        return runs.get(run_id)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"--correction-file: {str(file)!r} cannot be read: {reason}. Run: ls -l {file}") from error


def _answer_of(replayed: Replayed) -> str:
    return replayed.trial.trajectory.final_output or ""


def _whole_document(stored: StoredRun, replayed: Replayed, *, reproduced: bool, same_answer: bool) -> dict[str, Any]:
    return {
        "run": stored.run_id,
        "reproduced": reproduced,
        "same_answer": same_answer,
        "served": replayed.served,
        "live": replayed.live,
        "outcome": str(replayed.trial.trajectory.outcome),
        "divergences": [{"step": one.step, "agent": one.agent, "reason": one.reason} for one in replayed.divergences],
    }


def _show_whole(replayed: Replayed, *, reproduced: bool, same_answer: bool) -> None:
    verdict = Text("reproduced", style="green") if reproduced else Text("not reproduced", style="red")
    verdict.append(f": {replayed.served} model calls from the tape, {replayed.live} live calls", style="default")
    out().print(verdict, soft_wrap=True)
    if not same_answer:
        out().print(Text(f"the answer differs: {_answer_of(replayed)[:200]!r}"), soft_wrap=True)
    for divergence in replayed.divergences:
        out().print(Text(str(divergence)), soft_wrap=True)
