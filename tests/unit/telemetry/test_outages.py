"""Exceptions of model clients by their class: which of them mean that the server could not be reached."""

import asyncio
import http.client
import socket
import ssl
import urllib.error

import aiohttp
import httpcore
import httpx
import openai
import pytest
import requests
import urllib3

import tracer_hooks
from tracer_hooks.telemetry import is_outage, to_spans
from tracer_hooks.telemetry._assemble import assemble
from tracer_hooks.telemetry._outages import error_type

REQUEST = httpx.Request("POST", "http://x/v1")


def answered(status: int, kind: type[openai.APIStatusError] = openai.APIStatusError) -> openai.APIStatusError:
    return kind(f"Error code: {status}", response=httpx.Response(status, request=REQUEST), body=None)


def raised_from(cause: BaseException) -> BaseException:
    try:
        raise ValueError("no reply") from cause
    except ValueError as error:
        return error


class Down(httpx.ReadTimeout):
    """A client of the user's own."""


OUTAGES = {
    "TimeoutError": TimeoutError("t"),
    "ConnectionRefusedError": ConnectionRefusedError(111, "Connect call failed"),
    "BrokenPipeError": BrokenPipeError(32, "Broken pipe"),
    "socket.gaierror": socket.gaierror(-3, "Temporary failure in name resolution"),
    "ssl.SSLEOFError": ssl.SSLEOFError(8, "EOF"),
    "asyncio.exceptions.IncompleteReadError": asyncio.IncompleteReadError(b"", 1),
    "http.client.RemoteDisconnected": http.client.RemoteDisconnected("closed"),
    "httpx.ConnectError": httpx.ConnectError("All connection attempts failed"),
    "httpx.ReadTimeout": Down("slow"),
    "httpx.ReadError": raised_from(raised_from(httpx.ReadError(""))),
    "httpcore.ConnectTimeout": httpcore.ConnectTimeout(),
    "aiohttp.client_exceptions.ServerDisconnectedError": aiohttp.ServerDisconnectedError(),
    "requests.exceptions.ConnectionError": requests.ConnectionError("x"),
    "urllib3.exceptions.MaxRetryError": urllib3.exceptions.MaxRetryError(None, "/"),  # type: ignore[arg-type]
    "openai.APITimeoutError": openai.APITimeoutError(REQUEST),
    "openai.RateLimitError": answered(429, openai.RateLimitError),
    "openai.InternalServerError": answered(500, openai.InternalServerError),
    "408": answered(408),
    "503": urllib.error.HTTPError("http://x", 503, "busy", None, None),  # type: ignore[arg-type]
}
OTHERS = {
    "ValueError": raised_from(LookupError("x")),
    "httpx.UnsupportedProtocol": httpx.UnsupportedProtocol("no scheme"),
    "openai.AuthenticationError": answered(401, openai.AuthenticationError),
    "openai.BadRequestError": answered(400, openai.BadRequestError),
    "openai.PermissionDeniedError": answered(403, openai.PermissionDeniedError),
}


def failed(error: BaseException, *, in_tool: bool = False) -> tracer_hooks.Attribution:
    """Diagnose a run of two agents, in which a model's client or a tool raises ``error`` under the second."""

    @tracer_hooks.model(name="m")
    def ask(text: str, agent: str) -> str:
        if agent == "solver" and not in_tool:
            raise error
        return "The parts are known."

    @tracer_hooks.tool
    def lookup(text: str) -> str:
        raise error

    @tracer_hooks.agent(name="planner")
    def planner(text: str) -> str:
        return ask(text, "planner")

    @tracer_hooks.agent(name="solver")
    def solver(text: str) -> str:
        return lookup(ask(text, "solver"))

    def team(task: str) -> str:
        return solver(planner(task))

    hooked = tracer_hooks.hook(team, store="off")
    with pytest.raises(type(error)):
        hooked("x")
    run = tracer_hooks.last_run(hooked)
    assert run is not None
    assert assemble(to_spans(run.trajectory))[0].steps[-1].error_type == run.trajectory.steps[-1].error_type
    found = run.attribution
    assert found is not None
    return found


@pytest.mark.parametrize("name", OUTAGES)
def test_an_outage_is_the_environments_where_the_models_client_met_it_and_the_callers_where_a_tool_did(
    name: str,
) -> None:
    error = OUTAGES[name]
    assert (error_type(error), is_outage(name)) == (name, True)
    outside = failed(error)
    assert (outside.agent, outside.abstained_reason) == (None, "environment fault")
    assert failed(error, in_tool=True).agent == "solver"


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_server_refused_and_what_the_client_did_wrong_is_no_outage(name: str) -> None:
    assert (error_type(OTHERS[name]), is_outage(name)) == (name, False)
    assert failed(OTHERS[name]).abstained_reason is None


@pytest.mark.parametrize("name", ["timeout", "ConnectError", "429", "anthropic.OverloadedError", "litellm.Timeout"])
def test_an_outage_is_known_by_what_other_libraries_record(name: str) -> None:
    assert is_outage(name)


@pytest.mark.parametrize("name", ["", "404", "mine.ConnectError", "_OTHER", "600"])
def test_another_class_of_the_same_name_is_none(name: str) -> None:
    assert not is_outage(name)
