import re

import pytest
from rich.console import Console

from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.schema import AgentFault, DecisiveStep, ErrorMode, LabelSource
from tracer_hooks_lab.datasets._stats import UNKNOWN, DatasetStats, rate_of, stats, stats_markdown, stats_tables

from ._labelled_sets import labelled_set


def test_wilson_agrees_with_a_published_example() -> None:
    rate = rate_of(81, 263)  # Newcombe 1998, table I: 0.2553 to 0.3662
    assert (rate.low, rate.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    none, every = rate_of(0, 20), rate_of(20, 20)
    assert (none.low, none.high) == (0.0, pytest.approx(0.1611, abs=5e-5))
    assert (every.low, every.high) == (pytest.approx(0.8389, abs=5e-5), 1.0)
    assert rate_of(0, 0).value is None
    with pytest.raises(ValueError, match="expected between 0 and the 2 trials"):
        rate_of(3, 2)


def test_a_set_is_counted() -> None:
    found = stats(labelled_set(14))
    assert (found.labeled, found.clean, found.pairs, found.questions, found.discarded) == (28, 28, 28, 14, 4)
    assert found.counts["label source"] == {"injected": 28}
    assert found.counts["mode"]["FM-3.3"] == 2
    assert found.counts["architecture"] == {"round": 28}
    assert found.counts["reason"] == {"passed with the fault": 4}
    assert sum(found.counts["step"].values()) == sum(found.counts["position"].values()) == 28
    assert list(found.counts["step"]) == sorted(found.counts["step"], key=int)
    assert 5 <= found.lengths["labeled"].low <= found.lengths["labeled"].median <= found.lengths["labeled"].high <= 8
    assert (found.verified_failures.successes, found.verified_failures.trials) == (84, 84)
    assert (found.control_passes.successes, found.control_passes.trials) == (56, 56)
    first = found.yields[0]
    assert (first.mode, first.strategy) == ("FM-1.1", "corruption")
    assert (first.verified.successes, first.verified.trials) == (2, 6), "with what was discarded"
    assert (found.injection_yield.successes, found.injection_yield.trials) == (28, 32)
    assert found.cost.runs == pytest.approx((28 * 6 + 4 * 2) / 28)
    assert found.cost.tokens == pytest.approx((28 * 1000 + 4 * 100) / 28)
    assert found.cost.seconds == pytest.approx(2.5)
    assert DatasetStats.model_validate_json(found.model_dump_json()) == found


def test_replay_labels_have_their_own_rates_and_no_yield() -> None:
    dataset = labelled_set(3, source=LabelSource.COUNTERFACTUAL)
    counts = {"trials": 4, "flips": 3, "controls": 4, "control_flips": 0, "random_trials": 2, "random_flips": 1}
    items = tuple(item.model_copy(update={"verification": {**counts}}) for item in dataset.labeled)
    found = stats(LabeledSet(labeled=items))
    assert (found.flips.successes, found.flips.trials) == (18, 24)
    assert (found.control_flips.successes, found.random_flips.successes) == (0, 6)
    assert found.yields == ()
    assert found.injection_yield.value is None
    assert found.counts["writer"] == {"-": 6}


def test_missing_and_impossible_counts_are_left_out() -> None:
    odd = [{}, {"faulty_runs": 3}, {"faulty_runs": 2, "faulty_failures": 5}, {"faulty_runs": 3, "faulty_failures": 2}]
    items = [item.model_copy(update={"verification": v}) for item, v in zip(labelled_set(2).labeled, odd, strict=True)]
    found = stats(LabeledSet(labeled=tuple(items)))
    assert (found.verified_failures.successes, found.verified_failures.trials) == (2, 3)
    assert found.cost.tokens is None


def test_a_run_whose_step_is_not_known_counts_by_its_faults() -> None:
    faults = (AgentFault(agent="Solver", error_mode=ErrorMode.FM_2_3), AgentFault(agent="Writer"))
    first, *others = labelled_set(2).labeled
    outside = others[0].model_copy(update={"decisive": DecisiveStep(agent="Planner", step=99)})
    found = stats(LabeledSet(labeled=(first.model_copy(update={"decisive": None, "faults": faults}), outside)))
    assert found.counts["mode"] == {"FM-2.3": 1, UNKNOWN: 2}
    assert found.counts["agent"] == {"Solver": 1, "Writer": 1, "Planner": 1}
    assert set(found.counts["position"].values()) == {0}


def test_what_is_not_recorded_has_no_table() -> None:
    items = tuple(item.model_copy(update={"verification": {}}) for item in labelled_set(2).labeled)
    text = stats_markdown(stats(LabeledSet(labeled=items)))
    assert "Labelled runs by framework" in text
    assert "Labelled runs by writer" not in text
    empty = stats(LabeledSet())
    assert (empty.labeled, empty.questions, empty.lengths) == (0, 0, {})
    assert "labelled runs" in stats_markdown(empty)
    assert "### Verification" not in stats_markdown(empty)
    many = enumerate(labelled_set(20).labeled)
    rows = tuple(item.model_copy(update={"verification": {"suite": f"suite {number}"}}) for number, item in many)
    shown = stats_markdown(stats(LabeledSet(labeled=rows)))
    assert re.search(r"\| \d+ more \| \d+ \| \d+\.\d% \|", shown), "of many values the most common are shown"


def test_yield_counts_tool_faults_and_no_natural_failures() -> None:
    item = labelled_set(1).labeled[0]
    decisive = item.decisive.model_copy(update={"error_mode": None})
    kept = item.model_copy(
        update={"decisive": decisive, "verification": item.verification | {"strategy": "tool fault"}}
    )
    discarded = ({"mode": None, "strategy": "tool fault"}, {"mode": None, "strategy": None, "reason": "none found"})
    (one,) = stats(LabeledSet(labeled=(kept,), discarded=discarded)).yields
    assert (one.mode, one.strategy, one.verified.successes, one.verified.trials) == ("-", "tool fault", 1, 2)


def test_terminal_and_card_show_the_same_figures() -> None:
    found = stats(labelled_set(14))
    console = Console(width=100)
    with console.capture() as shown:
        console.print(stats_tables(found))
    for text in (shown.get(), stats_markdown(found)):
        assert "Injection yield" in text
        assert "2 / 6" in text
        assert "33.3 [9.7, 70.0]" in text
    assert "| FM-1.1 | corruption | 2 / 6 |" in stats_markdown(found)
