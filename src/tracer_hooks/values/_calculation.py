"""One calculation that a text writes out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import common_measure
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
        right = f"{self.left} is {self.right}"
        if self.said_value is not None:
            return f"{right}, and {self.said} is {written_result(self.said_value, self.stated)}"
        return f"{right}, not {self.stated.text.strip()}"

    @property
    def right(self) -> str:
        """The right result, written like the stated one."""
        return written_result(self.value, self._like)

    @property
    def _like(self) -> Quantity:
        """What the value is written like: an operand, where the text states the result in a unit of another size."""
        of_unit = [one for one in self.operands if one.unit not in (None, "%")]
        unit, stated = of_unit[0].unit if of_unit else None, self.stated.unit
        is_conversion = set(self.operators) - set("+-×/") != set()
        if unit is None or stated is None or is_conversion or any(one.unit in (stated, "%") for one in self.operands):
            return self.stated
        is_sum = set(self.operators) <= set("+-") and all(one.unit == unit for one in of_unit)
        is_one = is_sum or len(of_unit) == 1
        return of_unit[0] if is_one and common_measure(unit, stated) is not None else self.stated
