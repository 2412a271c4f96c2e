"""Words that the instructions of several architectures share, and how an answer is told from other text."""

from __future__ import annotations

import re
from typing import Final

BRIEFLY: Final = "Use at most 4 short sentences, or only the code if the task asks for code."
FINAL: Final = (
    "end with a last line ANSWER: and the final answer, "
    "or, if the task asks for code, with the whole code in one ```python block."
)

_ANSWER = re.compile(r"^\W*ANSWER\W*:|^\s*```", re.MULTILINE)


def gives_answer(text: str) -> bool:
    """Whether a text holds an answer: a line that begins with ``ANSWER:``, or a block of code."""
    return _ANSWER.search(text) is not None
