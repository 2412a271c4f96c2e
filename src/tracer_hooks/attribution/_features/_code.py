"""Code in a run: who wrote it first, what it does, and what came of it."""

from __future__ import annotations

import re

import numpy as np

from tracer_hooks.attribution._features._marks import first_of, last_of
from tracer_hooks.attribution._features._view import Column, View
from tracer_hooks.attribution._rules._errors import ERROR_MARKER

FETCHES = re.compile(
    r"requests\.|urlopen|perform_web_search|search\(|fetch|scrape|selenium|api[_.]|http", re.IGNORECASE
)
READS = re.compile(r"read_(?:csv|excel|json)|open\(|load_|Image\.open|PdfReader|extract_", re.IGNORECASE)
CALCULATES = re.compile(r"for .+ in range|random|simulat|sum\(|math\.|np\.|sympy|while |def \w+\(", re.IGNORECASE)
GUARDS = re.compile(r"\btry:|except\b|if not |is None|\.get\(|assert ")
LITERALS = re.compile(r"(?:\[|\{)\s*(?:[\"'\d(\[][^\]\}]{20,})(?:\]|\})")


def code(view: View) -> dict[str, Column]:
    """Marks on the steps that write code."""
    texts, count = view.texts, view.count
    written = view.flags([bool(text.code) and view.is_act[i] for i, text in enumerate(texts)])
    number = np.cumsum(written) * written
    ran, failed = view.column(), view.column()
    for index in range(count - 1):
        if written[index] and view.is_report[index + 1]:
            wrong = ERROR_MARKER.search(texts[index + 1].said) is not None
            failed[index], ran[index] = float(wrong), float(not wrong)
    talk = view.flags([view.is_act[i] and not texts[i].code and not view.is_routing[i] for i in range(count)])
    return {
        "code: first of the run": first_of(written),
        "code: second of the run": (number == 2).astype(float),
        "code: last of the run": last_of(written),
        "code: log number": np.log1p(number),
        "code: ran without an error": ran,
        "code: first that ran without an error": first_of(ran),
        "code: last that ran without an error": last_of(ran),
        "code: last that failed": last_of(failed),
        "code: fetches from outside": _found(view, FETCHES),
        "code: first to fetch from outside": first_of(_found(view, FETCHES)),
        "code: reads a file": _found(view, READS),
        "code: calculates": _found(view, CALCULATES),
        "code: guards against failure": _found(view, GUARDS),
        "code: carries its data inside": _found(view, LITERALS),
        "code: none yet in a run that has some": ((np.cumsum(written) == 0) & (written.sum() > 0)).astype(float),
        "code: none in the whole run": np.full(count, float(written.sum() == 0)),
        "code: first words after the last code": first_of(talk * (np.arange(count) > _last_index(written))),
    }


def brief(view: View) -> dict[str, Column]:
    """The handing over of the task, and the first acts after it."""
    count = view.count
    said = [len(view.task_words & set(text.words)) / max(1, len(view.task_words)) for text in view.texts]
    covered = np.array(said)
    is_brief = view.flags([view.trace.is_brief(i) or (i <= 1 and covered[i] > 0.8) for i in range(count)])
    is_brief *= np.array([not view.is_report[i] for i in range(count)], dtype=float)
    opening = np.cumprod(np.maximum(is_brief, 1.0 - np.array(view.is_act, dtype=float)))
    after = np.cumsum((1 - opening) * np.array(view.is_act, dtype=float)) * np.array(view.is_act, dtype=float)
    first = first_of(np.array(view.is_act))
    return {
        "brief: says the task again": is_brief,
        "brief: share of the task said here": covered,
        "brief: the first act leaves part of the task out": first * (1 - covered),
        "brief: first act after it": (after == 1).astype(float),
        "brief: second act after it": (after == 2).astype(float),
        "brief: third act after it": (after == 3).astype(float),
        "brief: code in it": is_brief * view.flags([bool(text.code) for text in view.texts]),
    }


def _found(view: View, pattern: re.Pattern[str]) -> Column:
    return view.flags([pattern.search(text.code) is not None for text in view.texts])


def _last_index(flags: Column) -> int:
    hits = np.flatnonzero(flags)
    return int(hits[-1]) if hits.size else len(flags)  # of a run without code, no step comes after it
