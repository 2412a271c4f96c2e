"""Texts read for their quantities and signs, each text once."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.values._expressions import Token, tokens_of
from tracer_hooks.values._plain_mathematics import without_markup
from tracer_hooks.values._quantities import Quantity, quantities_in


class TextReader:
    """For whoever looks at the same texts for several things: what was read of one is kept as long as the reader is."""

    def __init__(self) -> None:
        self._plain: dict[str, str] = {}
        self._quantities: dict[str, Sequence[Quantity]] = {}
        self._tokens: dict[str, Sequence[Token]] = {}

    def plain(self, text: str) -> str:
        """As :func:`without_markup`."""
        known = self._plain.get(text)
        if known is None:
            known = self._plain[text] = without_markup(text)
        return known

    def quantities(self, text: str) -> Sequence[Quantity]:
        """As :func:`quantities_in`."""
        known = self._quantities.get(text)
        if known is None:
            known = self._quantities[text] = quantities_in(text)
        return known

    def tokens(self, text: str) -> Sequence[Token]:
        """The quantities of a text without mark-up, and what stands between them."""
        known = self._tokens.get(text)
        if known is None:
            known = self._tokens[text] = list(tokens_of(text, self.quantities(text)))
        return known
