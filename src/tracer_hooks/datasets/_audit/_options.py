"""How strict an audit is."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Limits of an audit. A check fails when its whole 95 % interval lies above its prior plus the margin.

    Raises:
        ConfigError: A limit is outside 0 to 1, or a number is too small.
    """

    place_margin: float = 0.10
    """For what sees only where the step stands or who speaks. Builders balance agents before steps, so agents with few
    steps are named a little more often than one in n; the margin is for that."""
    words_margin: float = 0.15
    """For the bag of words. A fault changes what is said, so some words of faults are no leak."""
    structure_margin: float = 0.15
    """For times, usage, models and ids."""
    pairwise_margin: float = 0.25
    """For telling a faulty step from its clean counterpart by a few words: above an AUC of 0.5."""
    few_words: int = 10
    """How many words the pairwise check may use."""
    marker_share: float = 0.2
    """A word that stands in at least this share of the faulty steps, ten times as often as in the clean ones, fails."""
    forbidden: tuple[str, ...] = ("inject", "attack", "fault", "corrupt", "adversarial", "sabotage")
    """Beginnings of words that give the experiment away."""
    similarity: float = 0.8
    """Texts whose sets of word triples have this Jaccard similarity are near-duplicates."""
    permutations: int = 1000
    """Relabellings for the null and its p-value."""
    draws: int = 2000
    """Bootstrap samples of questions for the intervals."""

    def __post_init__(self) -> None:
        shares = ("place_margin", "words_margin", "structure_margin", "pairwise_margin", "marker_share", "similarity")
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected between 0 and 1")
        for name, least in (("few_words", 1), ("permutations", 200), ("draws", 200)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected at least {least}")
