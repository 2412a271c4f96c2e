"""Regular expressions that are compiled when they are first used: compiling all of them would slow every import."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)  # from now on as quick as the pattern itself
        return value


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile``, later."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
