"""Symptoms, flow, the ranking of MASPrism, and the logit, with numbers worked out by hand."""

from typing import Any

import numpy as np
import pytest

from tracer_hooks.diagnosis._reading import RunReading
from tracer_hooks.schema import Step, ToolCall, Trajectory
from tracer_hooks_models.prefill import PrefillFeatures
from tracer_hooks_models.prefill._fit import StepChoice, fit_logit, probabilities
from tracer_hooks_models.prefill._masprism import Suspects, rank, suspects_of
from tracer_hooks_models.prefill._signals import (
    SIGNALS,
    Compression,
    late_symptoms,
    lift,
    received,
    shows_error,
    signals_of,
    standardised,
    top_symptoms,
)


def features_of(surprise, attention, *, alone=None, counts=None) -> PrefillFeatures:
    steps = len(surprise)
    column = np.array(surprise, dtype=np.float32)
    return PrefillFeatures(
        surprise=np.stack([column, column * 2, column * 10], axis=1),
        alone=np.stack([np.array(surprise if alone is None else alone, dtype=np.float32)] * 3, axis=1),
        counts=np.array([10] * steps if counts is None else counts),
        attention=np.array(attention, dtype=np.float32),
        hidden=np.zeros((steps, 4), dtype=np.float16),
        peaks=np.zeros((steps, 2), dtype=np.int64),
        tokens=np.array([100, 100]),
    )


def trace_of(*contents: Any) -> RunReading:
    steps = tuple(Step(index=k, agent=f"agent{k % 2}", content=text) for k, text in enumerate(contents))
    return RunReading(Trajectory(run_id="r", steps=steps))


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("exitcode: 1 (execution failed)", True),
        ("Traceback (most recent call last)", True),
        ("I could not open the page", True),
        ("exitcode: 0 (execution succeeded)", False),
        ("there was no error at all", False),
        ('{"error": "", "is_in_loop": false}', False),
        ("the terror of it", False),
    ],
)
def test_words_of_failure_show_an_error_and_keys_of_json_do_not(text, shows) -> None:
    trace = trace_of(text)
    assert shows_error(trace, trace.steps[0]) == shows
    failed = Step(index=0, agent="a", tool_calls=(ToolCall(name="get", error="gone"),))
    assert shows_error(RunReading(Trajectory(run_id="r", steps=(failed,))), failed)


def test_a_fifth_of_the_steps_are_symptoms_words_of_failure_first() -> None:
    surprise = np.array([5, 1, 4, 2, 3, 0, 0, 0, 0, 0], dtype=np.float32)
    flagged = [False] * 10
    assert top_symptoms(surprise, flagged) == [0, 2]
    flagged[7] = True
    assert top_symptoms(surprise, flagged) == [0, 7]
    assert top_symptoms(surprise[:3], flagged[:3]) == [0]


def test_late_symptoms_are_the_answer_the_errors_and_the_late_surprises() -> None:
    trace = trace_of("a", "an error", "b", "c", "surprising", "d", "the answer is 4", "TERMINATE")
    surprise = np.array([9, 1, 1, 1, 8, 1, 1, 1], dtype=np.float32)
    assert late_symptoms(trace, surprise) == [1, 4, 6]


def test_flow_is_per_token_and_relative_to_the_steps_in_view() -> None:
    attention = np.array([[1, 0, 0, 0], [0.5, 0, 0, 0.5], [0.1, 0.4, 0, 0.5]], dtype=np.float32)
    counts = np.array([10, 20, 5])
    # densities 0.01 and 0.02, whose mean is 0.015
    np.testing.assert_allclose(received(attention, counts, [2]), [2 / 3, 4 / 3, 0], rtol=1e-6)
    # step 1 sees step 0 only, which is therefore at its mean
    np.testing.assert_allclose(received(attention, counts, [1, 2]), [(1 + 2 / 3) / 2, 4 / 3, 0], rtol=1e-6)


def test_lift_is_what_symptoms_add_to_the_attention_of_other_later_steps() -> None:
    attention = np.zeros((4, 5), dtype=np.float32)
    attention[2, :2] = [0.1, 0.3]
    attention[3, :2] = [0.3, 0.1]
    counts = np.array([10, 10, 10, 10])
    found = lift(attention, counts, [3])
    np.testing.assert_allclose(found[:2], [np.log(1.5 / 0.5), np.log(0.5 / 1.5)], rtol=1e-5)
    assert found[2] == found[3] == 0


def test_signals_are_named_columns() -> None:
    features = features_of([2, 4], [[0, 0, 1], [0.5, 0, 0.5]], alone=[3, 3], counts=[4, 9])
    table = dict(zip(SIGNALS, signals_of(trace_of("a", "b"), features).T, strict=True))
    assert table["surprise"].tolist() == [2, 4]
    assert table["mismatch"].tolist() == [-1, 1]
    assert table["length"].tolist() == pytest.approx([np.log(5), np.log(10)])
    assert table["flow"].tolist() == [1, 0]


def test_standardised_columns_have_mean_0_and_deviation_1_among_the_chosen() -> None:
    values = np.array([[1.0, 5.0], [3.0, 5.0], [100.0, 7.0]])
    assert standardised(values, [0, 1])[:2].tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert not standardised(values, []).any()


def test_candidates_are_the_five_steps_that_symptoms_attend_to_most() -> None:
    surprise = [0, 1, 0, 0, 0, 0, 0, 9, 8, 0]
    attention = np.zeros((10, 11))
    attention[7, :7] = [0.1, 0.2, 0, 0.3, 0.01, 0, 0.1]
    attention[8, :8] = [0.1, 0, 0, 0.1, 0.02, 0.4, 0, 0.01]
    attention[1, 0] = 9
    found = suspects_of(trace_of(*"abcdefghij"), features_of(surprise, attention))
    assert found.symptoms == (7, 8)
    assert found.candidates == (0, 1, 3, 5, 6)
    assert found.pull[:8] == pytest.approx([0.2, 0.2, 0, 0.4, 0.03, 0.4, 0.1, 0.01])


def test_candidates_are_ranked_by_attention_contrast_and_consensus() -> None:
    trace = trace_of(*"abcdef")
    attention = np.zeros((6, 7))
    attention[5, [0, 2]] = [0.1, 0.3]
    attention[4, [0, 2]] = [0.2, 0.2]
    attention[2, 0] = 0.2
    second = features_of([1, 0, 3, 0, 5, 2], attention)
    suspects = Suspects(symptoms=(4, 5), candidates=(0, 2), pull=np.array([0.3, 0.1, 0.5, 0, 0, 0]))
    belief = np.exp(rank(trace, suspects, second))
    # The two most surprising of six are steps 2 and 4; step 2 sees candidate 0 only, step 4 both, evenly.
    first = (1 + (3 - 1)) + (1 + (5 - 1))
    third = 1 + (5 - 3)
    first, third = first * (1 + 0.3 * 2), third * (1 + 0.3 * 1)  # type: ignore[assignment]
    assert belief[0] / belief[2] == pytest.approx(first / third, rel=1e-6)
    assert min(belief[0], belief[2]) > belief[1] > belief[3] > 0
    unseen = rank(trace_of("a", "b"), Suspects((0,), (), np.zeros(2)), features_of([1, 2], np.zeros((2, 3))))
    assert np.exp(unseen).tolist() == pytest.approx([0.5, 0.5]), "no attention to any candidate"


def planted_choices(rng, count, weights):
    for _ in range(count):
        features = rng.normal(size=(6, len(weights)))
        right = np.zeros(6, dtype=bool)
        right[rng.choice(6, p=probabilities(features, weights))] = True
        yield StepChoice(features, right)


def test_the_logit_finds_the_weights_that_made_the_choices_unless_its_prior_is_strong() -> None:
    weights = np.array([2.0, -1.0, 0.0])
    choices = list(planted_choices(np.random.default_rng(0), 800, weights))
    found = fit_logit(choices, prior=np.zeros(3), strength=0.01)
    np.testing.assert_allclose(found, weights, atol=0.3)
    held = fit_logit(choices[:20], prior=np.array([0.5, 0.5, 0.5]), strength=1e9)
    np.testing.assert_allclose(held, [0.5, 0.5, 0.5], atol=1e-5)


def test_components_are_relative_to_the_other_steps_and_ordered() -> None:
    rng = np.random.default_rng(3)
    states = [rng.normal(size=(1, 5)) * 50 + rng.normal(size=(8, 5)) * [9, 1, 1, 1, 1] for _ in range(20)]
    compression = Compression.of(states, 3)
    rows = np.concatenate([compression.apply(state, list(range(8))) for state in states])
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
    deviations = rows.std(axis=0)
    assert deviations[0] == pytest.approx(1, rel=1e-6)
    assert deviations[0] >= deviations[1] >= deviations[2]
    assert compression.cut(1).apply(states[0], list(range(8))).shape == (8, 1)


def test_components_of_many_rows_are_those_of_a_full_decomposition() -> None:
    rng = np.random.default_rng(4)
    spread = np.r_[[40.0, 20.0, 10.0], np.ones(697)]
    mixed = rng.normal(size=(900, 700)) * spread @ np.linalg.qr(rng.normal(size=(700, 700)))[0]
    found = Compression.of([mixed], 3)
    scaled = (mixed - mixed.mean(axis=0)) / found.spread
    exact = np.linalg.svd(scaled, full_matrices=False)[2][:3].T
    own = found.basis / np.linalg.norm(found.basis, axis=0)
    np.testing.assert_allclose(np.abs(own.T @ exact), np.eye(3), atol=1e-3)
