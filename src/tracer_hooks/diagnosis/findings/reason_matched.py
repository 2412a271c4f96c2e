"""``reason_matched``: the check's reason names an agent, a fact that a step has and the answer lacks, or a wrong part.

The step with the fact is no step to blame: whoever wrote the answer left it out. Silent where what the reason names
stands in several agents' steps, or nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, is_number, quoted_in, stated_values
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome

_KIND = FindingKind.REASON_MATCHED
AGENT, MISSING, WRONG_PART = "agent", "missing", "wrong_part"
_WORD = re.compile(r"[^\W\d_]+")
_COMMON = frozenset(
    (
        *("about", "after", "again", "answer", "assertionerror", "because", "before", "check", "contain"),
        *("contains", "correct", "could", "doesn", "expected", "failed", "false", "final", "given", "include"),
        *("included", "includes", "incorrect", "lacks", "mention", "mentioned", "mentions", "missing", "named"),
        *("names", "never", "nothing", "omits", "omitted", "other", "output", "reply", "response", "result"),
        *("returned", "right", "shall", "should", "stated", "states", "their", "there", "value", "where"),
        *("which", "while", "without", "would", "wrong"),
    )
)
_LACKING = frozenset(
    (
        *("absent", "doesn", "forgets", "forgot", "ignored", "ignores", "isn", "lack", "lacking", "lacks", "leaves"),
        *("left", "missing", "never", "no", "not", "omits", "omitted", "wasn", "without"),
    )
)
_UNWANTED = frozenset(("false", "forbidden", "incorrect", "invented", "outdated", "unwanted", "wrong"))
_COMPARED = frozenset(
    ("as", "equal", "equals", "from", "like", "match", "matches", "than", "to", "unlike", "what", "with")
)
"""Words before the name of an agent whose words the answer is held against: "not what the adder has"."""
_ARTICLES = frozenset(("a", "an", "our", "the", "your"))
_FORBIDS = ("must not", "should not", "may not", "do not", "shouldn't", "mustn't", "not allowed")
_IN = re.compile(r"['\"`] in [a-z]")
"""As an assertion puts it: "'hazelnut' in answer"."""
_LEAST_WORD, _LEAST_WORDS = 5, 2
_LONGEST, _LONGEST_REJECTION, _LONGEST_NAME = 600, 160, 4


def find(run: RunReading) -> Iterator[Finding]:
    """The one match of a failed run's reason."""
    reason = (run.trajectory.outcome_reason or "").removeprefix("check:").strip()
    if run.trajectory.outcome is not RunOutcome.FAILED or not reason or len(reason) > _LONGEST or not run.acts:
        return
    named = named_agent(run)
    if named is not None:
        step = max(index for index in run.acts if run.steps[index].agent == named)
        quote = run.first_words(step)
        yield finding(
            run,
            _KIND,
            f"The check names {named!r}: {reason!r}",
            step=step,
            detail=AGENT,
            quote=quote,
            leads_to_answer=True,
        )
        return
    words = {word.casefold() for word in _WORD.findall(reason)}
    forbids = any(phrase in reason.casefold() for phrase in _FORBIDS) or bool(words & _UNWANTED)
    if words & _LACKING and not forbids:
        yield from _missing(run, reason)
    elif forbids or _IN.search(reason) is not None:
        yield from _wrong_part(run, reason)


def named_agent(run: RunReading) -> str | None:
    """The one agent of the team that the check's reason names, where its name is no word of the task."""
    reason = (run.trajectory.outcome_reason or "").removeprefix("check:")
    if len(reason) > _LONGEST or run.trajectory.outcome is not RunOutcome.FAILED:
        return None
    reason = reason.replace(run.final_text.strip() or "\0", "")  # it may quote the answer, names and all
    for quoted, _ in quoted_in(reason):
        if fold(quoted) not in {fold(run.steps[index].agent) for index in run.acts}:
            reason = reason.replace(quoted, "")
    said, asked = _folded(reason), _folded(run.trajectory.task[:4_000])
    agents = dict.fromkeys(run.steps[index].agent for index in run.acts)
    named = [agent for agent in agents if fold(agent) in said and fold(agent) not in asked]
    is_alone = len(named) == 1 and len(agents) > 1
    return named[0] if is_alone and any(word not in _COMPARED for word in said[fold(named[0])]) else None


def _folded(text: str) -> dict[str, set[str]]:
    """Every one to four words of a text as one folded name ("dataanalyst"), with the words that stand before it."""
    # Not by fold: its cache is for the few names of a team, and words of tasks never come again.
    bare = ("".join(filter(str.isalnum, word.casefold())) for word in re.split(r"\s+|['\u2019]s\b", text))
    words = [word for word in bare if word]
    found: dict[str, set[str]] = {}
    for at in range(len(words)):
        before = words[at - 2] if at > 1 and words[at - 1] in _ARTICLES else words[at - 1] if at else ""
        for size in range(1, _LONGEST_NAME + 1):
            found.setdefault("".join(words[at : at + size]), set()).add(before)
    return found


def _terms(reason: str) -> list[str]:
    """What a reason names: what it quotes, its dates, times, ids and numbers; else its telling words."""
    quoted = [text.strip() for text, _ in quoted_in(reason) if len(text.strip()) > 1]
    values = [value for value, _ in stated_values(reason) if not is_number(value) or len(value) > _LEAST_WORDS]
    if quoted or values:
        return list(dict.fromkeys(quoted or values))
    words = [word for word in _WORD.findall(reason) if len(word) >= _LEAST_WORD and word.casefold() not in _COMMON]
    return list(dict.fromkeys(words)) if len(words) >= _LEAST_WORDS else []


def _missing(run: RunReading, reason: str) -> Iterator[Finding]:
    """What the reason names, one agent's step has, and the answer lacks."""
    terms, author = _terms(reason), run.last_speaker
    lacking = [term for term in terms if not _has(run.final_text, term)]
    if author is None or not lacking or len(lacking) < min(_LEAST_WORDS, len(terms)):
        return
    having = [index for index in run.acts if all(_has(run.steps[index].content, term) for term in lacking)]
    if not having or having[-1] >= author or len({run.steps[index].agent for index in having}) > 1:
        return
    source, last = having[0], run.steps[author].agent
    yield finding(
        run,
        _KIND,
        f"{run.steps[source].agent!r} says {_listed(lacking)} in step {source}; the answer of {last!r} leaves it out",
        step=author,
        detail=MISSING,
        quote=run.first_words(author),
        right=lacking[0],
        source=source,
        leads_to_answer=True,
    )


def _wrong_part(run: RunReading, reason: str) -> Iterator[Finding]:
    """What the reason rejects, and the answer has."""
    author, named = (
        run.last_speaker,
        [text for text, _ in quoted_in(reason)] or [value for value, _ in stated_values(reason)],
    )
    terms = [term for term in named if _has(run.final_text, term) and term != run.answer.text]
    if author is None or not terms or len(reason) > _LONGEST_REJECTION:
        return
    first = next((index for index in run.acts if all(_has(run.steps[index].content, term) for term in terms)), author)
    since = f"; {run.steps[first].agent!r} says it first, in step {first}" if first != author else ""
    yield finding(
        run,
        _KIND,
        f"The check rejects {_listed(terms)}, and the answer of {run.steps[author].agent!r} has it{since}",
        step=author,
        detail=WRONG_PART,
        quote=run.locate(author, terms[0], "content"),
        claimed=terms[0],
        source=first if first != author else None,
        leads_to_answer=True,
    )


def _has(text: str, term: str) -> bool:
    return find_value(text, term) >= 0 or find_value(text.casefold(), term.casefold()) >= 0


def _listed(terms: Sequence[str]) -> str:
    return " and ".join(repr(term) for term in terms[:3])


def _advice(found: Finding) -> str:
    if found.detail == AGENT:
        return ""
    right = found.values.right if found.values is not None else None
    return f"Have {found.agent!r} take up what earlier steps say of {right!r}." if right is not None else ""


KIND = KindOfFinding(
    kind=_KIND,
    definition="The check's reason names an agent, a part of the answer, or what a step has and the answer lacks.",
    find=find,
    advice=_advice,
)
