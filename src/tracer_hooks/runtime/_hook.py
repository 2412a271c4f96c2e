"""``hook``, ``unhook`` and ``last_run``: which teams and functions are hooked, and by which host."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Mapping
from typing import Any

from tracer_hooks._guard import guard, warn_once
from tracer_hooks.config import is_disabled
from tracer_hooks.errors import AdapterError, AdapterNotFoundError, MissingExtraError
from tracer_hooks.frameworks import KnowsCopies, TeamCall, adapter_for, find_adapters
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam, answer_text
from tracer_hooks.runtime._options import HookOptions, as_hook, make_options
from tracer_hooks.runtime._rerunner import TeamSource
from tracer_hooks.runtime._team_host import TeamHost
from tracer_hooks.runtime._team_run import TeamRun
from tracer_hooks.telemetry import is_suppressed

HOST = "__tracer_hooks_conductor__"
"""Attribute of a hooked function that holds its host."""
_hosts: weakref.WeakValueDictionary[int, TeamHost] = weakref.WeakValueDictionary()
"""By the id of the team object."""


def host_of(target: Any) -> TeamHost | None:
    """The host of a hooked team or function."""
    if inspect.isroutine(target):
        own = getattr(target, HOST, None)
        return own if isinstance(own, TeamHost) and not own.is_off else None
    host = _hosts.get(id(target))
    # A host that is still at work may outlive its team, whose id then goes to another object.
    if host is not None and host.conducts(target):
        return host
    for found in find_adapters():
        if isinstance(found.adapter, KnowsCopies) and found.adapter.recognises(target):
            recognised = found.adapter.host_of(target)
            return recognised if isinstance(recognised, TeamHost) else None
    return None


def hook_team(team: Any, options: HookOptions, source: TeamSource) -> Any:
    """Hook a team object, once; gives the object."""
    if host_of(team) is not None:
        return team
    adapter = adapter_for(team)
    adapter.framework_version()
    host = TeamHost(adapter, source, options)
    host.hook(team)
    _hosts[id(team)] = host
    return team


def is_team(target: Any) -> bool:
    """Tell whether an adapter recognises ``target``, or would if it were installed."""
    try:
        adapter_for(target)
    except AdapterNotFoundError:
        return False
    except MissingExtraError:  # let hook_team say what to install
        return True
    return True


def is_built_team(value: Any) -> bool:
    """Tell whether what a function returned is a team, and not the result of one, so that the function is a factory."""
    if value is None or isinstance(value, (str, bytes, int, float, dict, list, tuple)):
        return False
    if inspect.isroutine(value) and not inspect.isbuiltin(value):
        return True
    try:
        adapter_for(value)
    except AdapterNotFoundError:
        return False
    except MissingExtraError as error:  # maybe a team, maybe its result; the user's call must not fail for it
        warn_once(f"not observed: {error.requirement}", "tracer-hooks observes nothing here: %s", error)
        return False
    return True


FACTORY = "__tracer_hooks_factory__"
"""Attribute of a hooked factory, and of a function that may turn out to be one."""


class Factory:
    """Facts about a hooked factory.

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
        """Return the value of a call; a team, by which it shows that this is a factory, comes out hooked."""
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
    required = required_in(parameters)
    if required <= {"prompts"} and "prompts" in parameters:
        return _factory(function, Factory(function, options, is_certain=True))
    if required or inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return _runner(_plain_team(function), options, TeamSource())
    runner = _runner(_plain_team(function), options, TeamSource(), is_no_result=is_built_team)
    return _factory(function, Factory(function, options, is_certain=False), runner)


def factory_of(target: Any) -> Factory | None:
    """Return the facts about a hooked factory, or about a function without required parameters, which may be one."""
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


def required_in(parameters: Mapping[str, inspect.Parameter]) -> set[str]:
    """The names of those that a call has to give."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name for name, one in parameters.items() if one.default is one.empty and one.kind not in variadic}


def _factory(
    function: Callable[..., Any], factory: Factory, runner: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Teams that come out of calls of ``function`` are hooked.

    Until a team comes out of one that is not certain to build any, its calls are made by ``runner``, which takes each
    for a run.
    """
    call: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            if factory.is_off:
                return await function(*args, **kwargs)
            if factory.is_certain or runner is None:
                return await factory.build_async(args, kwargs)
            return factory.hooked_if_team(await runner(*args, **kwargs), args, kwargs)

        call = call_async
    else:

        @functools.wraps(function)
        def call_now(*args: Any, **kwargs: Any) -> Any:
            if factory.is_off:
                return function(*args, **kwargs)
            if factory.is_certain or runner is None:
                return factory.build(args, kwargs)
            value = runner(*args, **kwargs)
            if inspect.iscoroutine(value):
                return factory.hooked_later(value, args, kwargs)
            return factory.hooked_if_team(value, args, kwargs)

        call = call_now
    if runner is not None:
        setattr(call, HOST, getattr(runner, HOST))
    setattr(call, FACTORY, factory)
    return call


def _as_team(built: Any) -> Any:
    return _plain_team(built) if inspect.isroutine(built) and host_of(built) is None else built


def _plain_team(function: Callable[..., Any]) -> PlainTeam:
    named = getattr(function, "func", function)  # functools.partial has no name of its own
    return PlainTeam(function, getattr(named, "__name__", type(named).__name__))


def _runner(
    team: PlainTeam, options: HookOptions, source: TeamSource, *, is_no_result: Callable[[Any], bool] | None = None
) -> Callable[..., Any]:
    host = TeamHost(PlainAdapter(), source, options, is_no_result=is_no_result)
    wrapped = _wrapped(team.run, host, team)
    setattr(wrapped, HOST, host)
    return wrapped


def _wrapped(function: Callable[..., Any], host: TeamHost, team: PlainTeam) -> Callable[..., Any]:
    """``function`` with every call conducted; it keeps its nature, since others ask for it before they call."""

    def conducted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TeamCall | None:
        if host.is_off or is_suppressed() or not _fits(function, args, kwargs):
            return None
        task = ""
        with guard("read the task"):
            task = _task(function, args, kwargs)
        return TeamCall(team=team, method="run", args=args, kwargs=kwargs, task=task)

    async def run_astream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        call = conducted(args, kwargs)
        items: Any = function(*args, **kwargs) if call is None else host.astream(call)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    def run_stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        call = conducted(args, kwargs)
        return (yield from (function(*args, **kwargs) if call is None else host.stream(call)))

    async def run_async(*args: Any, **kwargs: Any) -> Any:
        call = conducted(args, kwargs)
        return await (function(*args, **kwargs) if call is None else host.acall(call))

    def run(*args: Any, **kwargs: Any) -> Any:
        call = conducted(args, kwargs)
        return function(*args, **kwargs) if call is None else host.call(call)

    natures: list[tuple[Callable[..., bool], Callable[..., Any]]] = [
        (inspect.isasyncgenfunction, run_astream),
        (inspect.isgeneratorfunction, run_stream),
        (inspect.iscoroutinefunction, run_async),
    ]
    return functools.wraps(function)(next((wrapper for is_so, wrapper in natures if is_so(function)), run))


def _fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether the arguments fit; if not, the call raises as without us, and is neither a run nor repeated."""
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


_DECORATED: Any = object()
"""Stands for the target of ``@hook(...)``, which comes later; None is a mistake of the caller's."""


@as_hook(HookOptions)
def hook(target: Any = _DECORATED, /, **options: Any) -> Any:
    """Observe every run of a team, say which agent and step made a failed one fail, and optionally repair it.

    Three kinds of target, all as ``@hook``, ``@hook(...)`` or ``hook(target, ...)``:

    - a **factory** that returns a team, best with a parameter ``prompts=None`` (a mapping from agent name to
      instructions): prompts can then be rewritten, and every retry runs on a team that is built anew;
    - a **team**: an AutoGen team or agent, a CrewAI crew or flow, a compiled LangGraph graph; the object itself is
      returned, hooked;
    - a **function that runs a team**, plain, asynchronous or a generator. Its first argument is taken for the task. A
      function counts as a factory when it has a parameter ``prompts`` and no other required one, or has no required
      parameter and returns a team or a function.

    The team's own API keeps its behaviour and return types; :func:`last_run` gives the rest. What is hooked already is
    given back as it is and keeps the options of its first hook, since runs with them may go on; a log line names those
    that are not used. :func:`unhook` it first to change them. ``TRACER_HOOKS_DISABLED=1`` gives back what was given.

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
    if is_disabled():
        return target if target is not _DECORATED else lambda decorated: decorated
    made = make_options(**options)
    if target is _DECORATED:
        return lambda decorated: hook_with(decorated, made, options)
    return hook_with(target, made, options)


def unhook(target: Any) -> None:
    """Undo :func:`hook`: every attribute of the team is again what it was. Not hooked: nothing happens.

    A function is then called without us; a factory's next teams are not hooked, those it built already are.
    """
    factory, host = factory_of(target), host_of(target)
    if factory is not None:
        factory.is_off = True
    if host is not None:
        host.unhook()
        if _hosts.get(id(target)) is host:
            del _hosts[id(target)]


def last_run(target: Any) -> TeamRun | None:
    """The newest run of a hooked team or function; of the calling task or thread, when it made one.

    None where there was no run yet, and where ``TRACER_HOOKS_DISABLED`` switches everything off.

    Raises:
        AdapterError: ``target`` is not hooked.
    """
    host, factory = host_of(target), factory_of(target)
    if factory is not None and factory.is_certain:
        raise AdapterError(f"{target!r} is a factory, expected the team that it built: last_run(team)")
    if host is None:
        if is_disabled():
            return None
        raise AdapterError(
            f"{target!r} is not hooked; expected a team or function that went through tracer_hooks.hook()"
        )
    return host.last_run


def hook_with(target: Any, options: HookOptions, given: Collection[str] = ()) -> Any:
    """Hook ``target``, unless it is; ``given`` are the names of the options that the user gave."""
    hooked = factory_of(target) or host_of(target)
    if hooked is not None:
        other = [name for name in given if getattr(options, name) != getattr(hooked.options, name)]
        if other:
            warn_once(
                f"hooked {id(hooked)} {other}",
                "tracer-hooks does not use %s for %r, which is hooked already and keeps the options of its first hook; "
                "to change them call tracer_hooks.unhook() with it first",
                ", ".join(f"{name}=" for name in other),
                getattr(target, "__name__", type(target).__name__),
            )
        return target
    if inspect.isclass(target):
        raise AdapterNotFoundError(
            f"{target!r} is a class; expected a team, or a function that builds or runs one. Hook an instance of it"
        )
    if inspect.isroutine(target) or (callable(target) and not is_team(target)):
        return hook_function(target, options)
    return hook_team(target, options, TeamSource())
