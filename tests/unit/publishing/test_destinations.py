"""URLs of backends, keys for them, and what their answers become."""

from __future__ import annotations

import base64
import logging

import pytest

from tracer_hooks.errors import BackendError, ConfigError
from tracer_hooks.publishing import destinations_of, send_request

from ._backend import ScriptedBackend, serving

KEYS = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-2"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHOENIX_API_KEY", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.mark.parametrize(
    ("url", "address", "project"),
    [
        ("phoenix://localhost:6006/my%20team", "http://localhost:6006", "my team"),
        ("phoenix+https://app.phoenix.arize.com/s/space/team", "https://app.phoenix.arize.com/s/space", "team"),
        ("mlflow://10.0.0.3:5000/7", "http://10.0.0.3:5000", "7"),
        ("mlflow+https://host", "https://host", None),
        ("langfuse://cloud.langfuse.com", "https://cloud.langfuse.com", None),
        ("langfuse://localhost:3000/", "http://localhost:3000", None),
        ("langfuse+http://10.0.0.3:3000", "http://10.0.0.3:3000", None),
        ("langfuse://[::1]:3000/lf", "http://[::1]:3000/lf", None),
    ],
)
def test_a_url_names_an_address_and_a_project(url: str, address: str, project: str | None) -> None:
    (found,) = destinations_of(url)
    assert (found.address, found.project) == (address, project)


def test_several_are_given_in_a_list_or_with_commas_each_once() -> None:
    urls = ["phoenix://a:1/x, mlflow://b/0", "phoenix://a:1/x"]
    assert [found.url for found in destinations_of(urls)] == ["phoenix://a:1/x", "mlflow://b/0"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("phoenix://me:SECRET@host:6006/x", r"Take them out of the URL, and set PHOENIX_API_KEY"),
        ("mlflow://SECRET@host/x", "set MLFLOW_TRACKING_TOKEN"),
        ("https://me:SECRET@host/x", "is a URL of 'https', expected phoenix://"),
        ("host:6006/SECRET", "expected phoenix://"),
        ("phoenix:///x", "something else than a host and a path"),
        ("phoenix://host:SECRET/x", "a host or a port that cannot be read"),
        ("phoenix://host/x?api_key=SECRET", "something else than a host and a path"),
        (" , ", "names no backend"),
    ],
)
def test_what_cannot_be_used_is_refused_without_showing_a_password(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        destinations_of(url)
    assert "SECRET" not in str(caught.value)


def test_langfuse_needs_its_keys_and_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    with pytest.raises(ConfigError, match="Set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"):
        destinations_of("langfuse://cloud.langfuse.com")
    monkeypatch.setenv("PHOENIX_API_KEY", "SEC\nRET")
    with pytest.raises(ConfigError, match="PHOENIX_API_KEY holds a character") as caught:
        destinations_of("phoenix://host/x")
    assert "SEC" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "variables", "sent"),
    [
        ("phoenix", {"PHOENIX_API_KEY": "k1"}, "Bearer k1"),
        ("mlflow", {"MLFLOW_TRACKING_TOKEN": "k2"}, "Bearer k2"),
        ("mlflow", {"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": "pw"}, "me:pw"),
        ("langfuse", {}, "pk-lf-1:sk-lf-2"),
        ("phoenix", {}, None),
    ],
)
def test_the_key_goes_as_the_backend_wants_it(
    kind: str, variables: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with serving(ScriptedBackend()) as backend:
        backend.failure = (200, "{}")
        (destination,) = destinations_of(backend.url(kind))
        assert send_request(destination, "GET", "/x") == {}
    header = backend.requests[0][3].get("Authorization")
    expected = f"Basic {base64.b64encode(sent.encode()).decode()}" if sent and ":" in sent else sent
    assert header == expected
    assert sent is None or header not in repr(destination)


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, "you sent SECRET", "key", r"refuses the key \(401\). Set PHOENIX_API_KEY"),
        (404, "Spans with IDs b7 do not exist.", "missing", "has no such trace"),
        (404, "<html>", "odd", r"answered with 404. Check what is there: this was tried with Phoenix 20"),
        (405, "", "odd", "answered with 405"),
        (422, '{"detail": "bad SECRET"}', "refused", r"answered with 422: {\"detail\": \"bad \[key\]\"}"),
        (500, "oops", "odd", "answered with 500: oops"),
        (302, "", "odd", "302, a redirect to 'elsewhere.example'"),
        (307, "", "odd", "307, a redirect to 'elsewhere.example'"),
        (200, "<html>welcome", "odd", "something else than JSON"),
    ],
)
def test_an_answer_that_is_none_says_what_to_do(
    status: int, body: str, kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "SECRET")
    with serving(ScriptedBackend()) as backend:
        backend.failure = (status, body)
        (destination,) = destinations_of(backend.url("phoenix"))
        with pytest.raises(BackendError, match=said) as caught:
            send_request(destination, "POST", "/v1/span_annotations", {"data": []})
    assert caught.value.kind == kind
    assert "SECRET" not in str(caught.value)
    assert len(backend.requests) == 1


def test_a_server_that_is_not_there_or_never_answers_is_unreachable(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(ScriptedBackend()) as backend:
        backend.hangs.set()
        (destination,) = destinations_of(backend.url("mlflow"))
        with pytest.raises(BackendError, match=r"did not answer within 0.1 s. Start it, or correct the URL"):
            send_request(destination, "GET", "/x", timeout_s=0.1)
    with pytest.raises(BackendError, match=r"MLflow at 'http://127.0.0.1:\d+' cannot be reached") as caught:
        send_request(destination, "GET", "/x", timeout_s=5)
    assert caught.value.kind == "unreachable"
