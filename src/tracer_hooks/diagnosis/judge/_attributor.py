"""The attributor that asks a language model, its options, and what becomes of the model's verdict."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks import schema
from tracer_hooks._flight import REQUESTS
from tracer_hooks._guard import warn_once
from tracer_hooks.config import DEFAULT_STORE, store_place
from tracer_hooks.diagnosis._protocol import Scorer
from tracer_hooks.diagnosis._weight_files import read_weights
from tracer_hooks.diagnosis.judge._calls import (
    PREFIX,
    JudgeBudgetSpentError,
    JudgeResources,
    JudgeSession,
    Meter,
    ReplyCache,
    model_of,
    variable_of,
)
from tracer_hooks.diagnosis.judge._prompts import VERSION
from tracer_hooks.diagnosis.judge._protocols import (
    ALL_AT_ONCE,
    all_at_once,
    first_of,
    shortlist,
    windowed,
)
from tracer_hooks.diagnosis.judge._replies import ENVIRONMENT_FAULT, NO_FAULT, JudgeCase, JudgeVerdict, with_remark
from tracer_hooks.diagnosis.ranking import _answers
from tracer_hooks.endpoint import BYTES_PER_TOKEN, ChatModel
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.telemetry import ContentPolicy, hold_logs, redacted_trajectory, suppressed

JudgeProtocol = Literal["auto", "all-at-once", "shortlist"]
"""How the judge is asked."""

DEFAULT_CACHE = DEFAULT_STORE.parent / "judge"
JUDGE = "judge.json"
"""The file beside a trained judge's weights that says how it is asked."""
_ASKED = ("protocol", "proposer", "top_k", "context_tokens", "reply_tokens", "step_chars")
"""The options that decide what a prompt looks like; a model is used as it was trained only with the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBudget:
    """Limits for one trajectory; None sets no limit. Replies from the cache cost nothing.

    Raises:
        ConfigError: A limit is not above 0.
    """

    calls: int | None = 200
    """Model calls; a request that is sent again after a refusal is one call."""
    tokens: int | None = 500_000
    """Tokens read and written; a call is not made when its prompt alone would go beyond."""
    seconds: float | None = 600.0
    """Seconds from the beginning of the diagnosis."""

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"JudgeBudget({name}={value!r}): expected a number above 0, or None for no limit")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Settings of a :class:`~tracer_hooks.diagnosis.JudgeAttributor`.

    Raises:
        ConfigError: A value cannot be used.
    """

    model: str = ""
    """The model's name at the endpoint, or a directory with a transformers model."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint such as ``http://127.0.0.1:8000/v1``. None: a local model when ``model`` is a
    directory, else ``OPENAI_BASE_URL``, else OpenAI's own."""
    api_key_env: str | None = None
    """Name of the variable that holds the key. None: ``TRACER_HOOKS_JUDGE_API_KEY``, else ``OPENAI_API_KEY``; the
    latter goes only to OpenAI or to the endpoint in ``OPENAI_BASE_URL``, never to another one in ``base_url``."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, such as ``{"chat_template_kwargs": {"enable_thinking": False}}``."""
    protocol: JudgeProtocol = "auto"
    """How the judge is asked; ``auto`` is ``shortlist`` when there are candidates, else ``all-at-once``, for a run
    beyond the context in windows. ``all-at-once`` by name cuts such a run's steps until it fits."""
    proposer: str | None = None
    """Attributor whose highest steps ``shortlist`` chooses among, and ``all-at-once`` cuts last; it must have a
    ``score`` method. None: ``shortlist`` takes ``structural``."""
    top_k: int = 5
    """How many steps the proposer gives; ``shortlist`` takes three at most."""
    context_tokens: int = 32_768
    """Tokens that prompt and reply may take together. A server that has fewer may cut prompts without a word."""
    reply_tokens: int = 1_024
    """Tokens that a reply may take."""
    step_chars: int = 6_000
    """Characters of one step that are shown; of a longer one the head and the tail."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the model."""
    seed: int = 0
    """Seed of sampling and of the order of options."""
    budget: JudgeBudget = field(default_factory=JudgeBudget)
    """Limits of the diagnosis of one trajectory."""
    timeout_s: float = 120.0
    """Seconds that one request may take."""
    attempts: int = 4
    """How often a request is sent that is refused with 429 or 5xx, or times out."""
    backoff_s: float = 1.0
    """Seconds before the second attempt, doubled for each further one; a server's Retry-After goes before it."""
    concurrency: int = field(default_factory=lambda: REQUESTS.get() or 4)
    """Trajectories of a file or folder that are judged at the same time, and requests to the endpoint under way."""
    cache_dir: Path | None = DEFAULT_CACHE
    """Directory of accepted replies; None keeps none."""

    def __post_init__(self) -> None:
        if self.protocol not in get_args(JudgeProtocol):
            raise _refused("protocol", self.protocol, f"one of {', '.join(map(repr, get_args(JudgeProtocol)))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise _refused(name, value, f"a number of {least} or more")
        if self.reply_tokens * 2 > self.context_tokens:
            raise _refused("reply_tokens", self.reply_tokens, f"half of context_tokens={self.context_tokens} or less")

    @classmethod
    def from_env(cls, **overrides: Any) -> JudgeOptions:
        """Settings from the environment; each argument goes before its variable.

        Raises:
            ConfigError: A variable or argument holds a value that cannot be used.
        """
        _warn_of_unread_variables()
        found: dict[str, Any] = {}
        for name, (read, expected) in _READERS.items():
            value = os.environ.get(variable_of(name), "").strip()
            if value:
                try:
                    found[name] = read(value)
                except (ValueError, TypeError) as error:
                    raise ConfigError(f"{variable_of(name)} is {value!r}, expected {expected}") from error
        if store_place() is None:
            found["cache_dir"] = None  # who wants no runs on the disk wants no replies there either
        unknown = set(overrides) - {option.name for option in fields(cls)}
        if unknown:
            raise ConfigError(f"unknown option {sorted(unknown)[0]!r} of the attributor 'judge'")
        return cls(**{**found, **overrides})


def options_as_json(options: JudgeOptions) -> bytes:
    """The content of ``judge.json``."""
    asked = {name: getattr(options, name) for name in _ASKED}
    return (json.dumps({"attributor": "judge", "version": 1, "model": asked}, indent=1) + "\n").encode()


def saved_options(directory: Path) -> JudgeOptions:
    """The options of a folder with ``judge.json``; variables of the environment go before them.

    Raises:
        AttributionError: The file is missing, damaged, or of another version.
        ConfigError: A variable holds a value that cannot be used.
    """

    def made(document: dict[str, Any]) -> JudgeOptions:
        if document["version"] != 1:
            raise ValueError("it is of another version than 1")
        asked = {name: document["model"][name] for name in _ASKED}
        JudgeOptions(**asked)
        own = {
            name: value
            for name, value in asked.items()
            if name not in _READERS or not os.environ.get(variable_of(name), "").strip()
        }
        return replace(JudgeOptions.from_env(), model=str(directory), base_url=None, **own)

    again = "train the judge again with `tracer-hooks train sft` or `train grpo`"
    return read_weights(directory / JUDGE, made, what="trained judge", again=again)


def _warn_of_unread_variables() -> None:
    read = {_KEY, *map(variable_of, _READERS)}
    for name in os.environ:
        if name.startswith(PREFIX) and name not in read:
            listed = ", ".join(sorted(each.removeprefix(PREFIX) for each in read))
            warn_once(
                name,
                "%s is not read. The variables are %s after %s; all else is a field of JudgeOptions, which you hand to "
                "JudgeAttributor in Python; TRACER_HOOKS_STORE=off keeps no replies",
                *(name, listed, PREFIX),
            )


def _refused(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name}={value!r} of the attributor 'judge' cannot be used, expected {expected}")


def _object(value: str) -> dict[str, Any]:
    read = json.loads(value)
    if not isinstance(read, dict):
        raise TypeError
    return read


def _budget(value: str) -> JudgeBudget:
    limits: dict[str, Any] = {}
    for part in value.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        read = {"calls": int, "tokens": int, "seconds": float}.get(name)
        if read is None or name in limits:
            raise ValueError
        limits[name] = None if number.lower() == "none" else read(number)
    return JudgeBudget(**limits)


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "model": (str, "a name"),
    "base_url": (str, "a URL"),
    "extra_body": (_object, "a JSON object"),
    "protocol": (str, "a protocol"),
    "context_tokens": (int, "a whole number"),
    "budget": (_budget, "limits such as 'calls=50,tokens=200000,seconds=none'"),
    "timeout_s": (float, "a number"),
}
_KEY = variable_of("api_key")
_LEAST = {
    **dict.fromkeys(("top_k", "attempts", "concurrency"), 1),
    **dict.fromkeys(("temperature", "backoff_s"), 0),
    "context_tokens": 1_024,
    "reply_tokens": 32,
    "step_chars": 100,
    "timeout_s": 0.001,
}

TRUST = 0.5
"""The share of a stated probability that counts. The best published judges name the right step in about half of
Who&When's short runs and in far fewer long ones, whatever they state; so an answer is given one half at most."""
_MOST_CANDIDATES = 10
_HEADER_SHARE = 8
_MOST_HEADER = 8_000


class JudgeAttributor:
    """Has a language model read the run and name agent, step, error mode and evidence.

    Every name and number of a reply is checked against the trajectory, and the judge gets one chance to repair a reply.
    What the judge is told is governed by ``TRACER_HOOKS_RECORD``: with ``redacted`` secrets in it are blanked, with
    ``off`` nobody is asked.

    An endpoint that fails and a reply that stays unusable are errors, never "no sign of failure". A run without
    anything in it, and a budget that is spent before there is any answer, give an abstention. The judge's calls are not
    traced.

    ``confidence`` is half of the probability that the judge states, or less; it is not calibrated.

    Args:
        options: Settings; None reads the variables ``TRACER_HOOKS_JUDGE_*``.
        model: A model of one's own; None makes one of ``options``.
        proposer: Scores the steps that ``shortlist`` chooses among; None makes it of ``options``.

    Raises:
        ConfigError: There is no model, or an option cannot be used; the message says what to set.
        MissingExtraError: The model needs a distribution that is not installed.
    """

    name = "judge"

    def __init__(
        self, options: JudgeOptions | None = None, *, model: ChatModel | None = None, proposer: Scorer | None = None
    ) -> None:
        self.options = options if options is not None else JudgeOptions.from_env()
        self._gate = ContentPolicy.of_record()
        hold_logs(self._gate)
        self._proposer = proposer if proposer is not None else _proposer_of(self.options)
        self._resources = JudgeResources(
            model=model if model is not None else model_of(self.options),
            options=self.options,
            cache=ReplyCache(self.options.cache_dir),
        )

    @classmethod
    def load(cls, directory: Path) -> JudgeAttributor:
        """A judge from a folder that ``tracer-hooks train sft`` or ``train grpo`` wrote, asked as it was trained.

        The variables ``TRACER_HOOKS_JUDGE_*`` go before what the folder says.

        Raises:
            AttributionError: The folder does not say how the judge is asked.
            ConfigError: Its model, or an option, cannot be used.
            MissingExtraError: The model needs a distribution that is not installed.
        """
        return cls(saved_options(directory))

    def attribute(
        self, trajectory: Trajectory, *, reference: str | None = None, candidates: Sequence[Candidate] = ()
    ) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`.

        Args:
            trajectory: What happened.
            reference: The expected answer, when the judge may know it; ``trajectory.reference`` is not looked at.
            candidates: Steps that another method found likely; ``shortlist`` chooses among the first three.

        Raises:
            OutputParseError: The judge gave no usable reply, also when shown its error; ``.raw`` holds it.
            AttributionError: The model gave no reply at all, or a candidate is no step of the trajectory.
            ConfigError: There are candidates, and the protocol is one that takes none.
        """
        began = time.perf_counter()
        session = self._judged(trajectory, reference, candidates)
        blank = Attribution(
            run_id=trajectory.run_id,
            attributor=f"{self.name}/{VERSION} {session.protocol} {self._resources.model.name}",
            usage=session.meter.usage,
        )
        if session.best is None:
            answer = blank.model_copy(update={"abstained": True, "abstained_reason": session.problem})
        else:
            answer = attribution_of(session.best, session.case, blank)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    @property
    def concurrency(self) -> int:
        """The number of runs that :func:`~tracer_hooks.diagnosis.diagnose_each` has judged at the same time."""
        return self.options.concurrency

    def session(
        self, trajectory: Trajectory, reference: str | None, *, protocol: str, system: str = "system"
    ) -> JudgeSession:
        """A conversation about one run, which is told no more of it than the run store would hold."""
        case = JudgeCase(
            redacted_trajectory(trajectory, self._gate),
            self._gate.optional(reference),
            header_chars=header_chars(self._resources.model.context_tokens),
        )
        meter = Meter(self.options.budget)
        return JudgeSession(resources=self._resources, case=case, protocol=protocol, meter=meter, system=system)

    def _judged(self, trajectory: Trajectory, reference: str | None, candidates: Sequence[Candidate]) -> JudgeSession:
        """The session about the run when it has ended: its best answer, or the problem."""
        session = self.session(trajectory, reference, protocol=self.options.protocol)
        case, trajectory, reference = session.case, session.case.trajectory, self._gate.optional(reference)
        weights = self._checked(candidates, case)
        if self._gate.blocks_all or not any(
            step.content.strip() or step.tool_calls or step.error or step.recipient for step in case.steps
        ):
            session.problem = _answers.INCOMPLETE
            return session
        with suppressed():
            try:
                session.best = self._run(session, weights or self._proposed(trajectory, reference))
            except JudgeBudgetSpentError as spent:
                session.problem = str(spent)
                session.best = session.best and with_remark(case, session.best, f"{spent}; the best answer so far")
        return session

    def _run(self, session: JudgeSession, weights: Mapping[int, float]) -> JudgeVerdict:
        if session.protocol in ("auto", "shortlist"):
            candidates = first_of(session.case, weights)
            if candidates:
                session.protocol = "shortlist"
                return shortlist(session, candidates)
            is_short = session.transcript.fits(session.room(ALL_AT_ONCE))
            session.protocol = "all-at-once" if is_short else "windowed"  # as the answer names it
        return windowed(session) if session.protocol == "windowed" else all_at_once(session, weights)

    def _checked(self, candidates: Sequence[Candidate], case: JudgeCase) -> dict[int, float]:
        """The weight of each step among ``candidates``."""
        if candidates and not self._takes_candidates:
            raise ConfigError(
                f"protocol={self.options.protocol!r} of the attributor 'judge' takes no candidates, expected "
                "'shortlist' or 'auto'"
            )
        for candidate in candidates:
            if candidate.step >= len(case.steps) or case.owner(candidate.step) != candidate.agent:
                raise AttributionError(
                    f"the candidate step {candidate.step} of {candidate.agent!r} is none of run "
                    f"{case.trajectory.run_id!r}, which has {len(case.steps)} steps"
                )
        return {candidate.step: candidate.score for candidate in candidates}

    def _proposed(self, trajectory: Trajectory, reference: str | None) -> dict[int, float]:
        """The highest steps of the proposer; none when there is no proposer or no use for it."""
        if self._proposer is None:
            return {}
        scores = self._proposer.score(trajectory, reference=reference)
        if scores is None:
            return {}
        belief = scores.belief()
        ranked_steps = sorted(range(len(belief)), key=lambda step: (-belief[step], step))[: self.options.top_k]
        return {step: belief[step] for step in ranked_steps if belief[step] > 0}

    @property
    def _takes_candidates(self) -> bool:
        return self.options.protocol in ("auto", "shortlist")


def header_chars(context_tokens: int) -> int:
    """Characters that task, answer and instructions may take in a context of this size, so that steps have room."""
    return min(_MOST_HEADER, context_tokens * BYTES_PER_TOKEN // _HEADER_SHARE)


def _proposer_of(options: JudgeOptions) -> Scorer | None:
    name = options.proposer or ("structural" if options.protocol == "shortlist" else None)
    if name is None:
        return None
    if name == JudgeAttributor.name:
        raise ConfigError("proposer='judge' of the attributor 'judge' is the judge itself, expected another attributor")
    from tracer_hooks.diagnosis._registry import get_attributor  # the registry knows this attributor too

    found = get_attributor(name)
    if not isinstance(found, Scorer):
        raise ConfigError(f"proposer={name!r} of the attributor 'judge' scores no steps, expected score()")
    return found


_REASONS = {NO_FAULT: _answers.NO_FAULT, ENVIRONMENT_FAULT: schema.ENVIRONMENT_FAULT}


def attribution_of(verdict: JudgeVerdict, case: JudgeCase, blank: Attribution) -> Attribution:
    """``blank`` with the answer of ``verdict``."""
    ranked = sorted(
        (step for step, belief in verdict.beliefs.items() if belief > 0),
        key=lambda step: (step != verdict.step, -verdict.beliefs[step], step),
    )[:_MOST_CANDIDATES]
    candidates = tuple(
        Candidate(agent=case.owner(step), step=step, score=TRUST * verdict.beliefs[step]) for step in ranked
    )
    found = {"candidates": candidates, "evidence": verdict.evidence}
    if verdict.abstention is not None:
        reason = _REASONS[verdict.abstention]
        return blank.model_copy(update={**found, "abstained": True, "abstained_reason": reason})
    faults = tuple(fault.model_copy(update={"score": TRUST * fault.score}) for fault in verdict.faults)
    return blank.model_copy(
        update={
            **found,
            "agent": candidates[0].agent,
            "step": candidates[0].step,
            "error_mode": verdict.mode,
            "confidence": candidates[0].score,
            "faults": faults,
        }
    )
