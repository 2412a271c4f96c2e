"""The intervene seam of plain Python teams: inside the recorded operation, around the user's function."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from tracer_hooks import semconv
from tracer_hooks._guard import report
from tracer_hooks.errors import ReplayError
from tracer_hooks.telemetry import ChatInvocation, ToolInvocation

Request = TypeVar("Request")
Reply = TypeVar("Reply")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Seam(ABC, Generic[Request, Reply]):
    """What happens around the calls of one function; subclassed for models and for tools.

    A bug of ours in it is logged, and the call goes on as if nothing intervened.
    """

    @abstractmethod
    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Request, Request | Reply | None] | None:
        """The request and the intervention's answer; None where nothing intervenes."""

    @abstractmethod
    def change(self, args: tuple[Any, ...], kwargs: dict[str, Any], request: Request, changed: Request) -> Arguments:
        """The arguments as the intervention changed them."""

    @abstractmethod
    def supplied(self, answer: Request | Reply | None) -> Reply | None:
        """The reply in place of the call, if the answer is one."""

    @abstractmethod
    def returned(self, request: Request, value: Any) -> Reply | None:
        """The reply in place of what the call returned; None to leave it."""

    def raised(self, request: Request, error: Exception) -> Reply | None:
        """The reply in place of what the call raised; None to raise it."""
        return None

    @abstractmethod
    def replaced(self, request: Request, reply: Reply) -> Reply:
        """A supplied reply, after the intervention has seen it as one."""

    @abstractmethod
    def give(self, reply: Reply, value: Any) -> Any:
        """What the caller gets for a reply in place of ``value``, which is None where there was none."""


def seamed(function: Callable[..., Any], seam: Seam[Any, Any]) -> Callable[..., Any]:
    """``function`` with the run's intervention asked before and after; generators are passed through.

    (A generator may be endless, so its items cannot be held back until the intervention has seen them all.)
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        request, reply, (args, kwargs) = asked_before(seam, args, kwargs)
        if request is None:
            return function(*args, **kwargs)
        if reply is not None:
            return seam.give(reply, None)
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            return _after_error(seam, request, error)
        if inspect.iscoroutine(value):  # a plain function that hands on a coroutine, as a lambda does
            return _finished(seam, request, value)
        return _after(seam, request, value)

    @functools.wraps(function)
    async def acall(*args: Any, **kwargs: Any) -> Any:
        request, reply, (args, kwargs) = asked_before(seam, args, kwargs)
        if request is None:
            return await function(*args, **kwargs)
        if reply is not None:
            return seam.give(reply, None)
        return await _finished(seam, request, function(*args, **kwargs))

    return acall if inspect.iscoroutinefunction(function) else call


def agent_of(invocation: ChatInvocation | ToolInvocation) -> str:
    """The agent on whose behalf the call is made."""
    return str(invocation.attributes.get(semconv.AGENT_NAME, ""))


def asked_before(seam: Seam[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Arguments]:
    """The request, or None where nothing intervenes; the reply in place of the call, if any; the arguments."""
    asked = ours(lambda: seam.ask(args, kwargs), None)
    if asked is None:
        return None, None, (args, kwargs)
    request, answer = asked
    reply = seam.supplied(answer)
    if reply is not None:
        return request, ours(lambda: seam.replaced(request, reply), reply), (args, kwargs)
    if answer is None:
        return request, None, (args, kwargs)
    return request, None, ours(lambda: seam.change(args, kwargs, request, answer), (args, kwargs))


async def _finished(seam: Seam[Any, Any], request: Any, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        value = await coroutine
    except Exception as error:
        return _after_error(seam, request, error)
    return _after(seam, request, value)


def _after(seam: Seam[Any, Any], request: Any, value: Any) -> Any:
    reply = ours(lambda: seam.returned(request, value), None)
    return value if reply is None else seam.give(reply, value)


def _after_error(seam: Seam[Any, Any], request: Any, error: Exception) -> Any:
    reply = ours(lambda: seam.raised(request, error), None)
    if reply is None:
        raise error
    return seam.give(reply, None)


def ours(work: Callable[[], Any], fallback: Any) -> Any:
    try:
        return work()
    except ReplayError:
        raise
    except Exception as error:
        report("intervene in a plain Python team", error)
        return fallback
