"""The block that a lesson stands in, and where in an agent's instructions it belongs."""

from __future__ import annotations

import re

BEGIN = "[tracer-hooks: lesson from a failed run]"
END = "[end of the lesson]"
_BLOCK = re.compile(rf"\s*{re.escape(BEGIN)}.*?(?:{re.escape(END)}\n*|\Z)", re.DOTALL)
_FORMAT_RULE = re.compile(
    r"\b(?:nothing (?:else|but|more)|no (?:other|further|extra|additional) (?:text|words?|output)|only|just|solely"
    r"|(?:no|without(?: any)?) (?:explanations?|comments?|preamble)|exactly (?:one|two|the)|one (?:line|word|number)"
    r"|(?:in|use) (?:the|this) (?:form(?:at)?|shape)|in the form|as JSON|JSON (?:objects?|arrays?)|must (?:be|end with)"
    r"|(?:end|reply|answer|respond|finish) with)\b",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"\A|(?<=[.!?:])[ \t]+(?=\S)|\n+")


def without_lesson(instructions: str) -> str:
    """Instructions without the block that a lesson was put in; unchanged where there is none."""
    return _BLOCK.sub("\n\n", instructions).strip() if BEGIN in instructions else instructions


def format_rule_at(instructions: str) -> int | None:
    """Find where the sentence begins that says how to reply, and no other way; None where there is none."""
    found = _FORMAT_RULE.search(instructions)
    if found is None:
        return None
    return max(match.end() for match in _SENTENCE_START.finditer(instructions) if match.end() <= found.start())


def with_block(instructions: str, block: str) -> str:
    """Instructions with ``block``: before what says how to reply, which keeps the last word, else at the end."""
    at = format_rule_at(instructions)
    before, after = (instructions, "") if at is None else (instructions[:at], instructions[at:])
    return "\n\n".join(part.strip() for part in (before, block, after) if part.strip())
