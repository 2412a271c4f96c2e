"""Which releases of a framework an adapter takes."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import MissingExtraError
from tracer_hooks.frameworks import is_within, supported_version


@pytest.mark.parametrize(
    ("installed", "supported", "expected"),
    [
        ("0.7.5", ">=0.7,<0.8", True),
        ("0.7", "<0.8,>=0.7", True),
        ("0.8.0", ">=0.7,<0.8", False),
        ("0.6.4", ">=0.7,<0.8", False),
        ("1.15.3rc1", ">=1.15.3,<2", True),
        ("99", "", True),
    ],
)
def test_ranges(installed: str, supported: str, expected: bool) -> None:
    assert is_within(installed, supported) is expected


def test_a_framework_that_is_not_installed_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*\[nope\]'"):
        supported_version("no-such-framework", adapter="tracer-hooks-nope", extra="nope")
