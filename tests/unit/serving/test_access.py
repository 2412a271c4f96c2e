"""Hosts, origins, tokens and headers: who is let in, and what every answer says."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.serving import Access

from ._served import BASE, PORT, Served

TOKEN = "a-token-that-is-long-enough"


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_the_server_answers_to_its_own_names(served: Served, host: str) -> None:
    assert served.client.get("/healthz", headers={"Host": host}).json()["status"] == "ok"


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", f"127.0.0.1.evil.example:{PORT}"]
)
def test_a_name_of_a_stranger_is_refused_whatever_is_asked(served: Served, host: str) -> None:
    for address in ("/", "/style.css", "/nowhere"):
        assert served.client.get(address, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": BASE}, 200),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"http://localhost:{PORT}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_what_changes_something_comes_from_a_page_of_ours_or_from_no_page(
    served: Served, headers: dict[str, str], status: int
) -> None:
    told = {"Content-Type": "application/json", **headers}
    assert served.client.post("/v1/traces", content=b"{}", headers=told).status_code == status


def test_every_answer_has_the_policy(served: Served, tmp_path: Path) -> None:
    answers = [served.client.get(each) for each in ("/", "/style.css", "/nowhere", "/?since=x", "/healthz")]
    answers += [served.client.get("/", headers={"Host": "evil.example"}), served.client.post("/label")]
    answers += [served.client.post("/"), Served(tmp_path, host="0.0.0.0").client.get("/")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; style-src 'self'; script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert "style=" not in served.client.get("/").text


def test_elsewhere_than_here_every_request_needs_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served = Served(tmp_path, host="0.0.0.0")
    token = served.server.access.token
    assert token is not None
    assert len(token) > 40
    for address in ("/", "/healthz", "/style.css", "/?token=wrong", f"/?token={token}x", "/v1/traces"):
        assert served.client.get(address).status_code == 401, address
    assert served.client.post(f"/v1/traces?token={token}", content=b"{}").status_code == 401
    assert served.client.get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert served.client.get("/", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    answer = served.client.get(f"/runs?team=a%26b&token={token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?team=a%26b")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie
    assert served.client.get("/").status_code == 200, "the cookie is enough"
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]  # the client's own log
    assert not [record for record in ours if token in record.getMessage()]


def test_a_token_can_be_asked_for_on_this_machine_too(tmp_path: Path) -> None:
    served = Served(tmp_path, token=TOKEN, public_url="https://runs.example.com")
    assert served.client.get("/").status_code == 401
    told = {"Host": "runs.example.com", "Authorization": f"bearer {TOKEN}"}
    assert served.client.get("/", headers=told).status_code == 200
    sent = {**told, "Content-Type": "application/json", "Origin": "https://runs.example.com"}
    assert served.client.post("/v1/traces", content=b"{}", headers=sent).status_code == 200
    assert "Secure" in served.client.get(f"/?token={TOKEN}", headers={"Host": "runs.example.com"}).headers["set-cookie"]


def test_a_redirect_never_leaves_the_server(tmp_path: Path) -> None:
    served = Served(tmp_path, token=TOKEN)
    for path in ("//evil.example/", "/\\evil.example", "///evil.example"):
        answer = served.client.get(f"{BASE}{path}?token={TOKEN}")  # the second time with the cookie
        assert not answer.headers["location"].startswith(("//", "/\\")), path


@pytest.mark.parametrize("token", ["short", "with a\nline break in it", "schlüssel-mit-umlaut"])
def test_a_token_that_is_no_good_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="expected 16 or more"):
        Access.of("127.0.0.1", PORT, token=token)


def test_a_public_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected one such as https://"):
        Access.of("127.0.0.1", PORT, public_url="runs.example.com")
