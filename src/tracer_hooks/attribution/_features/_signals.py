"""What the rules say, family by family, as features."""

from __future__ import annotations

import numpy as np

from tracer_hooks.attribution._features._view import Column, View
from tracer_hooks.attribution._rules._combine import NOTHING_SEEN
from tracer_hooks.attribution._rules._signal import Family

RULES_TOGETHER = "rules: log-odds of all rules together"
"""The belief of the rules alone; a model that gives this a weight of 1 and all else 0 ranks steps as the rules do."""


def rules(view: View) -> dict[str, Column]:
    """The strongest word of each family of rules, and their sum."""
    columns = {family: view.column() for family in Family}
    for signal in view.signals:
        column = columns[signal.family]
        column[signal.step] = max(column[signal.step], signal.weight)
    together = np.sum(list(columns.values()), axis=0)
    spoken = together > 0
    own = set(view.trace.acts)
    acts = np.array([index in own for index in range(view.count)])
    together = np.where(spoken, together, np.where(acts, NOTHING_SEEN, 2 * NOTHING_SEEN))
    named = {f"rules: {family.value}": column for family, column in columns.items() if family is not Family.POSITION}
    return {RULES_TOGETHER: together, **named}
