"""Functions that run a team, and functions that build one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

from tracer_hooks._api.conducting._conductor import Conductor
from tracer_hooks._api.conducting._hooked_teams import CONDUCTOR, conductor_of, hook_team, is_built_team
from tracer_hooks._api.conducting._options import HookOptions
from tracer_hooks._api.runs import TeamSource
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import TeamCall
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam, answer_text
from tracer_hooks.telemetry import is_suppressed

FACTORY = "__tracer_hooks_factory__"
"""Attribute of a hooked factory, and of a function that may turn out to be one."""


class Factory:
    """What is known of a hooked factory.

    Attributes:
        is_certain: Whether it is known to build teams: by its parameters, or because it built one.
        is_off: Whether it was unhooked; the teams that it builds from then on are not hooked.
        function: The user's own function.
        options: What it was hooked with.
    """

    def __init__(self, function: Callable[..., Any], options: HookOptions, *, is_certain: bool) -> None:
        self.is_certain = is_certain
        self.is_off = False
        self.function = function
        self.options = options

    def build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Build a team and hook it."""
        source = self._source(args, kwargs)
        return self._hooked(source.build(), source)

    async def build_async(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same for a factory that is awaited."""
        source = self._source(args, kwargs)
        return self._hooked(await source.build_async(), source)

    def hooked_if_team(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gave; a team, by which it shows that this is a factory, comes out hooked."""
        if is_suppressed() or not is_built_team(value):
            return value
        self.is_certain = True
        return self._hooked(_as_team(value), self._source(args, kwargs))

    async def hooked_later(self, value: Awaitable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same for a plain function that hands on a coroutine."""
        return self.hooked_if_team(await value, args, kwargs)

    def _source(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TeamSource:
        return TeamSource(self.function, args, kwargs, as_team=_as_team)

    def _hooked(self, team: Any, source: TeamSource) -> Any:
        """A team of a framework is hooked itself; for a team in plain Python the caller gets its function, hooked."""
        if isinstance(team, PlainTeam):
            return _runner(team, self.options, source)
        return team if inspect.isroutine(team) else hook_team(team, self.options, source)


def hook_function(function: Callable[..., Any], options: HookOptions) -> Callable[..., Any]:
    """Hook a function that builds a team, or one that runs it; see :func:`tracer_hooks.hook` for which is which."""
    parameters = _parameters(function)
    required = {name for name, parameter in parameters.items() if _is_required(parameter)}
    if required <= {"prompts"} and "prompts" in parameters:
        return _factory(function, Factory(function, options, is_certain=True))
    if required or inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return _runner(_plain_team(function), options, TeamSource())
    return _factory_or_runner(function, Factory(function, options, is_certain=False), options)


def factory_of(target: Any) -> Factory | None:
    """What is known of a hooked factory, or of a function without required parameters, which may be one."""
    factory = getattr(target, FACTORY, None) if inspect.isroutine(target) else None
    return factory if isinstance(factory, Factory) and not factory.is_off else None


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some built-in callables have no signature: take it for a function of the task
        return {"task": inspect.Parameter("task", inspect.Parameter.POSITIONAL_ONLY)}
    first = next(iter(parameters), None)
    if first in ("self", "cls"):  # a method, decorated in the body of its class
        del parameters[first]
    return parameters


def _is_required(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not variadic


def _factory(function: Callable[..., Any], factory: Factory) -> Callable[..., Any]:
    """Teams that ``function`` builds come out hooked."""
    build: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def build_async(*args: Any, **kwargs: Any) -> Any:
            return await (function(*args, **kwargs) if factory.is_off else factory.build_async(args, kwargs))

        build = build_async
    else:

        @functools.wraps(function)
        def build_now(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if factory.is_off else factory.build(args, kwargs)

        build = build_now
    setattr(build, FACTORY, factory)
    return build


def _factory_or_runner(function: Callable[..., Any], factory: Factory, options: HookOptions) -> Callable[..., Any]:
    """What a function without required parameters is shows when it is called: a factory, if a team comes out.

    It is conducted as a team of which it is not known whether its calls are runs; a team that comes out is hooked.
    """
    build = _factory(function, factory)
    runner = _runner(_plain_team(function), options, TeamSource(), is_no_result=is_built_team)
    call: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            if factory.is_certain or factory.is_off:
                return await build(*args, **kwargs)
            return factory.hooked_if_team(await runner(*args, **kwargs), args, kwargs)

        call = call_async
    else:

        @functools.wraps(function)
        def call_now(*args: Any, **kwargs: Any) -> Any:
            if factory.is_certain or factory.is_off:
                return build(*args, **kwargs)
            value = runner(*args, **kwargs)
            if inspect.iscoroutine(value):
                return factory.hooked_later(value, args, kwargs)
            return factory.hooked_if_team(value, args, kwargs)

        call = call_now
    setattr(call, CONDUCTOR, getattr(runner, CONDUCTOR))
    setattr(call, FACTORY, factory)
    return call


def _as_team(built: Any) -> Any:
    return _plain_team(built) if inspect.isroutine(built) and conductor_of(built) is None else built


def _plain_team(function: Callable[..., Any]) -> PlainTeam:
    named = getattr(function, "func", function)  # functools.partial has no name of its own
    return PlainTeam(function, getattr(named, "__name__", type(named).__name__))


def _runner(
    team: PlainTeam, options: HookOptions, source: TeamSource, *, is_no_result: Callable[[Any], bool] | None = None
) -> Callable[..., Any]:
    conductor = Conductor(PlainAdapter(), source, options, is_no_result=is_no_result)
    wrapped = _wrapped(team.run, conductor, team)
    setattr(wrapped, CONDUCTOR, conductor)
    return wrapped


def _wrapped(function: Callable[..., Any], conductor: Conductor, team: PlainTeam) -> Callable[..., Any]:
    """``function`` with every call conducted; it keeps its nature, since others ask for it before they call."""

    def conducted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TeamCall | None:
        if conductor.is_off or is_suppressed() or not _fits(function, args, kwargs):
            return None
        task = ""
        with guard("read the task"):
            task = _task(function, args, kwargs)
        return TeamCall(team=team, method="run", args=args, kwargs=kwargs, task=task)

    async def run_astream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        call = conducted(args, kwargs)
        items: Any = function(*args, **kwargs) if call is None else conductor.astream(call)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    def run_stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        call = conducted(args, kwargs)
        return (yield from (function(*args, **kwargs) if call is None else conductor.stream(call)))

    async def run_async(*args: Any, **kwargs: Any) -> Any:
        call = conducted(args, kwargs)
        return await (function(*args, **kwargs) if call is None else conductor.acall(call))

    def run(*args: Any, **kwargs: Any) -> Any:
        call = conducted(args, kwargs)
        return function(*args, **kwargs) if call is None else conductor.call(call)

    natures: list[tuple[Callable[..., bool], Callable[..., Any]]] = [
        (inspect.isasyncgenfunction, run_astream),
        (inspect.isgeneratorfunction, run_stream),
        (inspect.iscoroutinefunction, run_async),
    ]
    return functools.wraps(function)(next((wrapper for is_so, wrapper in natures if is_so(function)), run))


def _fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the arguments fit; if not, the call raises as without us, and is neither a run nor repeated."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # no signature
        return True
    return True


def _task(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except ValueError:  # no signature
        return answer_text(args[0] if args else "")
    values = [value for name, value in given.arguments.items() if name not in ("self", "cls")]
    return answer_text(values[0]) if values else ""
