"""One calculation that a text writes out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._writing import written_result


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation with the result that the text gives for it."""

    left: str
    """What is calculated, for people: "3 × 120 EUR + 2 × 55 EUR"."""
    value: Fraction
    """What it comes to."""
    stated: Quantity
    """What the text says it comes to."""
    operands: tuple[Quantity, ...]
    operators: str
    """The signs in order, such as "×+×"; a sum or product in words has its signs too."""
    start: int
    end: int
    holds: bool
    """Whether the stated result is right, rounding and units allowed for."""
    said: str = ""
    """What the text gives as the result, where that is a calculation itself: "60 + 20"."""
    said_value: Fraction | None = None
    """What that comes to."""

    @property
    def correction(self) -> str:
        """What is wrong, as a sentence without a full stop: "3 × 120 EUR is 360 EUR, not 430 EUR"."""
        right = f"{self.left} is {written_result(self.value, self.stated)}"
        if self.said_value is not None:
            return f"{right}, and {self.said} is {written_result(self.said_value, self.stated)}"
        return f"{right}, not {self.stated.text.strip()}"
