"""How much is read of a file, a record or a value that a stranger wrote; every bound of the readers stands here.

Without bounds a megabyte can unpack to gigabytes, a bracket can be nested a hundred thousand times, and one odd value
can fill a screen with an error message. What goes beyond a bound is refused with a message that names the bound.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tracer_hooks.errors import ConfigError

FILE_VARIABLE = "TRACER_HOOKS_MAX_FILE_MB"
_DEFAULT_FILE_MB = 128
MAX_NESTING = 400
"""Levels of lists and objects in one JSON value. Python's own parser gives up near 1,000, fewer in a deep call."""
MAX_SPAN_DEPTH = 180
"""Levels of spans inside spans in the formats that nest them; each takes two levels of JSON."""
MAX_STEPS = 10_000
"""Steps of one run."""
MAX_AGENTS = 1_000
"""Agents that act in one run: what each of them has seen of the others grows with steps times agents."""
MAX_MESSAGE = 400
"""Characters of the reason in an error message."""
MAX_RECORD_BYTES = 1 << 30
"""Bytes that one packed record of the run store may unpack to; what we packed ourselves is far smaller."""


def max_file_bytes() -> int:
    """Bytes that a file may hold, unpacked, to be read as a whole; of JSON lines, one line and a packed file.

    Raises:
        ConfigError: The environment variable that sets it holds no positive number.
    """
    value = os.environ.get(FILE_VARIABLE) or str(_DEFAULT_FILE_MB)
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 2**40):
        raise ConfigError(f"{FILE_VARIABLE} is {value!r}, expected a whole number of megabytes, 1 or more")
    return int(value) * 1_000_000


def too_many(agents: Sequence[str]) -> str:
    """The reason why a run is not read that has a step by each of ``agents``; empty when it is."""
    if len(agents) > MAX_STEPS:
        return f"the run has {len(agents):,} steps, expected at most {MAX_STEPS:,}"
    different = len(set(agents))
    return f"{different:,} agents act in the run, expected at most {MAX_AGENTS:,}" if different > MAX_AGENTS else ""


def too_large(what: str) -> str:
    """The reason why ``what`` is not read."""
    return f"{what} is larger than {max_file_bytes() // 1_000_000} MB; {FILE_VARIABLE} sets another bound"


def brief(text: str, most: int = MAX_MESSAGE) -> str:
    """``text`` in ``most`` characters, with its middle left out where it is longer: both ends tell something."""
    if len(text) <= most:
        return text
    gap = f" ... {len(text) - most:,} characters left out ... "
    head = (most - len(gap)) * 2 // 3
    return f"{text[:head]}{gap}{text[len(text) - (most - len(gap) - head) :]}"
