"""What a feature looks for in a step, so that an answer can quote it."""

from __future__ import annotations

import re

from tracer_hooks.attribution._features import _failure, _language, _shape
from tracer_hooks.attribution._rules import _language as rule_language
from tracer_hooks.attribution._rules._errors import ERROR_MARKER

PATTERNS: dict[str, re.Pattern[str]] = {
    "failure: empty-handed": _failure.EMPTY_HANDED,
    "failure: first to come back empty-handed": _failure.EMPTY_HANDED,
    "failure: error printed here": ERROR_MARKER,
    "failure: objects to others": _failure.OBJECTS,
    "language: assumes or simulates": rule_language.MADE_UP,
    "language: first to assume or simulate": rule_language.MADE_UP,
    "language: placeholder in code": rule_language.PLACEHOLDER_IN_CODE,
    "language: from memory": _language.MEMORY,
    "language: hedges": _language.HEDGE,
    "language: sounds certain": _language.CERTAIN,
    "language: announces what it will do": _language.INTENT,
    "language: apologises": _language.APOLOGY,
    "language: corrects": _language.CORRECTION,
    "language: refuses": _language.REFUSAL,
    "language: leaves something out": _language.SKIP,
    "language: by hand": _language.MANUAL,
    "language: declares the end": rule_language.ENDS,
    "language: approves": rule_language.APPROVES,
    "language: speaks of checking": _language.VERIFY,
    "claims: says that it has done something": _language.CLAIM,
    "claims: done, with nothing to show": _language.CLAIM,
    "claims: first done with nothing to show": _language.CLAIM,
    "shape: plans": _shape.PLAN,
}
"""Pattern by the name of the feature; a feature that is not named quotes the step's first words."""
