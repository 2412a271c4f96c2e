"""No match of a pattern is passed over by asking for its parts first."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracer_hooks.diagnosis.ranking import _language, _signals, _table, _view, _work
from tracer_hooks.diagnosis.ranking._view import Quick

QUICK = {
    name: one for module in (_language, _table, _work) for name, one in vars(module).items() if isinstance(one, Quick)
}
SAYINGS = {
    "made up": (
        *(
            "Let's assume it.",
            "Let us suppose",
            "let me pretend",
            "I will simulate the",
            "We'll assume 4",
            "i suppose ",
        ),
        *("Assuming the price", "hypothetical", "A placeholder", "for demonstration purposes", "For illustration"),
        *("mock data", "Dummy values", "fake results", "simulated output", "made-up figures", "fabricated number"),
        *("synthetic data", "as an educated guess", "let's imagine"),
    ),
    "states an answer": ("Final answer: 4", "The ANSWER is 4", "result = 4", "Solution: x", "total equals 4"),
    "observes": (
        *("A Screenshot", "the viewport", "Address: x", "search results", "Exitcode: 0", "Code output", "Title: x"),
        *("Metadata was extracted", "HTTPS://x.y z"),
    ),
    "plans": (
        *("The Plan", "Step 1", "First, I", "first we", "To solve this", "approach", "Outline", "strategy", "We will"),
        *("we need to", "We should", "Next step"),
    ),
    "keeps a ledger": ("Updated Ledger", "initial plan", "New plan", "Stalled", "replanning", "Facts to", "fact we"),
}
"""Something for each branch of the patterns that are searched in text as it is."""


def matches(pattern: re.Pattern[str]) -> st.SearchStrategy[str]:
    plain = st.characters(codec="ascii")
    return (
        st.from_regex(pattern, alphabet=plain)
        .map(lambda text: pattern.search(text))
        .filter(bool)
        .map(lambda match: match.group())
    )


@pytest.mark.parametrize("name", sorted(QUICK))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_every_match_has_a_part(name, data) -> None:
    quick = QUICK[name]
    found = data.draw(matches(_view.folded(quick.pattern)))
    assert any(part in found for part in quick.parts)


@pytest.mark.parametrize(("name", "saying"), [(name, one) for name, some in SAYINGS.items() for one in some])
def test_nothing_that_is_said_is_passed_over(name, saying) -> None:
    pattern, parts = {
        "made up": (_signals.MADE_UP, _signals.MAKES_UP),
        "states an answer": (_view._STATED, _view._STATES),
        "observes": (_work._OBSERVATION.pattern, _work._OBSERVATION.parts),
        "plans": (_table.PLAN.pattern, _table.PLAN.parts),
        "keeps a ledger": (_table.LEDGER.pattern, _table.LEDGER.parts),
    }[name]
    match = pattern.search(saying)
    assert match is not None
    assert any(part in match.group().lower() for part in parts)


def test_a_text_is_counted_and_found_as_by_the_pattern_alone() -> None:
    quick = Quick(re.compile(r"\bmay(?:be)?\b", re.IGNORECASE), ("may",))
    texts = ["maybe it may", "mayor", "nothing", ""]
    assert quick.times_in(texts).tolist() == [2.0, 0.0, 0.0, 0.0]
    assert [quick.is_in(text) for text in texts] == [True, False, False, False]
