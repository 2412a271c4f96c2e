"""Problems of the distribution ``reasoning-gym``.

Most are worded anew here: its own texts ask for other ways to write the answer, and some leave open what counts.
Left out are its generators whose answers are not sound: ``family_relationships`` mixes up the direction of a
relation, ``syllogism`` needs an unstated assumption, and ``propositional_logic`` has no reference.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

from tracer_hooks._optional import require
from tracer_hooks.suites._problems import Generator, Problem
from tracer_hooks.suites._suite import Difficulty

Settings = Mapping[Difficulty, Mapping[str, Any]]
"""The generator's own configuration at each difficulty."""


def gym_generator(name: str, settings: Settings, word: Callable[[Mapping[str, Any]], Problem | None]) -> Generator:
    """A generator of ``reasoning-gym``, whose entries ``word`` turns into problems."""

    def draw(seed: int, difficulty: Difficulty) -> Problem | None:
        gym = require("reasoning_gym", extra="suites", feature=f"the task generator {name!r}")
        with decimal.localcontext():  # decimal_arithmetic sets the precision of the whole thread
            entry = gym.create_dataset(name, seed=seed, size=1, **settings[difficulty])[0]
        return word(entry)

    return Generator(name=name, draw=draw)


def worded(question: str, reference: object) -> Problem:
    """A problem whose answer is a number."""
    return Problem(question=question, reference=str(reference), kind="number")


def without(question: str, *patterns: str) -> str:
    """``question`` without its own sentences on how to write the answer."""
    for pattern in patterns:
        question = re.sub(pattern, "", question)
    return question.strip()
