"""A budget that ends an improvement anywhere: it says so, nothing is lost, and a larger one comes to the same end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import BudgetSpentError
from tracer_hooks.improvement import Improvement, ImproveOptions
from tracer_hooks.store import PromptState, PromptStore

from ._sums import carry, heeds_carry, improved, improver, options, team_builder

pytest.importorskip("gepa")


def capped(**limits: Any) -> ImproveOptions:
    return options(cap=CostCap(**limits))


def end_of(result: Improvement) -> dict[str, Any]:
    """What must not depend on how often a job was broken off."""
    whole = result.model_dump(mode="json", exclude={"seconds", "stopped", "provenance"})
    whole["provenance"] = {name: value for name, value in result.provenance.items() if name not in ("job", "runs")}
    return whole


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Improvement:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACER_HOOKS_STRICT", "1")
        return improved(tmp_path_factory.mktemp("undisturbed") / "job")


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        (0, "stopped"),
        (1, "stopped"),
        (5, "stopped"),
        (12, "stopped"),
        (25, "stopped"),
        (40, "on trial"),
        (90, "on trial"),
    ],
)
def test_runs_that_end_in_any_phase(tmp_path: Path, undisturbed: Improvement, runs: int, outcome: str) -> None:
    result = improved(tmp_path / "job", options=capped(max_runs=runs))
    assert result.outcome == outcome
    assert result.stopped == f"the budget is spent: the cap of {runs} runs is reached"
    assert result.runs == runs
    assert result.unused is None
    assert (result.version is None) == (outcome == "stopped")
    if outcome == "on trial":
        assert result.reason.startswith(
            ("No task has been run with both", "It is too early to say", "There is a gain, but")
        )
        assert len(result.pairs) == result.evidence.get("pairs", 0)
    whole = improved(tmp_path / "job")
    assert end_of(whole) == end_of(undisturbed)
    with PromptStore(tmp_path / "job.sqlite") as store:
        (version,) = store.versions()
        assert version.state is PromptState.ACCEPTED
        assert version.trial.new_runs == len(whole.pairs)


def test_a_budget_that_ends_on_tasks_never_used_does_not_touch_the_decision(
    tmp_path: Path, undisturbed: Improvement
) -> None:
    result = improved(tmp_path / "job", options=capped(max_runs=undisturbed.runs - 3))
    assert (result.outcome, result.reason) == (undisturbed.outcome, undisturbed.reason)
    assert result.stopped
    assert result.unused is None
    assert end_of(improved(tmp_path / "job")) == end_of(undisturbed)


def test_tokens_of_the_writing_count(tmp_path: Path, undisturbed: Improvement) -> None:
    result = improved(tmp_path / "job", options=capped(max_tokens=10))
    assert result.outcome == "stopped"
    assert "the cap of 10 tokens is reached" in result.stopped
    assert result.writing.total == undisturbed.writing.total
    assert end_of(improved(tmp_path / "job")) == end_of(undisturbed)


def test_pairs_that_do_not_suffice_leave_it_on_trial_and_more_go_on(tmp_path: Path, undisturbed: Improvement) -> None:
    few = improved(tmp_path / "job", options=options(pairs=10))
    assert few.outcome == "on trial"
    assert few.stopped == ""
    assert len(few.pairs) == 10
    assert "too early to say" in few.reason
    assert few.unused is not None
    more = improved(tmp_path / "job")
    assert more.outcome == "accepted"
    assert more.pairs[:10] == few.pairs
    assert more.pairs == undisturbed.pairs
    assert more.runs == undisturbed.runs


def test_a_job_that_is_done_is_not_run_again(tmp_path: Path) -> None:
    seen: list[str] = []
    chat = carry()
    first = improved(tmp_path / "job", chat, team=team_builder(seen=seen))
    asked, ran = chat.asked, len(seen)
    again = improved(tmp_path / "job", chat, team=team_builder(seen=seen))
    assert (chat.asked, len(seen)) == (asked, ran)
    assert end_of(again) == end_of(first)
    under = improved(tmp_path / "job", chat, team=team_builder(seen=seen), options=capped(max_runs=20))
    assert under.outcome == "accepted", "what was run is not taken back by a smaller limit"


def test_more_workers_come_to_the_same_texts(tmp_path: Path, undisturbed: Improvement) -> None:
    result = improved(tmp_path / "job", options=options(workers=4))
    assert (result.outcome, result.texts, result.unused) == ("accepted", undisturbed.texts, undisturbed.unused)
    assert result.evidence["decided_after"] == undisturbed.evidence["decided_after"]


def test_the_estimate_counts_towards_the_job(tmp_path: Path, undisturbed: Improvement) -> None:
    job = improver(tmp_path / "job")
    guess = job.estimate(probes=0)
    assert (guess.runs, guess.tokens, guess.seconds_per_run) == (50 + 120 + 20, None, None)
    assert guess.tasks == {"propose": 16, "accept": 14, "unused": 10}
    measured = job.estimate()
    assert measured.runs == guess.runs
    assert measured.seconds_per_run is not None
    assert end_of(job.run()) == end_of(undisturbed)
    units = [json.loads(line)["unit"] for line in (tmp_path / "job" / "journal.jsonl").read_text().splitlines()]
    assert sum(unit.startswith("baseline/") for unit in units) == 8


def test_an_estimate_with_prices_and_tokens(tmp_path: Path) -> None:
    def build_team(prompts: Any = None) -> Any:
        team = team_builder(heeds_carry)(prompts)

        @tracer_hooks.model(name="counted")
        def ask(prompt: str) -> dict[str, Any]:
            return {"content": team(prompt), "usage": {"prompt_tokens": 30, "completion_tokens": 10}}

        return lambda task: ask(task)["content"]

    job = improver(tmp_path / "job", team=build_team, options=capped(input_price=1.0, output_price=2.0))
    estimate = job.estimate()
    assert estimate.tokens == 40 * estimate.runs
    assert estimate.cost == pytest.approx(estimate.runs * 50e-6)


def test_an_estimate_without_a_budget_for_it(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpentError):
        improver(tmp_path / "job", options=capped(max_runs=0)).estimate()
