"""The expected answer, which no repair may give away: a run that was told the answer has repaired nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.schema import Trajectory
from tracer_hooks.values import items_of, mentions, mentions_in

_SHORTEST_ITEM = 3


@dataclass(frozen=True)
class Secrets:
    """The value of the reference answer, recognised in any writing that ``expected=`` would accept.

    Args:
        reference: The expected answer; None where none is known, and nothing can be recognised.
    """

    reference: str | None = None

    @classmethod
    def of(cls, run: Trajectory) -> Secrets:
        """The secrets of one run."""
        return cls(run.reference)

    @property
    def are_known(self) -> bool:
        """Tell whether a text can be checked at all."""
        return bool(self.reference and self.reference.strip())

    def are_in(self, text: str) -> bool:
        """Tell whether ``text`` tells the expected answer."""
        return self.are_known and mentions(text, self.reference or "")

    def are_added(self, text: str, before: str) -> bool:
        """Tell whether ``text`` gives the expected answer in lines that ``before``, known anyway, does not have.

        For new instructions: an answer "3" is not given away by an old "reply in 3 lines".
        """
        known = set(before.splitlines())
        return self.are_in(text) and self.are_in("\n".join(line for line in text.splitlines() if line not in known))

    def places_in(self, text: str) -> list[tuple[int, int]]:
        """Return the places of ``text`` to be hidden, in order: the expected answer, and the items of a list.

        An item under 3 characters is hidden only where all of them stand.
        """
        if not self.are_known:
            return []
        found = mentions_in(text, self.reference or "")
        for item in items_of(self.reference or ""):
            if len(item) >= _SHORTEST_ITEM:
                found += mentions_in(text, item)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged
