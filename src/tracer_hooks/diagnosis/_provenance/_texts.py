"""The texts of a run, read for their values, each text once."""

from __future__ import annotations

from tracer_hooks.diagnosis._provenance._reasons import Against, against_in
from tracer_hooks.diagnosis._provenance._sightings import Sighting, sightings_in
from tracer_hooks.values import TextReader


class Texts:
    """What was read of the texts of one run, kept while it is diagnosed: a run says the same again and again."""

    def __init__(self) -> None:
        self.reader = TextReader()
        """For the calculations in the same texts."""
        self._against: dict[str, tuple[Against, ...]] = {}
        self._sightings: dict[str, tuple[Sighting, ...]] = {}

    def sightings(self, text: str) -> tuple[Sighting, ...]:
        """Every value of a text in order."""
        known = self._sightings.get(text)
        if known is None:
            known = self._sightings[text] = sightings_in(text, reader=self.reader)
        return known

    def against(self, text: str) -> tuple[Against, ...]:
        """The sentences of a text that say of something that it does not count."""
        known = self._against.get(text)
        if known is None:
            known = self._against[text] = against_in(text)
        return known
