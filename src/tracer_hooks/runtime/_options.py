"""The options of :func:`tracer_hooks.hook`, each declared, typed and checked at one place, and tags around a call."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, get_args, overload

from opentelemetry.trace import TracerProvider

from tracer_hooks._guard import warn_once
from tracer_hooks._lazy import cached_property
from tracer_hooks.config import CaptureConfig, HookConfig, ServerUrl, StorePlace, publish_urls
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import Intervention
from tracer_hooks.repair import FeedbackMode, RepairChoice, RetryPolicy, Strategies, strategies_of
from tracer_hooks.replay import ToolRules
from tracer_hooks.runtime._calibrated import CalibratedAttributors, attributors_folder
from tracer_hooks.runtime._judging import Check, Expected
from tracer_hooks.schema import Trajectory, to_text
from tracer_hooks.telemetry import Emitter

if TYPE_CHECKING:
    from tracer_hooks.publishing import Publisher
    from tracer_hooks.runtime._team_run import Attempt, TeamRun

P = ParamSpec("P")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])
DiagnoseMode = Literal["auto", "inline", "background", "off"]
PromptUse = Literal["own", "accepted"]
_MOST_CONTROL = 0.5
_LONGEST_NAME = 200
MOST_TAGS = 32
TagValue = str | int | float | bool
_LONGEST_VALUE = 200
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_AROUND: ContextVar[Mapping[str, str]] = ContextVar("tracer_hooks_tags", default=MappingProxyType({}))


def _is_bound(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 0
    return isinstance(value, RetryPolicy)


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_CONTROL


def _is_name(value: object) -> bool:
    return value is None or (isinstance(value, str) and 1 <= len(value.strip()) <= len(value) <= _LONGEST_NAME)


def _is_mode(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and value in get_args(DiagnoseMode))


def _is(*kinds: type | None) -> Callable[[object], bool]:
    allowed = tuple(type(None) if kind is None else kind for kind in kinds)
    return lambda value: isinstance(value, allowed)


def _one_of(words: Any) -> Callable[[object], bool]:
    return lambda value: value in get_args(words)


def _expect(fits: Callable[[object], bool], words: str) -> dict[str, Any]:
    """Return metadata that says what an option may be; options without it are checked by those who read them."""
    return {"fits": fits, "expected": words}


_CALLBACK = _expect(
    lambda value: value is None or (callable(value) and not inspect.iscoroutinefunction(value)),
    "a plain function: it may be called outside of your event loop",
)


def _tag_faults(given: Mapping[Any, object]) -> dict[Any, str]:
    """Keys of what cannot be tags, with the reason."""
    faults = {}
    for key, value in given.items():
        if not isinstance(key, str) or _KEY.fullmatch(key) is None:
            faults[key] = "a key has 1 to 64 letters, digits, '_', '.' or '-'"
        elif not isinstance(value, (str, int, float)):
            faults[key] = f"its value is a {type(value).__name__}, expected a text, a number or a bool"
        elif len(tag_text(value)) > _LONGEST_VALUE:
            faults[key] = f"its value is longer than {_LONGEST_VALUE} characters"
    return faults


def tag_text(value: TagValue) -> str:
    """A tag's value as it is kept and compared: ``true`` and ``false`` for bools."""
    return str(value).lower() if isinstance(value, bool) else to_text(value)


@dataclass(frozen=True, kw_only=True)
class HookOptions:
    """Options by which a hooked team is judged, diagnosed and repaired."""

    check: Check | None = field(
        default=None, metadata=_expect(lambda value: value is None or callable(value), "a function")
    )
    """Decides whether a run succeeded."""
    expected: Expected | None = field(
        default=None,
        metadata=_expect(
            lambda value: value is None or isinstance(value, (str, Mapping)) or callable(value),
            "a text, a mapping from task to text, or a function of the task",
        ),
    )
    """The expected answer; decides where there is no check, and helps the diagnosis."""
    retries: int | RetryPolicy = field(default=0, metadata=_expect(_is_bound, "a number, 0 or more, or a RetryPolicy"))
    """How often a failed call is tried again."""
    repair: RepairChoice = "auto"
    """How: ``auto`` tells the agent whom the check's reason names, or resumes at a step that is proved wrong, and else
    tries again; ``plain`` tries again and nothing else; or strategies by name or as objects, several to be tried in
    turn."""
    feedback: FeedbackMode = field(
        default="masked", metadata=_expect(_one_of(FeedbackMode), "'masked', 'reason' or 'none'")
    )
    """What a team may be told of the check's reason: ``masked`` without the expected answer, as far as ``expected=``
    says what that is; ``reason`` as the check wrote it; ``none`` nothing."""
    tools: ToolRules | str | Mapping[str, str] | None = field(
        default=None,
        metadata=_expect(
            _is(str, Mapping, ToolRules, None), "a word for all tools, a mapping from tool to word, or ToolRules"
        ),
    )
    """What tools may do in a further attempt. By default those of a team that a factory builds are ``rebuilt``; behind
    a call of any other, which nobody has declared, no attempt resumes. A rule for a tool that the team does not have
    allows no retry."""
    retry_streams: bool = field(default=False, metadata=_expect(_is(bool), "a bool"))
    """Whether a failed stream goes on with the next attempt, after a :class:`RetryBoundary`."""
    prompts: PromptUse = field(default="own", metadata=_expect(_one_of(PromptUse), "'own' or 'accepted'"))
    """Which prompts the team runs on: ``own``, those that it was built with, or ``accepted``, those that
    ``tracer-hooks improve`` accepted for it and keeps in the run store. They reach the agents of every attempt and
    change nothing at the team. A run that a check or an expected answer decides on counts for or against them; where
    runs have become worse they are rolled back, with a warning. A team whose own instructions have changed since runs
    on its own."""
    prompt_control: float = field(default=0.0, metadata=_expect(_is_share, "a share of the calls, from 0 to 0.5"))
    """Which share of the calls, 0 to 0.5, goes on with the prompts that were current before the accepted ones: then a
    change for the worse that has other reasons is told apart from one of the prompts."""
    diagnose: DiagnoseMode | bool = field(
        default="auto", metadata=_expect(_is_mode, "'auto', 'inline', 'background', 'off' or a bool")
    )
    """When failed runs are diagnosed: ``auto`` is in the background in asynchronous code, else before the call ends."""
    attributor: str | Attributor = "auto"
    """Who diagnoses."""
    on_attempt: Callable[[Attempt], Any] | None = field(default=None, metadata=_CALLBACK)
    """Called with every attempt when it has ended, before the next one begins."""
    on_failure: Callable[[TeamRun], Any] | None = field(default=None, metadata=_CALLBACK)
    """Called with the run after a failed call was diagnosed."""
    on_finding: Callable[[TeamRun], Any] | None = field(default=None, metadata=_CALLBACK)
    """Called with the run once it has ended, judged or not, where something can be proved of it: see
    :attr:`TeamRun.findings`. Called in a background thread, so that no call waits for it."""
    intervention: Intervention | None = field(
        default=None, metadata=_expect(_is(Intervention, None), "an Intervention")
    )
    """Asked before and after every model and tool call."""
    name: str | None = field(default=None, metadata=_expect(_is_name, "a text of 1 to 200 characters"))
    """The team's name in runs, counts, prompts, fits and spans; default the framework's, or the function's."""
    tags: Mapping[str, TagValue] = field(default_factory=dict, metadata=_expect(_is(Mapping), "a mapping"))
    """What is said of every run, such as ``{"release": "1.4"}``; :func:`tracer_hooks.tags` adds to it."""
    tracer_provider: TracerProvider | None = field(
        default=None,
        metadata=_expect(
            lambda value: value is None or callable(getattr(value, "get_tracer", None)), "a TracerProvider"
        ),
    )
    """Where spans go; default the global provider."""
    capture: str | CaptureConfig | None = None
    """What is kept of content, ``off``, ``redacted`` or ``full``; default what the environment says."""
    store: str | StorePlace | None = field(
        default=None, repr=False, metadata=_expect(_is(str, Path, ServerUrl, None), "a path, a URL or 'off'")
    )
    """The run store's file or URL, or ``off``; default what the environment says."""
    retention: str | None = field(default=None, metadata=_expect(_is(str, None), "an age such as '30d' or '1000 runs'"))
    """Which runs stay in the store, such as ``30d``; default what the environment says."""
    publish: str | Sequence[str] | None = field(
        default=None, metadata=_expect(_is(str, list, tuple, None), "a URL, several of them in a list, or 'off'")
    )
    """Where diagnoses are written beside the traces: ``phoenix://host:6006/project``, ``mlflow://host:5000/experiment``
    or ``langfuse://host``; default what the environment says. In the background; no run waits for it."""
    config: HookConfig = field(init=False)
    """Capture, store and retention, with what the environment says."""

    def __post_init__(self) -> None:
        """Check the options, and fill in what the environment says."""
        for option in fields(self):
            if option.metadata and not option.metadata["fits"](getattr(self, option.name)):
                raise ConfigError(
                    f"{option.name} is {getattr(self, option.name)!r}, expected {option.metadata['expected']}"
                )
        for key, fault in _tag_faults(self.tags).items():
            raise ConfigError(f"the tag {key!r} cannot be used: {fault}")
        if len(self.tags) > MOST_TAGS:
            raise ConfigError(f"there are {len(self.tags)} tags, expected at most {MOST_TAGS}")
        object.__setattr__(self, "tags", dict(self.tags))
        config = HookConfig.from_env(capture=self.capture, store=self.store, retention=self.retention)
        object.__setattr__(self, "config", config)
        if self.prompts == "accepted" and config.store is None:
            raise ConfigError(
                "prompts is 'accepted', and the run store that keeps accepted prompts is switched off; expected a "
                "store. Pass store='runs.sqlite', or set TRACER_HOOKS_STORE to a path"
            )
        if self.prompt_control and self.prompts == "own":
            raise ConfigError(
                f"prompt_control is {self.prompt_control!r}, and prompts is 'own'; expected accepted prompts to "
                "compare with. Pass prompts='accepted'"
            )
        if self.attributor != "auto":  # which is always there, and made when the first run fails
            get_attributor(self.attributor)
        _ = self.strategies, self.tool_rules, self.publisher

    @cached_property
    def diagnostician(self) -> Attributor:
        """The attributor itself; made once, since making it reads its weights."""
        return get_attributor(self.attributor)

    def diagnostician_for(self, trajectory: Trajectory) -> Attributor:
        """Return the attributor for this run: unless one was asked for, the one that was calibrated for its team."""
        if self.attributor == "auto":
            calibrated = self._calibrated.attributor_for(trajectory)
            if calibrated is not None:
                return calibrated
        return self.diagnostician

    @cached_property
    def _calibrated(self) -> CalibratedAttributors:
        return CalibratedAttributors(attributors_folder(self.config.store), self.config.store)

    @cached_property
    def emitter(self) -> Emitter:
        """Emitter of the runs of all teams with these options."""
        return Emitter(tracer_provider=self.tracer_provider, capture=self.config.capture)

    @cached_property
    def publisher(self) -> Publisher | None:
        """Publisher of diagnoses to the backends that are named; None where none is."""
        urls = publish_urls(self.publish)
        if not urls:
            return None
        from tracer_hooks.publishing import Publisher, destinations_of

        return Publisher(destinations_of(urls))

    @cached_property
    def strategies(self) -> Strategies:
        """Strategies that :attr:`repair` means."""
        return strategies_of(self.repair)

    @cached_property
    def tool_rules(self) -> ToolRules | None:
        """Rules that :attr:`tools` means; None where none were given."""
        return None if self.tools is None else ToolRules.of(self.tools)

    @property
    def is_judged(self) -> bool:
        """Tell whether anything says what a run is worth."""
        return self.check is not None or self.expected is not None

    @property
    def policy(self) -> RetryPolicy:
        """The retry limits."""
        own = self.retries if isinstance(self.retries, RetryPolicy) else RetryPolicy(max_retries=self.retries)
        most = self.config.most_retries
        return own if most is None or own.max_retries <= most else replace(own, max_retries=most)


_NAMES = tuple(option.name for option in fields(HookOptions) if option.init)


def make_options(**options: Any) -> HookOptions:
    """Check the options and fill in what the environment says."""
    unknown = sorted(options.keys() - set(_NAMES))
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {', '.join(sorted(_NAMES))}")
    return HookOptions(**options)


class Hook(Protocol[P]):
    """The type of :func:`tracer_hooks.hook`."""

    @overload
    def __call__(self, target: T, /, *args: P.args, **options: P.kwargs) -> T: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> Callable[[T], T]: ...


class Run(Protocol[P, R_co]):
    """The type of :func:`tracer_hooks.run` and :func:`tracer_hooks.arun`."""

    def __call__(self, target: Any, task: str, *args: P.args, **options: P.kwargs) -> R_co:
        """Run a team on a task."""


def as_hook(options: Callable[P, HookOptions]) -> Callable[[Callable[..., Any]], Hook[P]]:
    """Give ``hook`` the options as keyword arguments, for type checkers and ``help``."""
    return _shows_options


def as_run(options: Callable[P, HookOptions]) -> Callable[[Callable[..., R_co]], Run[P, R_co]]:
    """The same for ``run`` and ``arun``."""
    return _shows_options


def _shows_options(function: Any) -> Any:
    own = inspect.signature(function)
    named = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    options = inspect.signature(HookOptions).parameters.values()
    function.__signature__ = own.replace(parameters=[*named, *options])
    return function


# --- tags -----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def tags(**given: TagValue) -> Iterator[None]:
    """Give tags to every run that begins within: ``with tracer_hooks.tags(request=request_id): team(task)``.

    Blocks within each other add up, the innermost counts where two name the same tag, and all of them count more than
    ``hook(tags=...)``. It goes with context variables: tasks that are started within have them, other tasks have not,
    and a thread only where it is started with a copy of the context. What cannot be a tag is left out with one warning.

    Args:
        given: Keys of 1 to 64 letters, digits, ``_``, ``.`` and ``-`` with texts of at most 200 characters, numbers or
            bools; a run has 32 tags at most. They are no content: whatever is captured, they stand on the run's span.
    """
    faults = _tag_faults(given)
    for key, fault in faults.items():
        warn_once(f"tag {fault}", "tracer-hooks leaves out the tag %r: %s", key[:64], fault)
    kept = {key: tag_text(value) for key, value in given.items() if key not in faults}
    token = _AROUND.set(_merged(kept, _AROUND.get()))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # of a generator that is closed in another context
            _AROUND.reset(token)


def _merged(near: Mapping[str, str], far: Mapping[str, str]) -> dict[str, str]:
    return {**near, **{key: value for key, value in far.items() if key not in near}}


def tags_here(own: Mapping[str, TagValue]) -> dict[str, str]:
    """Tags of a run that begins here, of a team whose ``own`` tags these are; the nearest first, as many as may be."""
    found = _merged(_AROUND.get(), {key: tag_text(value) for key, value in own.items()})
    if len(found) > MOST_TAGS:
        warn_once("too many tags", "tracer-hooks leaves out tags: a run has %d, at most %d", len(found), MOST_TAGS)
    return dict(list(found.items())[:MOST_TAGS])
