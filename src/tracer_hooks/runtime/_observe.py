"""``tracer_hooks.observe``: runs of any framework, from the spans that it emits in this process."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry import trace as otel_trace
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.trace import ProxyTracerProvider, TracerProvider

from tracer_hooks import semconv
from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard, logger, warn_once
from tracer_hooks.config import StorePlace, is_disabled
from tracer_hooks.datasets import WITHOUT_CONTENT, final_answer, lacks
from tracer_hooks.diagnosis import Attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult
from tracer_hooks.runtime._archive import Archive, diagnose_later, save_later
from tracer_hooks.runtime._conclude import diagnose_attempt, tell_of
from tracer_hooks.runtime._judging import (
    Check,
    Expected,
    JudgedRunOutcome,
    Ruling,
    Undecided,
    ask_check,
    compare_with_expected,
    expected_answer,
    judge_result,
)
from tracer_hooks.runtime._options import HookOptions, TagValue, make_options, tags_here
from tracer_hooks.runtime._team_code import TeamCode
from tracer_hooks.runtime._team_run import Attempt, TeamRun
from tracer_hooks.runtime._traces import CollectedTrace, TraceCollector
from tracer_hooks.schema import RunOutcome, Step, Trajectory
from tracer_hooks.telemetry import (
    ABANDONED,
    assemble,
    normalise,
    redacted_trajectory,
    suppressed,
    to_record,
)

_FAILED_RANK = -1.0
_HIDDEN = "__REDACTED__"
"""What OpenInference writes in the place of text that it is told to hide."""
_NO_CONTENT = (
    "its spans hold no text. Let the framework's instrumentation capture the content of messages; the outcome of such "
    "a run is not known"
)


class Observer:
    """Judges, diagnoses and stores the runs that it sees in the spans of one provider; made by :func:`observe`.

    Attributes:
        options: What it was made with; not there where everything is switched off.
        collector: Collects the provider's spans; None where everything is switched off.
    """

    def __init__(self, options: HookOptions | None = None) -> None:
        self.collector: TraceCollector | None = None
        self._last: TeamRun | None = None
        if options is not None:
            self.options = options
            self._archive = Archive(options.config.store, options.config.retention)
            self._gate = options.emitter.capture.record_policy
            self._code = functools.cache(lambda: TeamCode.of(None, options.check))

    @property
    def last_run(self) -> TeamRun | None:
        """The newest run that was taken up; None before. A run is taken up about half a second after its last span.

        :func:`tracer_hooks.flush` waits until every run that has ended is taken up, diagnosed and stored.
        """
        return self._last

    @property
    def is_on(self) -> bool:
        """Whether it takes up runs."""
        return self.collector is not None and self.collector.on_trace is not None

    def stop(self) -> None:
        """Take up no more runs: those that have ended, or go on, are taken up as they are. The provider stays."""
        if self.collector is not None and self.is_on:
            self.collector.stop()

    def start(self, collector: TraceCollector) -> None:
        """Take up the runs that ``collector`` collects."""
        self.collector = collector
        collector.tags = functools.partial(tags_here, self.options.tags)
        collector.on_trace = self.take_up

    # --- a trace that is over, in a background thread ---------------------------------------------------------------
    def take_up(self, trace: CollectedTrace) -> None:
        """Take up the runs of a trace."""
        records = [to_record(span) for span in trace.spans]
        hooked = {str(record.attributes[semconv.RUN_ID]) for record in records if semconv.RUN_ID in record.attributes}
        for found in assemble(normalise(records)):
            if found.run_id not in hooked:
                self._take_up(found, trace)

    def _take_up(self, found: Trajectory, trace: CollectedTrace) -> None:
        outermost = found.steps[0].agent if found.steps else ""  # of agents that no team is around, however many act
        name = self.options.name or found.team or outermost or found.framework
        numbered = found.run_id if trace.number == 1 else f"{found.run_id}-{trace.number}"
        found = found.model_copy(update={"team": name, "run_id": numbered})
        run = TeamRun(
            session_id=uuid.uuid4().hex,
            team=name,
            task=found.task,
            tags=trace.tags,
            gate=self._gate,
            code=self._code(),
            _is_under_way=True,
        )
        attempt = self._judged(found, is_abandoned=trace.is_abandoned)
        run.attempts.append(attempt)
        self._last = run
        work = functools.partial(self._conclude, run, attempt)
        later = diagnose_later if attempt.outcome is RunOutcome.FAILED else save_later
        later(work, functools.partial(self._archive.save, run))

    def _judged(self, found: Trajectory, *, is_abandoned: bool) -> Attempt:
        answer, _ = final_answer(found)
        result = RunResult(text=answer, native=None, stop_reason=found.stop_reason)
        judged = JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason="it could not be judged")
        reference: str | Undecided | None = None
        with guard("judge the run"), suppressed():  # what the user's check traces is no run
            reference = expected_answer(self.options.expected, found.task)
            decided = _judged_by_trace(found, is_abandoned=is_abandoned)
            judged = decided or judge_result(result, self._ruling(found, result, reference))
        told = {
            "outcome": judged.outcome,
            "outcome_reason": judged.reason,
            "reference": reference if isinstance(reference, str) else None,
        }
        kept = redacted_trajectory(found.model_copy(update=told), self._gate)
        return Attempt(
            number=1,
            is_exported=True,
            outcome=judged.outcome,
            outcome_reason=judged.reason,
            assemble=lambda: kept,
            result=result,
            verdict=judged.verdict,
            rank=judged.rank,
        )

    def _ruling(self, found: Trajectory, result: RunResult, reference: str | Undecided | None) -> Ruling | None:
        if _hides_text(found, result.text):
            if self.options.is_judged:
                warn_once(_NO_CONTENT, "tracer-hooks cannot judge a run: %s", _NO_CONTENT)
            return Undecided("its spans hold no text")
        if self.options.check is not None:
            return ask_check(self.options.check, result, found.task)
        if isinstance(reference, str):  # without an answer there is nothing to compare
            return compare_with_expected(reference, result.text) if result.text else None
        return reference

    def _conclude(self, run: TeamRun, attempt: Attempt) -> None:
        try:
            diagnose_attempt(attempt, self.options, attempt.trajectory.reference)
        finally:
            try:
                self._archive.save(run)
            finally:
                run._done.set()
        tell_of(run, self.options)


def _judged_by_trace(found: Trajectory, *, is_abandoned: bool) -> JudgedRunOutcome | None:
    """The outcome that the spans themselves decide; None where they do not."""
    last = found.steps[-1] if found.steps else None
    if is_abandoned:
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason=ABANDONED)
    if last is not None and _is_broken_off(found, last):
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason="cancelled or broken off")
    if found.outcome is RunOutcome.FAILED:
        return JudgedRunOutcome(outcome=RunOutcome.FAILED, reason=found.outcome_reason, rank=_FAILED_RANK)
    if last is not None and last.error is not None and found.final_output is None:
        kind = (last.error_type or "").rpartition(".")[2]
        reason = last.error if not kind or last.error.startswith(kind) else f"{kind}: {last.error}".rstrip(": ")
        return JudgedRunOutcome(outcome=RunOutcome.FAILED, reason=reason, rank=_FAILED_RANK)
    return None


def _is_broken_off(found: Trajectory, last: Step) -> bool:
    """Tell whether a run was cancelled: by an error that says so, or since it ends amidst a step without a word.

    OpenTelemetry ends the spans of what is cancelled as those of what is done.
    """
    errors = [last.error_type, last.error, *(call.error for call in last.tool_calls), found.outcome_reason]
    if found.final_output is None and any("CancelledError" in error for error in errors if error):
        return True
    if last.error is not None or last.content or WITHOUT_CONTENT in lacks(found):
        return False
    return found.final_output is None and not any(call.result or call.error for call in last.tool_calls)


def _hides_text(found: Trajectory, answer: str) -> bool:
    is_failed_at_once = all(step.error is not None for step in found.steps)
    return answer == _HIDDEN or (WITHOUT_CONTENT in lacks(found) and not is_failed_at_once)


_OBSERVER = "__tracer_hooks_observer__"
"""Attribute of a provider: its newest observer. A table of ours would keep every provider alive."""
_lock = process_lock()


def observe(
    *,
    check: Check | None = None,
    expected: Expected | None = None,
    name: str | None = None,
    tags: Mapping[str, TagValue] | None = None,
    publish: str | Sequence[str] | None = None,
    store: str | StorePlace | None = None,
    attributor: str | Attributor = "auto",
    on_failure: Callable[[TeamRun], Any] | None = None,
    on_finding: Callable[[TeamRun], Any] | None = None,
    provider: TracerProvider | None = None,
) -> Observer:
    """Take up every run of this process from its spans: judge it, store it, and diagnose it where it failed.

    For teams of any framework that emits GenAI, OpenInference or OpenLLMetry spans, whether :func:`hook` has an adapter
    for it or not. A run is a trace, or the part of it that this process makes. It is taken up when no span of it has
    been open for half a second, and not in your threads. Store, findings and :class:`TeamRun` are those of
    :func:`hook`; retries, repairs and replays are not to be had without a hook, and a hooked run is left to its hook.

    Args:
        check: Decides whether a run succeeded, from its answer: ``check(result)`` or ``check(result, task)``, called in
            a background thread. ``result.text`` is the answer; ``result.native`` is None.
        expected: The expected answer, as for :func:`hook`. Without it and a check, a run whose outermost span is an
            error failed, and others with an answer succeeded.
        name: The team's name; default what the spans say.
        tags: What is said of every run; :func:`tags` around a run adds to it.
        publish: Where diagnoses are written, such as ``phoenix://localhost:6006/default``, as for :func:`hook`; default
            what the environment says.
        store: The run store, or ``off``; default what the environment says.
        attributor: Who diagnoses.
        on_failure: Called with the run after a failed one was diagnosed, in a background thread.
        on_finding: Called with the run where something can be proved of it, in a background thread.
        provider: Whose spans to look at; default the global provider, which is set where there is none yet. Set your
            own before.

    Returns:
        The observer. A provider has one: a second call gives the same, with the options of the first, until it is
        stopped. Under ``TRACER_HOOKS_DISABLED`` it sees nothing.

    Raises:
        ConfigError: An option cannot be used, or the provider takes no span processors.
    """
    named = {
        "check": check,
        "expected": expected,
        "name": name,
        "tags": tags,
        "publish": publish,
        "store": store,
        "attributor": None if attributor == "auto" else attributor,
        "on_failure": on_failure,
        "on_finding": on_finding,
    }
    given = {option: value for option, value in named.items() if value is not None}
    if is_disabled():
        return Observer()
    options = make_options(**given, tracer_provider=provider)
    seen = provider if provider is not None else _global_provider()
    with _lock:
        observer: Observer | None = getattr(seen, _OBSERVER, None)
        if observer is not None and observer.is_on:
            other = [option for option, value in given.items() if value != getattr(observer.options, option)]
            if other:
                warn_once(
                    f"observed {id(seen)} {other}",
                    "tracer-hooks does not use %s: this provider is observed already, with the options of the first "
                    "call; to change them call stop() of its observer first",
                    ", ".join(f"{option}=" for option in other),
                )
            return observer
        # A provider keeps its processors for good, so the next observer takes over the collector.
        collector = observer.collector if observer is not None else None
        observer = Observer(options)
        observer.start(collector or _added_collector(seen))
        setattr(seen, _OBSERVER, observer)
    logger.info("tracer-hooks observes the runs of %s", type(seen).__name__)
    return observer


def _global_provider() -> TracerProvider:
    """The global provider; an SDK's is set where there is none, since nothing makes spans without one."""
    if isinstance(otel_trace.get_tracer_provider(), ProxyTracerProvider):
        otel_trace.set_tracer_provider(SdkTracerProvider())
        logger.warning(
            "tracer-hooks set a TracerProvider, since there was none: it exports no spans, and a later one"
            " is not used. Set up yours before observe()"
        )
    return otel_trace.get_tracer_provider()


def _added_collector(provider: TracerProvider) -> TraceCollector:
    add = getattr(provider, "add_span_processor", None)
    if not callable(add):
        raise ConfigError(
            f"the provider is a {type(provider).__name__}, expected one of the OpenTelemetry SDK, which takes span "
            "processors. Set it with opentelemetry.trace.set_tracer_provider() before, or pass it as provider="
        )
    collector = TraceCollector()
    add(collector)
    return collector
