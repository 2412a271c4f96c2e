"""Secrets are blanked wherever they stand, prose is left alone, and time is linear."""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from tracer_hooks.telemetry._redact import BLANK, SECRET_FORMS, Redactor

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
_MEASURED = importlib.import_module("redaction")
sys.path.remove(str(ROOT / "benchmarks"))

MEGABYTE = 1_000_000
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
        ("log in with password hunter2-XY, then go on", "hunter2-XY"),
        ("api_key='topsecret'", "topsecret"),
        ("db_password = swordfish; user = x", "swordfish"),
        ("https://x.example/?access_token=abcd1234&y=1", "abcd1234"),
        ("[" * 100_000 + '"password=hunter2hunter"' + "]" * 100_000, "hunter2hunter"),
    ],
    ids=["header", "JSON", "words", "assignment", "another assignment", "query", "data nested too deeply"],
)
def test_assigned_secrets_are_blanked(text: str, secret: str) -> None:
    assert secret not in Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "the token limit is 128000",
        "six times seven, a@b, task-force",
        "",
        "The password is required, and the token is a unit of text; token 2026-11-24, pin 1234.",
        "token: a piece of a word",
        "Secret: nobody knows.",
        "api_key = os.environ['OPENAI_API_KEY']",
        "def login(password: str, token: str | None = None) -> None: ...",
        "password=get_password()",
        "primary key: id, sort_key=created_at, foreign_key=customer_id",
        "usage: input_tokens=5120, output_tokens=88, max_tokens=4096",
        "run 7d793c1a9b1c4f0c8b7a6d5e4f3a2b1c at 1795403608637390304 ns",
        "tool call call_AbCdEf0123456789AbCdEf01 took 12:30:45",
        "basic functionality; bearer authentication; digest algorithms",
        "2026-03-01T12:00:01.123456Z step 4111: 1111 2222 3333",
        '{"name": "bob", "text": "no secret"}',
        '{ "b" : 1.50,\n  "a" : [ ] }',  # JSON keeps its writing
        "https://example.org/a?page=2&sort=up#top",
        "github.com is no mail of a person, but looks like one",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_the_users_patterns_are_blanked_too() -> None:
    redactor = Redactor((re.compile(r"PATIENT-\d+"),))
    assert redactor.value({"who": "PATIENT-17"}) == {"who": BLANK}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (
            {"api_key": "short", "token": "t", "api_keys": ["one", "two"], "max_tokens": 5, "name": "n"},
            {"api_key": BLANK, "token": BLANK, "api_keys": [BLANK, BLANK], "max_tokens": 5, "name": "n"},
        ),
        (
            {"password": 12345678, "api_key": [1.5], "secret": True, "client_secret": None},
            {"password": BLANK, "api_key": [BLANK], "secret": True, "client_secret": None},
        ),
        (
            {"session": {"password": "correct horse battery", "users": [{"password": 12345678}], "seconds": 30}},
            {"session": {"password": BLANK, "users": [{"password": BLANK}], "seconds": 30}},
        ),
    ],
    ids=["texts", "numbers and signs", "within what may be no secret"],
)
def test_values_of_secret_names_are_blanked_whole(value: object, shown: object) -> None:
    assert Redactor().value(value) == shown
    assert json.loads(Redactor().text(json.dumps(value))) == shown


class _Model(BaseModel):
    note: str


@dataclass
class _Settings:
    password: str


def test_secrets_inside_objects_are_found() -> None:
    value = [_Settings("swordfish"), _Model(note="mail jane@example.org"), {"set": {"sk-abcdefghijklmnopqrstuvwx"}}]
    text = repr(Redactor().value(value))
    assert [secret for secret in ("swordfish", "jane@", "sk-abc") if secret in text] == []


def test_data_that_holds_itself_is_redacted() -> None:
    value: list[object] = ["jane@example.org"]
    value.append(value)
    assert Redactor().value(value) == [BLANK, "<circular>"]


@pytest.mark.parametrize(
    "data",
    [
        {"body": '{"login": "{\\"password\\": \\"hunter two\\"}"}'},
        {"access_token": {"v": "hunter two", "other": ["hunter two"]}},
        {"headers": {"Authorization": ["Basic", "hunter two"]}},
        {"pwd": "hunter two", "cookie": "hunter two", "DB_PASS": "hunter two"},
        '{"settings": {"client-secret": "hunter two"}}',
        'it said {"clientSecret": "hunter two"} and stopped',
        "passphrase: hunter two",
    ],
)
def test_secrets_in_structures(data: object) -> None:
    assert "hunter two" not in repr(Redactor().value(data))


def test_a_secret_that_is_a_key_is_blanked_and_no_value_is_lost() -> None:
    first, second = "sk-" + "a1" * 12, "sk-" + "b2" * 12
    shown = Redactor().value({first: 1, second: 2, "plain": 3})
    assert isinstance(shown, dict)
    assert sorted(shown.values()) == [1, 2, 3]
    assert not {first, second} & set(shown)


@pytest.mark.parametrize("card", ["4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "5555555555554444"])
def test_card_numbers_are_known_by_their_check_digit(card: str) -> None:
    assert Redactor().text(f"Charge {card}, please.") == f"Charge {BLANK}, please."
    wrong = card[:-1] + str((int(card[-1]) + 1) % 10)
    assert Redactor().text(f"Order {wrong}.") == f"Order {wrong}."


@pytest.mark.parametrize("iban", ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "NL91 ABNA 0417 1643 00"])
def test_account_numbers_are_known_by_their_check_digits(iban: str) -> None:
    assert Redactor().text(f"Pay to {iban} BY FRIDAY") == f"Pay to {BLANK} BY FRIDAY"
    wrong = iban[:2] + "00" + iban[4:]
    assert Redactor().text(f"Pay to {wrong}") == f"Pay to {wrong}"


# --- as the documentation says ---
def test_the_frozen_list_is_blanked_and_redacting_again_changes_nothing() -> None:
    listed = list(_MEASURED.examples())
    shown = [Redactor().text(one.text) for one in listed]
    missed = [one.name for one, text in zip(listed, shown, strict=True) if one.secret in text]
    assert len(listed) >= 150
    assert all(one.secret in one.text for one in listed)
    assert len(missed) <= 0.05 * len(listed), missed
    assert [Redactor().text(text) for text in shown] == shown


def test_prose_is_left_alone() -> None:
    pages = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").rglob("*.md"))]
    touched = sum(Redactor().text(page).count(BLANK) - page.count(BLANK) for page in pages)
    assert touched < 0.005 * sum(len(page.split()) for page in pages)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", _MEASURED.WORST.values(), ids=_MEASURED.WORST)
def test_the_worst_text_takes_linear_time(unit: str) -> None:
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    began = time.process_time()
    Redactor().text(text)
    assert time.process_time() - began < 10, "about half a second where it is quiet"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("keyword", [form.keywords[0] for form in SECRET_FORMS])
def test_a_keyword_again_and_again_takes_linear_time(keyword: str) -> None:
    text = f" {keyword}" * (MEGABYTE // 16 // (len(keyword) + 1))
    began = time.process_time()
    for form in (text, text.upper(), text.replace(" ", "-"), text.replace(" ", "")):
        Redactor().text(form)
    assert time.process_time() - began < 10
