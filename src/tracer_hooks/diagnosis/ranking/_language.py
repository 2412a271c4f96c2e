"""Language of an agent, errors and empty-handed replies, as features."""

from __future__ import annotations

import re

import numpy as np

from tracer_hooks.diagnosis._reading._errors import ERROR_MARKER
from tracer_hooks.diagnosis.ranking._signals import MADE_UP, MAKES_UP, PLACEHOLDER_IN_CODE
from tracer_hooks.diagnosis.ranking._view import Column, Quick, View, first_of, folded, last_of, quick

ENDS = quick(
    r"\bterminate\b|\b(?:task|work|everything|all) (?:is|has been|are) (?:now )?(?:complete|done|finished)",
    "terminate|complete|done|finished",
)
APPROVES = quick(
    r"\b(?:approved?|looks? (?:good|correct|right|fine)|(?:is|are|seems?|appears?) (?:all )?(?:correct"
    r"|accurate|valid|right|fine)|verified|confirm(?:ed|s)?|lgtm|no (?:issues|errors|problems) (?:found)?"
    r"|well done)\b",
    "approve|look|correct|accurate|valid|right|fine|verified|confirm|lgtm|no |well done",
)
REJECTS = quick(
    r"\b(?:not (?:correct|accurate|valid|approved|verified)|incorrect|wrong|inaccurate|error in|mistake"
    r"|reject|cannot confirm|could not verify|unable to|however)\b",
    "not |correct|wrong|accurate|error in|mistake|reject|unable|however",
)
HEDGE = quick(
    r"\b(?:might|maybe|perhaps|possibly|probably|likely|appears? to|seems? to|approximately|roughly|i think|i believe"
    r"|typically|generally|usually|estimated?|it is possible|not sure|unclear|unsure)\b",
    "might|maybe|perhaps|possibl|probably|likely|appear|seem|approximately|roughly|think|believe|"
    "typically|generally|usually|estimate|sure|unclear",
)
CLAIM = quick(
    r"\b(?:i|we)(?: have|'ve)?(?: now| already| successfully| just)? (?:reviewed|checked|retrieved"
    r"|accessed|examined|verified"
    r"|found|searched|confirmed|analy[sz]ed|identified|calculated|looked|read|obtained|gathered"
    r"|inspected|compared|located)\b",
    "i |we |i've|we've",
)
INTENT = quick(
    r"\b(?:i(?:'ll| will| am going to)|we(?:'ll| will)|let(?:'s| us| me)|proceed|next,)\b",
    "i'll|i will|i am|we'll|we will|let|proceed|next,",
)
APOLOGY = quick(
    r"\b(?:sorry|apologi[sz]e|my mistake|i made an error|i was wrong|oversight)\b",
    "sorry|apolog|mistake|an error|was wrong|oversight",
)
CORRECTION = quick(
    r"\b(?:actually|correct(?:ed|ion|ing)|revis(?:ed|ing)|re-?evaluat\w+|re-?check\w*|let's correct"
    r"|upon review|fix(?:ed|ing)?)\b",
    "actually|correct|revis|eval|check|review|fix",
)
CERTAIN = quick(
    r"\b(?:therefore|thus|hence|clearly|obviously|definitely|in conclusion|conclude|must be"
    r"|the (?:final )?answer is)\b",
    "therefore|thus|hence|clearly|obviously|definitely|conclu|must|answer",
)
MEMORY = quick(
    r"\b(?:based on (?:my|general|common|prior|existing|available|historical|typical) (?:knowledge"
    r"|information|data|understanding)"
    r"|from memory|known (?:to|that|facts)|as (?:is )?(?:commonly )?known|knowledge cutoff|as of my|it is known)\b",
    "based on|memory|known|cutoff|as of my",
)
VERIFY = quick(
    r"\b(?:verif\w+|double[- ]?check\w*|validat\w+|cross[- ]?(?:check|referenc)\w*|confirm\w*|test(?:s|ed|ing)?)\b",
    "verif|double|validat|cross|confirm|test",
)
MANUAL = quick(
    r"\b(?:manual(?:ly)?|by hand|visual(?:ly)? inspect\w*|eyeball\w*|mentally)\b",
    "manual|by hand|inspect|eyeball|mentally",
)
_QUOTED = re.compile(r"[\"\u201c][^\"\u201d\n]{12,200}[\"\u201d]")
EQUATION = re.compile(r"=\s*-?\d|\\frac|\\times|\\boxed|\d\s*[*/+\-\u00d7]\s*\d")
REFUSAL = quick(
    r"\b(?:i (?:cannot|can't|am not able to|am unable to)|as an ai|i do not have access|beyond my)\b",
    "cannot|can't|able to|as an ai|access|beyond",
)
SKIP = quick(
    r"\b(?:no need|not necessary|unnecessary|skip(?:ping|ped)?|without (?:verif|check|test)\w*"
    r"|instead,? (?:i|we)|ignor(?:e|ing)|regardless"
    r"|irrelevant|for simplicity|simplif\w+|alternatively|bypass\w*)\b",
    "need|necessary|skip|without|instead|ignor|regardless|irrelevant|simpl|alternatively|bypass",
)
_MADE_UP = Quick(MADE_UP, MAKES_UP)


def language(view: View) -> dict[str, Column]:
    """Words that give an agent away."""
    lower = [text.lower for text in view.texts]
    return {
        "language: hedges": np.log1p(HEDGE.times_in(lower)),
        "language: sounds certain": np.log1p(CERTAIN.times_in(lower)),
        "language: announces what it will do": np.log1p(INTENT.times_in(lower)),
        "language: apologises": np.minimum(1.0, APOLOGY.times_in(lower)),
        "language: corrects": np.log1p(CORRECTION.times_in(lower)),
        "language: refuses": np.minimum(1.0, REFUSAL.times_in(lower)),
        "language: leaves something out": np.log1p(SKIP.times_in(lower)),
        "language: by hand": np.minimum(1.0, MANUAL.times_in(lower)),
        "language: declares the end": np.minimum(1.0, ENDS.times_in(lower)),
        "language: approves": np.minimum(2.0, APPROVES.times_in(lower)),
        "language: rejects": np.minimum(2.0, REJECTS.times_in(lower)),
        "language: speaks of checking": np.log1p(VERIFY.times_in(lower)),
        "language: calculates": np.log1p(_counts([text.prose for text in view.texts], EQUATION)),
    }


def assumption(view: View) -> dict[str, Column]:
    """Words of one who assumes, or answers from memory: the part of the language that the prior hears."""
    lower = [text.lower for text in view.texts]
    assumed = view.flags([_MADE_UP.is_in(text) for text in lower]) * _own(view)
    placeholder = np.array([float(bool(PLACEHOLDER_IN_CODE.search(t.said))) for t in view.texts]) * _own(view)
    return {
        "language: assumes or simulates": assumed,
        "language: first to assume or simulate": first_of((assumed + placeholder) > 0),
        "language: placeholder in code": placeholder,
        "language: from memory": MEMORY.times_in(lower),
    }


def claims(view: View) -> dict[str, Column]:
    """Claims, with and without something that bears them out."""
    texts = view.texts
    claimed = view.flags([CLAIM.is_in(t.lower) for t in texts]) * _own(view)
    backed = np.array(
        [
            float(bool(t.code) or bool(view.steps[i].tool_calls) or (i > 0 and view.is_report[i - 1]))
            for i, t in enumerate(texts)
        ]
    )
    stated = np.array([float(t.answer is not None) for t in texts]) * _own(view)
    quoted = _counts([t.prose for t in texts], _QUOTED)
    bare = claimed * (1 - backed)
    return {
        "claims: says that it has done something": claimed,
        "claims: done, with nothing to show": bare,
        "claims: first done with nothing to show": first_of(bare > 0),
        "claims: states an answer": stated,
        "claims: states an answer with nothing to show": stated * (1 - backed),
        "claims: first to state an answer": first_of(stated > 0),
        "claims: numbers with nothing to show": np.array([np.log1p(len(t.numbers)) for t in texts])
        * (1 - backed)
        * _own(view),
        "claims: quotes": np.log1p(quoted),
        "claims: backed by code, a tool or a report": backed,
    }


def _own(view: View) -> Column:
    """Ones at acts that do more than hand the task on: a brief repeats the words of the task."""
    return np.array([float(view.is_act[i] and not view.run.is_brief(i)) for i in range(view.count)])


def _counts(texts: list[str], pattern: re.Pattern[str]) -> Column:
    return np.array([float(len(pattern.findall(text))) for text in texts])


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
OBJECTS = quick(
    r"\b(?:incorrect|wrong|mistake|error in|not (?:correct|accurate|right|consistent)|inaccurate|flaw"
    r"|issue with|should (?:be|have been)"
    r"|instead of|misinterpret\w*|overlook\w*|contradict\w*|discrepanc\w+|disagree"
    r"|needs? (?:to be )?(?:correct|fix|revis)\w*)\b",
    "correct|wrong|mistake|error in|accurate|not right|not consistent|flaw|issue|should|instead|"
    "interpret|overlook|contradict|discrepanc|disagree|need",
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
        "failure: objects to others": view.flags([OBJECTS.is_in(t.lower) for t in view.texts]),
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
            out[index] = float(OBJECTS.is_in(view.texts[following].lower[:1_500]))
    return out


def _repairs(view: View, trouble: Column) -> Column:
    out = view.column()
    for index in view.acts:
        out[index] = float(index > 0 and trouble[index - 1] > 0 and bool(view.texts[index].code))
    return out
