"""How an agent speaks: assuming, hedging, claiming without a check, declaring the end."""

from __future__ import annotations

import re

import numpy as np

from tracer_hooks.attribution._features._marks import first_of
from tracer_hooks.attribution._features._parts import Quick
from tracer_hooks.attribution._features._view import Column, View
from tracer_hooks.attribution._rules._language import APPROVES, ENDS, MADE_UP, MAKES_UP, PLACEHOLDER_IN_CODE, REJECTS

HEDGE = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|likely|appears? to|seems? to|approximately|roughly|i think|i believe"
    r"|typically|generally|usually|estimated?|it is possible|not sure|unclear|unsure)\b",
    re.IGNORECASE,
)
CLAIM = re.compile(
    r"\b(?:i|we)(?: have|'ve)?(?: now| already| successfully| just)? (?:reviewed|checked|retrieved"
    r"|accessed|examined|verified"
    r"|found|searched|confirmed|analy[sz]ed|identified|calculated|looked|read|obtained|gathered"
    r"|inspected|compared|located)\b",
    re.IGNORECASE,
)
INTENT = re.compile(
    r"\b(?:i(?:'ll| will| am going to)|we(?:'ll| will)|let(?:'s| us| me)|proceed|next,)\b", re.IGNORECASE
)
APOLOGY = re.compile(r"\b(?:sorry|apologi[sz]e|my mistake|i made an error|i was wrong|oversight)\b", re.IGNORECASE)
CORRECTION = re.compile(
    r"\b(?:actually|correct(?:ed|ion|ing)|revis(?:ed|ing)|re-?evaluat\w+|re-?check\w*|let's correct"
    r"|upon review|fix(?:ed|ing)?)\b",
    re.IGNORECASE,
)
CERTAIN = re.compile(
    r"\b(?:therefore|thus|hence|clearly|obviously|definitely|in conclusion|conclude|must be"
    r"|the (?:final )?answer is)\b",
    re.IGNORECASE,
)
MEMORY = re.compile(
    r"\b(?:based on (?:my|general|common|prior|existing|available|historical|typical) (?:knowledge"
    r"|information|data|understanding)"
    r"|from memory|known (?:to|that|facts)|as (?:is )?(?:commonly )?known|knowledge cutoff|as of my|it is known)\b",
    re.IGNORECASE,
)
VERIFY = re.compile(
    r"\b(?:verif\w+|double[- ]?check\w*|validat\w+|cross[- ]?(?:check|referenc)\w*|confirm\w*|test(?:s|ed|ing)?)\b",
    re.I,
)
MANUAL = re.compile(r"\b(?:manual(?:ly)?|by hand|visual(?:ly)? inspect\w*|eyeball\w*|mentally)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"\u201c][^\"\u201d\n]{12,200}[\"\u201d]")
EQUATION = re.compile(r"=\s*-?\d|\\frac|\\times|\\boxed|\d\s*[*/+\-\u00d7]\s*\d")
REFUSAL = re.compile(
    r"\b(?:i (?:cannot|can't|am not able to|am unable to)|as an ai|i do not have access|beyond my)\b", re.IGNORECASE
)
SKIP = re.compile(
    r"\b(?:no need|not necessary|unnecessary|skip(?:ping|ped)?|without (?:verif|check|test)\w*"
    r"|instead,? (?:i|we)|ignor(?:e|ing)|regardless"
    r"|irrelevant|for simplicity|simplif\w+|alternatively|bypass\w*)\b",
    re.IGNORECASE,
)

_CERTAIN = Quick(
    CERTAIN, "therefore", "thus", "hence", "clearly", "obviously", "definitely", "conclu", "must", "answer"
)
_INTENT = Quick(INTENT, "i'll", "i will", "i am", "we'll", "we will", "let", "proceed", "next,")
_APOLOGY = Quick(APOLOGY, "sorry", "apolog", "mistake", "an error", "was wrong", "oversight")
_CORRECTION = Quick(CORRECTION, "actually", "correct", "revis", "eval", "check", "review", "fix")
_REFUSAL = Quick(REFUSAL, "cannot", "can't", "able to", "as an ai", "access", "beyond")
_SKIP = Quick(
    SKIP,
    *("need", "necessary", "skip", "without", "instead", "ignor", "regardless", "irrelevant", "simpl", "alternatively"),
    "bypass",
)
_MEMORY = Quick(MEMORY, "based on", "memory", "known", "cutoff", "as of my")
_HEDGE = Quick(
    HEDGE,
    *("might", "maybe", "perhaps", "possibl", "probably", "likely", "appear", "seem", "approximately", "roughly"),
    *("think", "believe", "typically", "generally", "usually", "estimate", "sure", "unclear"),
)
_VERIFY = Quick(VERIFY, "verif", "double", "validat", "cross", "confirm", "test")
_MANUAL = Quick(MANUAL, "manual", "by hand", "inspect", "eyeball", "mentally")
_ENDS = Quick(ENDS, "terminate", "complete", "done", "finished")
_APPROVES = Quick(
    APPROVES,
    *("approve", "look", "correct", "accurate", "valid", "right", "fine", "verified", "confirm", "lgtm", "no "),
    "well done",
)
_REJECTS = Quick(REJECTS, "not ", "correct", "wrong", "accurate", "error in", "mistake", "reject", "unable", "however")
_CLAIM = Quick(CLAIM, "i ", "we ", "i've", "we've")
_MADE_UP = Quick(MADE_UP, *MAKES_UP)


def language(view: View) -> dict[str, Column]:
    """Words that give an agent away."""
    prose = [text.prose for text in view.texts]
    lower = [text.lower for text in view.texts]
    assumed = view.flags([_MADE_UP.is_in(text) for text in lower]) * _own(view)
    placeholder = np.array([float(bool(PLACEHOLDER_IN_CODE.search(t.said))) for t in view.texts]) * _own(view)
    memory = _MEMORY.times_in(lower)
    return {
        "language: assumes or simulates": assumed,
        "language: first to assume or simulate": first_of((assumed + placeholder) > 0),
        "language: placeholder in code": placeholder,
        "language: from memory": memory,
        "language: hedges": np.log1p(_HEDGE.times_in(lower)),
        "language: sounds certain": np.log1p(_CERTAIN.times_in(lower)),
        "language: announces what it will do": np.log1p(_INTENT.times_in(lower)),
        "language: apologises": np.minimum(1.0, _APOLOGY.times_in(lower)),
        "language: corrects": np.log1p(_CORRECTION.times_in(lower)),
        "language: refuses": np.minimum(1.0, _REFUSAL.times_in(lower)),
        "language: leaves something out": np.log1p(_SKIP.times_in(lower)),
        "language: by hand": np.minimum(1.0, _MANUAL.times_in(lower)),
        "language: declares the end": np.minimum(1.0, _ENDS.times_in(lower)),
        "language: approves": np.minimum(2.0, _APPROVES.times_in(lower)),
        "language: rejects": np.minimum(2.0, _REJECTS.times_in(lower)),
        "language: speaks of checking": np.log1p(_VERIFY.times_in(lower)),
        "language: calculates": np.log1p(_counts(prose, EQUATION)),
    }


def claims(view: View) -> dict[str, Column]:
    """Claims, with and without something that bears them out."""
    texts = view.texts
    claimed = view.flags([_CLAIM.is_in(t.lower) for t in texts]) * _own(view)
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
    return np.array([float(view.is_act[i] and not view.trace.is_brief(i)) for i in range(view.count)])


def _counts(texts: list[str], pattern: re.Pattern[str]) -> Column:
    return np.array([float(len(pattern.findall(text))) for text in texts])
