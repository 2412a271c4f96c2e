"""A bug of ours is one log line, or raised when strict."""

from __future__ import annotations

import pytest

from tracer_hooks import _guard
from tracer_hooks._guard import guard, guarded, is_strict, warn_once


@pytest.fixture
def lenient(strict_mode: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")


@guarded("count", -1)
def count(number: int) -> int:
    """Count."""
    return 1 // number


@pytest.mark.usefixtures("lenient")
def test_one_line_says_what_failed_and_that_the_team_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with guard("do it"):
        raise KeyError("x")
    assert caplog.messages == [
        "tracer-hooks could not do it (KeyError: 'x'). Your team is not affected; "
        "TRACER_HOOKS_STRICT=1 shows the traceback."
    ]
    assert caplog.records[0].name == "tracer_hooks"
    assert caplog.records[0].exc_info is None


@pytest.mark.usefixtures("lenient")
def test_a_guarded_function_gives_its_fallback(caplog: pytest.LogCaptureFixture) -> None:
    assert (count(1), count(0)) == (1, -1)
    assert len(caplog.messages) == 1
    assert (count.__name__, count.__doc__) == ("count", "Count.")


def test_strict_raises() -> None:
    error = KeyError("x")
    with pytest.raises(KeyError) as caught, guard("do it"):
        raise error
    assert caught.value is error
    with pytest.raises(ZeroDivisionError):
        count(0)


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_process_passes(error: type[BaseException]) -> None:
    with pytest.raises(error), guard("do it"):
        raise error


@pytest.mark.parametrize(("value", "strict"), [("", False), ("0", False), ("false", False), ("1", True)])
def test_the_switch(value: str, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", value)
    assert is_strict() is strict


def test_a_warning_is_given_once_a_key(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(_guard, "_warned", set())
    for key in ("a", "a", "b"):
        warn_once(key, "about %s", key)
    assert caplog.messages == ["about a", "about b"]
