"""What the documentation says of redaction: secrets blanked, prose left alone, time linear."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracer_hooks.telemetry._redact import BLANK, Redactor
from tracer_hooks.telemetry._secrets import SECRET_FORMS

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
_EXAMPLES = importlib.import_module("redaction")
_MEASURED = importlib.import_module("redaction")
sys.path.remove(str(ROOT / "benchmarks"))

MEGABYTE = 1_000_000


def test_the_frozen_list_is_blanked() -> None:
    listed = list(_EXAMPLES.examples())
    missed = [one.name for one in listed if one.secret in Redactor().text(one.text)]
    assert len(listed) >= 150
    assert all(one.secret in one.text for one in listed)
    assert len(missed) <= 0.05 * len(listed), missed


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
@pytest.mark.parametrize("unit", ["".join(parts) for parts in ((" ", form.keywords[0]) for form in SECRET_FORMS)])
def test_a_keyword_again_and_again_takes_linear_time(unit: str) -> None:
    text = unit * (MEGABYTE // 16 // len(unit))
    began = time.process_time()
    for form in (text, text.upper(), text.replace(" ", "-"), text.replace(" ", "")):
        Redactor().text(form)
    assert time.process_time() - began < 10


def secrets_in_data() -> Iterator[tuple[str, object]]:
    yield "a password in JSON in JSON", {"body": '{"login": "{\\"password\\": \\"hunter two\\"}"}'}
    yield "what stands below a secret name", {"access_token": {"v": "hunter two", "other": ["hunter two"]}}
    yield "a list below a header", {"headers": {"Authorization": ["Basic", "hunter two"]}}
    yield "a short name", {"pwd": "hunter two", "cookie": "hunter two", "DB_PASS": "hunter two"}
    yield "JSON in a text", '{"settings": {"client-secret": "hunter two"}}'
    yield "JSON in the middle of a text", 'it said {"clientSecret": "hunter two"} and stopped'
    yield "a passphrase", "passphrase: hunter two"


@pytest.mark.parametrize(("name", "data"), secrets_in_data(), ids=lambda value: value if isinstance(value, str) else "")
def test_secrets_in_structures(name: str, data: object) -> None:
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


@pytest.mark.parametrize(
    "text",
    [
        "The password is required, and the token is a unit of text.",
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
        "https://example.org/a?page=2&sort=up#top",
        "git@github.com is no mail of a person, but looks like one"[4:],
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_json_without_a_secret_keeps_its_writing() -> None:
    text = '{ "b" : 1.50,\n  "a" : [ ] }'
    assert Redactor().text(text) == text


def test_data_that_is_nested_too_deeply_is_read_as_text() -> None:
    text = "[" * 100_000 + '"password=hunter2hunter"' + "]" * 100_000
    assert "hunter2hunter" not in Redactor().text(text)


def test_redacting_again_changes_nothing() -> None:
    for one in _EXAMPLES.examples():
        once = Redactor().text(one.text)
        assert Redactor().text(once) == once
