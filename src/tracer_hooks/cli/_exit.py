"""Exit codes, part of the command line's contract."""

from typing import Final

DONE: Final = 0
"""Everything was done."""
FAILED: Final = 1
"""Some inputs failed; the rest was done."""
USAGE: Final = 2
"""The command was called wrongly."""
MISSING_EXTRA: Final = 3
"""Something is not installed; the message gives the install line."""
