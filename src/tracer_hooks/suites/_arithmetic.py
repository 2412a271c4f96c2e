"""The suite ``arithmetic``: sums, products, fractions, and school word problems of ``reasoning-gym``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracer_hooks.suites._gym import Settings, gym_generator, without, worded
from tracer_hooks.suites._problems import Problem, ProblemSuite

Entry = Mapping[str, Any]

_DIGITS: Final = 6
"""Significant digits that answers of ``decimal_arithmetic`` are asked for."""


def _expression(entry: Entry) -> Problem:
    return worded(f"Calculate {entry['metadata']['expression']}", entry["answer"])


def _decimals(entry: Entry) -> Problem:
    expression = entry["question"].rsplit("\n", 1)[-1].removesuffix("= ?").strip()
    return Problem(
        question=f"Calculate {expression}\nGive at least {_DIGITS} significant digits if the result has as many.",
        reference=str(entry["answer"]),
        kind="number",
        data={"tolerance": 10.0 ** (1 - _DIGITS)},
    )


def _school(entry: Entry) -> Problem | None:
    question = without(entry["question"], r"Give the result as your final answer\.", r"Do not include units\.")
    if re.search(r"\d\.\d{4,}", question):  # "0.3333333333333333 of it": a fraction lost in the generator
        return None
    return worded(question, entry["answer"])


def _fraction(entry: Entry) -> Problem:
    data = entry["metadata"]
    return Problem(
        question=f"Simplify the fraction {data['numerator']}/{data['denominator']} to its lowest terms.",
        reference=f"{data['simplified_numerator']}/{data['simplified_denominator']}",
        kind="fraction",
    )


def _common_divisor(entry: Entry) -> Problem:
    numbers = ", ".join(map(str, entry["metadata"]["numbers"]))
    return worded(f"What is the greatest common divisor of {numbers}?", entry["answer"])


def _common_multiple(entry: Entry) -> Problem:
    numbers = ", ".join(map(str, entry["metadata"]["numbers"]))
    return worded(f"What is the least common multiple of {numbers}?", entry["answer"])


_CHAINS: Final[Settings] = {
    "easy": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 2},
    "medium": {"min_terms": 3, "max_terms": 4, "min_digits": 2, "max_digits": 3},
    "hard": {"min_terms": 5, "max_terms": 6, "min_digits": 3, "max_digits": 4},
}

ARITHMETIC: Final = ProblemSuite(
    name="arithmetic",
    description="Sums, products, decimals, fractions and school word problems of reasoning-gym.",
    generators=(
        gym_generator("chain_sum", _CHAINS, _expression),
        gym_generator("basic_arithmetic", {
            "easy": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 1, "allow_negation": False},
            "medium": {"min_terms": 3, "max_terms": 4, "min_digits": 1, "max_digits": 2},
            "hard": {"min_terms": 4, "max_terms": 6, "min_digits": 1, "max_digits": 3},
        }, _expression),
        gym_generator("products", {
            "easy": {"min_digits": 1, "max_digits": 2},
            "medium": {"min_digits": 2, "max_digits": 3},
            "hard": {"min_digits": 3, "max_digits": 4},
        }, _expression),
        gym_generator("gsm_symbolic", {"easy": {}, "medium": {}, "hard": {}}, _school),
        gym_generator("decimal_arithmetic", {
            "easy": {"min_num_decimal_places": 1, "max_num_decimal_places": 1, "min_terms": 2, "max_terms": 2},
            "medium": {"min_num_decimal_places": 1, "max_num_decimal_places": 2, "min_terms": 2, "max_terms": 3},
            "hard": {"min_num_decimal_places": 2, "max_num_decimal_places": 3, "min_terms": 3, "max_terms": 5},
        }, _decimals),
        gym_generator("fraction_simplification", {
            "easy": {"min_value": 2, "max_value": 12, "min_factor": 2, "max_factor": 5},
            "medium": {"min_value": 5, "max_value": 60, "min_factor": 2, "max_factor": 20},
            "hard": {"min_value": 50, "max_value": 1000, "min_factor": 7, "max_factor": 100},
        }, _fraction),
        gym_generator("gcd", {
            "easy": {"min_value": 2, "max_value": 40},
            "medium": {"min_value": 20, "max_value": 300},
            "hard": {"min_numbers": 3, "max_numbers": 3, "min_value": 100, "max_value": 2000},
        }, _common_divisor),
        gym_generator("lcm", {
            "easy": {"min_value": 2, "max_value": 12},
            "medium": {"min_value": 6, "max_value": 40},
            "hard": {"min_numbers": 3, "max_numbers": 3, "min_value": 6, "max_value": 60},
        }, _common_multiple),
    ),
)  # fmt: skip
"""Arithmetic of ``reasoning-gym``; ``gsm_symbolic`` has one difficulty only."""
