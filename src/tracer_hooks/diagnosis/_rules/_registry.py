"""Every rule, and what all of them say about one trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tracer_hooks._guard import guard
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules import (
    _contradictions,
    _errors,
    _handoffs,
    _inputs,
    _language,
    _origins,
    _position,
    _repetition,
    _tools,
    _values,
)
from tracer_hooks.diagnosis._rules._signal import Signal

Rule = Callable[[RunReading], Iterator[Signal]]

RULES: tuple[Rule, ...] = (
    _errors.raised_steps,
    _errors.reported_errors,
    _tools.failed_tools,
    _tools.claims_after_failure,
    _values.wrong_values,
    _origins.departures,
    _contradictions.contradicted_results,
    _contradictions.contradicted_colleagues,
    _inputs.ignored_corrections,
    _repetition.repeated_messages,
    _repetition.repeated_calls,
    _handoffs.handoff_signals,
    _language.made_up_data,
    _language.premature_ends,
    _language.empty_approvals,
    _position.positional_priors,
)


def signals_of(trace: RunReading) -> list[Signal]:
    """What every rule says; a rule that fails on an odd trajectory is left out, with one log line."""
    found: list[Signal] = []
    for rule in RULES:
        with guard(f"apply the rule {rule.__name__!r} to a trajectory"):
            found += list(rule(trace))
    return found
