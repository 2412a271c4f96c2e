"""The steps of a trajectory as numbered text, cut to what a prompt can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tracer_hooks.attribution._judge._excerpt import cut, shares
from tracer_hooks.attribution._judge._fence import fenced
from tracer_hooks.attribution._judge._step_text import StepText, step_texts
from tracer_hooks.schema import Trajectory

_LEAST_CHARS = 80
_SMALLER = 0.7
_GAP_TOKENS = 12


class Transcript:
    """Renders steps for prompts; each begins with a line ``=== step 4 | Coder | message ===``.

    Args:
        trajectory: Whose steps.
        count_tokens: Of the model that reads them.
        step_chars: Characters of one step that are shown at most.
    """

    def __init__(self, trajectory: Trajectory, count_tokens: Callable[[str], int], step_chars: int) -> None:
        self._texts = step_texts(trajectory)
        self._count = count_tokens
        self._step_chars = step_chars
        self._known: dict[tuple[int, int], int] = {}

    @property
    def everything(self) -> range:
        """The indices of all steps."""
        return range(len(self._texts))

    def fits(self, room: int) -> bool:
        """Whether all steps, each cut to the usual limit, take at most ``room`` tokens."""
        return self._cost(self.everything, self._step_chars) <= room

    def fitted(self, steps: Sequence[int], room: int, *, focus: Iterable[int] = ()) -> str:
        """``steps`` in at most ``room`` tokens, in their order.

        When they take more, the steps outside ``focus`` are cut shorter first, then those in it. When even stubs take
        more, steps are left out, with a mark: those far from ``focus``, or without one those in the middle.
        """
        focused = set(focus) & set(steps)
        near, rest = sorted(focused), [index for index in steps if index not in focused]
        near_limit = self._limit(near, room if self._cost(steps, self._step_chars) <= room else room // 2)
        room_left = room - self._cost(near, near_limit)
        rest_limit = self._limit(rest, room_left)
        kept = near + self._affordable(rest, rest_limit, room_left, near or [steps[0], steps[-1]])
        limits = {index: near_limit if index in focused else rest_limit for index in kept}
        return "\n\n".join(self._pieces(steps, limits))

    def windows(self, room: int, overlap: int) -> list[range]:
        """Stretches of consecutive steps of at most ``room`` tokens; each begins ``overlap`` steps before its turn."""
        limit, count, start = self._step_chars, len(self._texts), 0
        while limit > _LEAST_CHARS and max(self._tokens(index, limit) for index in self.everything) > room // 2:
            limit = max(_LEAST_CHARS, int(limit * _SMALLER))
        found: list[range] = []
        while not found or found[-1].stop < count:
            stop = start + 1
            while stop < count and self._cost(range(start, stop + 1), limit) <= room:
                stop += 1
            found.append(range(start, stop))
            start = max(start + 1, stop - overlap)
        return found

    def _limit(self, steps: Sequence[int], room: int) -> int:
        """The largest limit for one step, of a few tried, with which ``steps`` take at most ``room`` tokens."""
        limit = self._step_chars
        while limit > _LEAST_CHARS and self._cost(steps, limit) > room:
            limit = max(_LEAST_CHARS, int(limit * _SMALLER))
        return limit

    def _affordable(self, steps: Sequence[int], limit: int, room: int, near: Sequence[int]) -> list[int]:
        """Those of ``steps`` that ``room`` tokens are enough for, the nearest first."""
        if self._cost(steps, limit) <= room:
            return list(steps)
        kept, left = [], room
        for index in sorted(steps, key=lambda index: min(abs(index - one) for one in near)):
            left -= self._tokens(index, limit) + _GAP_TOKENS
            if left < 0:
                break
            kept.append(index)
        return kept

    def _pieces(self, steps: Sequence[int], limits: dict[int, int]) -> Iterator[str]:
        missing: list[int] = []
        for index in steps:
            if index not in limits:
                missing.append(index)
                continue
            yield from _gap(missing)
            missing = []
            yield self._block(index, limits[index])
        yield from _gap(missing)

    def _cost(self, steps: Sequence[int], limit: int) -> int:
        return sum(self._tokens(index, limit) for index in steps)

    def _tokens(self, index: int, limit: int) -> int:
        if (index, limit) not in self._known:
            self._known[index, limit] = self._count(self._block(index, limit)) + 2
        return self._known[index, limit]

    def _block(self, index: int, limit: int) -> str:
        text: StepText = self._texts[index]
        given = shares([len(part) for _, part in text.parts], limit)
        lines = [f"=== step {index} | {text.agent} | {text.kind} ===", *text.notes]
        for (caption, part), share in zip(text.parts, given, strict=True):
            lines.append(caption + fenced(cut(part, share)))
        return "\n".join(lines)


def _gap(missing: Sequence[int]) -> Iterator[str]:
    if missing:
        yield f"[steps {missing[0]} to {missing[-1]} left out]" if len(missing) > 1 else f"[step {missing[0]} left out]"
