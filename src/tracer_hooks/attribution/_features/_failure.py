"""Errors and empty-handed replies: at the step, before it, and after it."""

from __future__ import annotations

import re

import numpy as np

from tracer_hooks.attribution._features._marks import first_of, last_of
from tracer_hooks.attribution._features._parts import Quick
from tracer_hooks.attribution._features._view import Column, View, folded
from tracer_hooks.attribution._rules._errors import ERROR_MARKER

EMPTY_HANDED = re.compile(
    r"\b(?:no (?:relevant |specific |direct |exact )?(?:results?|information|data|matches|mention|details)"
    r"|not (?:found|available|provided|specified|listed|mentioned|contain|include|accessible|possible)"
    r"|(?:could|can|did|does|do|was|were|is|has|have)(?: not|n't) (?:be )?(?:find|found|locate|access"
    r"|retrieve|provide|determine"
    r"|available|able|identify|identified|obtain|open|load|contain|include|return|yield|help)"
    r"|unable to|failed to|404|403|access denied|captcha|verify (?:you are|that you)|blocked"
    r"|page not found|timed? ?out"
    r"|inaccessible|unavailable|error loading|insufficient)\b",
    re.IGNORECASE,
)
_NO_CODE = re.compile(r"there is no code|no code (?:block|from)|nothing to execute", re.IGNORECASE)
_NONE = re.compile(r"^\s*(?:None|\[\]|\{\}|nan|null|0)\s*$", re.MULTILINE)
OBJECTS = re.compile(
    r"\b(?:incorrect|wrong|mistake|error in|not (?:correct|accurate|right|consistent)|inaccurate|flaw"
    r"|issue with|should (?:be|have been)"
    r"|instead of|misinterpret\w*|overlook\w*|contradict\w*|discrepanc\w+|disagree"
    r"|needs? (?:to be )?(?:correct|fix|revis)\w*)\b",
    re.IGNORECASE,
)

_OBJECTS = Quick(
    OBJECTS,
    *("correct", "wrong", "mistake", "error in", "accurate", "not right", "not consistent", "flaw", "issue", "should"),
    *("instead", "interpret", "overlook", "contradict", "discrepanc", "disagree", "need"),
)


def failure(view: View) -> dict[str, Column]:
    """Signals of failure around each step."""
    own = np.array([float(bool(_marker(view, i))) for i in range(view.count)])
    reports = own * np.array(view.is_report, dtype=float)
    here = np.array([float(bool(step.failed_tools) or step.error is not None) for step in view.steps])
    next_report = np.append(reports[1:], 0.0) if view.count else own
    caused = next_report * (1 - np.array(view.is_report, dtype=float)) + here
    empty = np.array(
        [min(4.0, len(folded(EMPTY_HANDED).findall(t.lower + t.shown[:2_000].lower()))) for t in view.texts]
    )
    next_empty = np.append(empty[1:], 0.0)
    trouble = np.minimum(1.0, own + here)
    objected = _objections(view)
    return {
        "failure: error printed here": own,
        "failure: the machine reports an error next": caused,
        "failure: first to cause an error": first_of(caused > 0),
        "failure: last to cause an error": last_of(caused > 0),
        "failure: log errors before": np.log1p(np.cumsum(trouble) - trouble),
        "failure: log errors after": np.log1p(np.cumsum(trouble[::-1])[::-1] - trouble),
        "failure: no error yet, though one comes": ((np.cumsum(trouble) == 0) & (trouble.sum() > 0)).astype(float),
        "failure: no error in the whole run": np.full(view.count, float(trouble.sum() == 0)),
        "failure: right after an error": np.append(0.0, trouble[:-1]) if view.count else trouble,
        "failure: repairs after an error": _repairs(view, trouble),
        "failure: empty-handed": empty,
        "failure: first to come back empty-handed": first_of((empty > 0) & np.array(view.is_act)),
        "failure: next step is empty-handed": next_empty,
        "failure: asked for code that was not there": view.flags(
            [
                i + 1 < view.count and _NO_CODE.search(view.texts[i + 1].said[:300]) is not None
                for i in range(view.count)
            ]
        ),
        "failure: printed nothing of use": view.flags(
            [
                i + 1 < view.count and view.is_report[i + 1] and _NONE.search(view.texts[i + 1].said[-200:]) is not None
                for i in range(view.count)
            ]
        ),
        "failure: objects to others": view.flags([_OBJECTS.is_in(t.lower) for t in view.texts]),
        "failure: objected to by the next speaker": objected,
        "failure: first objected to": first_of(objected > 0),
    }


def _marker(view: View, index: int) -> bool:
    text = view.texts[index]
    if view.is_report[index]:
        return ERROR_MARKER.search(text.said) is not None
    return ERROR_MARKER.search(text.shown) is not None


def _objections(view: View) -> Column:
    out = view.column()
    acts = set(view.acts)
    for index in range(view.count):
        near = (j for j in (index + 1, index + 2) if j in acts and view.agents[j] != view.agents[index])
        following = next(near, None)
        if following is not None:
            out[index] = float(_OBJECTS.is_in(view.texts[following].lower[:1_500]))
    return out


def _repairs(view: View, trouble: Column) -> Column:
    out = view.column()
    for index in view.acts:
        out[index] = float(index > 0 and trouble[index - 1] > 0 and bool(view.texts[index].code))
    return out
