"""Secrets are blanked wherever they stand, and nothing else is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tracer_hooks.telemetry._redact import BLANK, Redactor

SECRETS = [
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-ant-api03-AbCdEfGhIjKlMnOp",
    "ghp_0123456789abcdefghij",
    "github_pat_0123456789abcdef",
    "xoxb-1234567890-abcdef",
    "hf_abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "AIza" + "x" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_ghi",
    "jane.doe+tag@mail.example.co.uk",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\ncut off",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_blanked_in_the_middle_of_text(secret: str) -> None:
    text = Redactor().text(f"use {secret}")
    assert secret not in text
    assert text.startswith("use ")
    assert BLANK in text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdefghijkl1234", "abcdefghijkl1234"),
        ('{"password": "hunter2!"}', "hunter2!"),
        ("api_key='topsecret'", "topsecret"),
        ("db_password = swordfish; user = x", "swordfish"),
        ("https://x.example/?access_token=abcd1234&y=1", "abcd1234"),
    ],
)
def test_assigned_secrets_are_blanked(text: str, secret: str) -> None:
    assert secret not in Redactor().text(text)


@pytest.mark.parametrize(
    "text", ["the token limit is 128000", "max_tokens=4096", "six times seven", "a@b", "task-force", ""]
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_the_users_patterns_are_blanked_too() -> None:
    redactor = Redactor((re.compile(r"PATIENT-\d+"),))
    assert redactor.value({"who": "PATIENT-17"}) == {"who": BLANK}


def test_values_of_secret_keys_are_blanked_whole() -> None:
    value = {"api_key": "short", "token": "t", "api_keys": ["one", "two"], "max_tokens": 5, "name": "n"}
    expected = {"api_key": BLANK, "token": BLANK, "api_keys": [BLANK, BLANK], "max_tokens": 5, "name": "n"}
    assert Redactor().value(value) == expected


def test_numbers_under_secret_names_are_blanked_and_signs_are_not() -> None:
    value = {"password": 12345678, "api_key": [1.5], "secret": True, "client_secret": None}
    expected = {"password": BLANK, "api_key": [BLANK], "secret": True, "client_secret": None}
    assert Redactor().value(value) == expected


def test_a_secret_name_within_what_may_be_none_is_one_all_the_same() -> None:
    value = {"session": {"password": "correct horse battery", "users": [{"password": 12345678}], "seconds": 30}}
    expected = {"session": {"password": BLANK, "users": [{"password": BLANK}], "seconds": 30}}
    assert Redactor().value(value) == expected
    assert json.loads(Redactor().text(json.dumps(value))) == expected


class _Model(BaseModel):
    note: str


@dataclass
class _Settings:
    password: str


def test_secrets_inside_objects_are_found() -> None:
    value = [_Settings("swordfish"), _Model(note="mail jane@example.org"), {"set": {"sk-abcdefghijklmnopqrstuvwx"}}]
    text = repr(Redactor().value(value))
    assert "swordfish" not in text
    assert "jane@" not in text
    assert "sk-abc" not in text


def test_data_that_holds_itself_is_redacted() -> None:
    value: list[object] = ["jane@example.org"]
    value.append(value)
    assert Redactor().value(value) == [BLANK, "<circular>"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["a.", "a-", "a", "eyJ-", "key=", "-----BEGIN ", "password", "a@", "a@b."])
def test_long_text_takes_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert Redactor().text(text) is not None
