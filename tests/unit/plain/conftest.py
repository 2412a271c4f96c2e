"""No run of a plain team is stored."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_store(strict_mode: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
