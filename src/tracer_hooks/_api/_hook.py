"""``@tracer_hooks.hook``: on a factory, on a ready team, on a function that runs one."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, Unpack, overload

from tracer_hooks._api._conductor import Conductor
from tracer_hooks._api._hook_arguments import HookArguments
from tracer_hooks._api._options import HookOptions, make_options
from tracer_hooks._api._source import TeamSource
from tracer_hooks._api._team_run import TeamRun
from tracer_hooks._api._watching import WATCHTOWER
from tracer_hooks.adapters import Adapter, TeamCall, adapter_for
from tracer_hooks.adapters.plain import PlainAdapter, PlainTeam, answer_text
from tracer_hooks.errors import AdapterError, AdapterNotFoundError, MissingExtraError

T = TypeVar("T")

_conductors: weakref.WeakValueDictionary[int, Conductor] = weakref.WeakValueDictionary()
"""By the id of the team object, whose own wrappers keep the conductor alive."""

CONDUCTOR = "__tracer_hooks_conductor__"
"""Attribute of a hooked function that holds its conductor."""

FACTORY = "__tracer_hooks_factory__"
"""Attribute of a hooked factory."""


@overload
def hook(target: T, /, **options: Unpack[HookArguments]) -> T: ...
@overload
def hook(**options: Unpack[HookArguments]) -> Callable[[T], T]: ...
def hook(target: Any = None, /, **options: Any) -> Any:
    """Observe every run of a team, say which agent and step made a failed one fail, and optionally repair it.

    Three kinds of target, all as ``@hook``, ``@hook(...)`` or ``hook(target, ...)``:

    - a **factory** that returns a team, best with a parameter ``prompts=None`` (a mapping from agent name to
      instructions): prompts can then be rewritten, and every retry runs on a team that is built anew;
    - a **team**: an AutoGen team or agent, a CrewAI crew or flow, a compiled LangGraph graph; the object itself is
      returned, hooked;
    - a **function that runs a team**, plain, asynchronous or a generator. Its first argument is taken for the task. A
      function counts as a factory when it has a parameter ``prompts`` and no other required one, or has no required
      parameter and returns a team.

    The team's own API keeps its behaviour and return types; :func:`last_run` gives the rest.

    Args:
        target: What to hook.
        **options: See :class:`HookOptions`; ``capture`` (``"off"``, ``"redacted"``, ``"full"``) and ``store`` (a path
            or ``"off"``) override the environment.

    Raises:
        ConfigError: An option cannot be used.
        AdapterNotFoundError: No installed adapter recognises the team.
        MissingExtraError: The framework's adapter is not installed.
        UnsupportedVersionError: The framework's version is outside the adapter's range.
    """
    made = make_options(**options)
    if target is None:
        return lambda decorated: _hook(decorated, made)
    return _hook(target, made)


def unhook(target: Any) -> None:
    """Undo :func:`hook`: every attribute of the team is again what it was. Not hooked: nothing happens."""
    conductor = conductor_of(target)
    if conductor is not None:
        conductor.patches.undo()
        _conductors.pop(id(target), None)
        WATCHTOWER.release()


def last_run(target: Any) -> TeamRun | None:
    """The newest run of a hooked team or function; of the calling task or thread, when it made one.

    Raises:
        AdapterError: ``target`` is not hooked.
    """
    conductor = conductor_of(target)
    if conductor is None:
        raise AdapterError(
            f"{target!r} is not hooked; expected a team or function that went through tracer_hooks.hook()"
        )
    return conductor.last_run


def conductor_of(target: Any) -> Conductor | None:
    """The conductor of a hooked team or function."""
    own = getattr(target, CONDUCTOR, None) if inspect.isroutine(target) else None
    return own if isinstance(own, Conductor) else _conductors.get(id(target))


def hook_team(team: Any, options: HookOptions, source: TeamSource, adapter: Adapter | None = None) -> Any:
    """Hook a team object, once; gives the object."""
    if id(team) in _conductors:
        return team
    adapter = adapter or adapter_for(team)
    adapter.framework_version()
    conductor = Conductor(adapter, source, options)
    conductor.patches.add(adapter.hook(team, conductor))
    _conductors[id(team)] = conductor
    # Some adapters patch classes alone; the team must keep its conductor alive all the same.
    weakref.finalize(team, lambda kept: None, conductor)
    return team


def _hook(target: Any, options: HookOptions) -> Any:
    if not inspect.isroutine(target):
        if callable(target) and not _is_team(target):
            return _hook_function(target, options)
        return hook_team(target, options, TeamSource())
    return _hook_function(target, options)


def _is_team(target: Any) -> bool:
    try:
        adapter_for(target)
    except AdapterNotFoundError:
        return False
    except MissingExtraError:  # a team, though we cannot hook it: let hook_team say what to install
        return True
    return True


def _hook_function(function: Callable[..., Any], options: HookOptions) -> Any:
    required = _required(function)
    if required <= {"prompts"} and "prompts" in inspect.signature(function).parameters:
        return _factory(function, options)
    if required or inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return _runner(_plain_team(function), options)
    return _factory_or_runner(function, options)


def _required(function: Callable[..., Any]) -> set[str]:
    return {
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _factory(function: Callable[..., Any], options: HookOptions) -> Callable[..., Any]:
    """Teams that ``function`` builds come out hooked; rewrites that were kept are shared by all of them."""
    kept: dict[str, str] = {}

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def build_async(*args: Any, **kwargs: Any) -> Any:
            # A retry builds in synchronous code, where the coroutine is run to its end.
            source = TeamSource(_resolved(function), args, kwargs, kept=kept, as_team=_as_team)
            return _hook_built(_as_team(await function(*args, **_with_kept(source, kwargs))), options, source)

        setattr(build_async, FACTORY, True)
        return build_async

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        source = TeamSource(function, args, kwargs, kept=kept, as_team=_as_team)
        return _hook_built(source.build(), options, source)

    setattr(build, FACTORY, True)
    return build


def _as_team(built: Any) -> Any:
    return _plain_team(built) if inspect.isroutine(built) else built


def _hook_built(team: Any, options: HookOptions, source: TeamSource) -> Any:
    """A team of a framework is hooked itself; for a team in plain Python the caller gets its function, hooked."""
    return _runner(team, options, source) if isinstance(team, PlainTeam) else hook_team(team, options, source)


def _resolved(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        from tracer_hooks._api._verdict import run_awaitable

        return run_awaitable(function(*args, **kwargs))

    return build


def _with_kept(source: TeamSource, kwargs: dict[str, Any]) -> dict[str, Any]:
    if not source.kept or not source.takes_prompts:
        return kwargs
    return {**kwargs, "prompts": {**(kwargs.get("prompts") or {}), **source.kept}}


class _TeamBuilt(BaseException):
    """Leaves a run that turned out to be the building of a team; not an Exception, so that no handler takes it."""

    def __init__(self, team: Any) -> None:
        super().__init__()
        self.team = team


def _factory_or_runner(function: Callable[..., Any], options: HookOptions) -> Callable[..., Any]:
    """What a function without parameters is shows when it is called: a factory, if a team comes out.

    It is run as a team; when its value is one, the run is forgotten and the value hooked.
    """
    kept: dict[str, str] = {}

    def team_built(built: _TeamBuilt, source: Callable[..., Any]) -> Any:
        return hook_team(built.team, options, TeamSource(source, kept=kept))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def probe_async() -> Any:
            return _unless_team(await function())

        runner = _runner(_plain_team(probe_async), options)

        @functools.wraps(function)
        async def call_async() -> Any:
            try:
                return await runner()
            except _TeamBuilt as built:
                return team_built(built, _resolved(function))

        setattr(call_async, CONDUCTOR, getattr(runner, CONDUCTOR))
        return call_async

    @functools.wraps(function)
    def probe() -> Any:
        return _unless_team(function())

    runner = _runner(_plain_team(probe), options)

    @functools.wraps(function)
    def call() -> Any:
        try:
            return runner()
        except _TeamBuilt as built:
            return team_built(built, function)

    setattr(call, CONDUCTOR, getattr(runner, CONDUCTOR))
    return call


def _unless_team(value: Any) -> Any:
    if value is not None and not isinstance(value, (str, bytes, int, float, dict, list, tuple)) and _is_team(value):
        raise _TeamBuilt(value)
    return value


def _plain_team(function: Callable[..., Any]) -> PlainTeam:
    return PlainTeam(function, getattr(function, "__name__", type(function).__name__))


def _runner(team: PlainTeam, options: HookOptions, source: TeamSource | None = None) -> Callable[..., Any]:
    conductor = Conductor(PlainAdapter(), source or TeamSource(), options)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TeamCall:
        return TeamCall(team=team, method="run", args=args, kwargs=kwargs, task=_task(args, kwargs))

    wrapped = _wrapped(team.run, conductor, call)
    setattr(wrapped, CONDUCTOR, conductor)
    return wrapped


def _wrapped(function: Callable[..., Any], conductor: Conductor, call: Callable[..., TeamCall]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(lambda *args, **kwargs: conductor.astream(call(args, kwargs)))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(lambda *args, **kwargs: conductor.stream(call(args, kwargs)))
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            return await conductor.acall(call(args, kwargs))

        return run_async
    return functools.wraps(function)(lambda *args, **kwargs: conductor.call(call(args, kwargs)))


def _task(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    value = args[0] if args else next(iter(kwargs.values()), "")
    return answer_text(value)
