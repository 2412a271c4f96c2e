"""Names in a text: found, and exchanged for others that the run knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from random import Random

from tracer_hooks_lab.faults._prose import sentences

_NAME = re.compile(r"\b[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*\b")
_QUOTED = re.compile(r"(?<=[\"'`])[A-Za-z][\w .-]{1,40}(?=[\"'`])")
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "I A An The If So It We You He She They This That These Those In On At To For From With And Or But As Then "
        "Thus Hence Therefore Next First Second Third Finally Now Let Step Answer Final Result Total Note Checked "
        "Correct Yes No True False Plan Please Here There When Where Since Because After Before Each Every All "
        "Both Given Task Question What Which Who How Why Is Are Was Were Do Does Did Can Could Should Would Will "
        "Use Using Add Compute Return Call Find Check Verify Sum Times Divide Subtract Python Monday Tuesday "
        "Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
        "October November December None EUR USD ",
    )
)


def names_in(text: str) -> list[str]:
    """Names of people, places and things in a text: capitalised inside a sentence, or quoted; each once, in order."""
    starts = {span.start for span in sentences(text)}
    found = []
    for match in _NAME.finditer(text):
        name, start = match.group(), match.start()
        if start in starts:  # the first word of a sentence is a name only if it stands elsewhere as well
            first, _, rest = name.partition(" ")
            if first in _NO_NAMES:
                name = rest
            elif not rest and len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
                continue
        if name and name not in _NO_NAMES:
            found.append(name)
    found += [match.group() for match in _QUOTED.finditer(text)]
    return list(dict.fromkeys(found))


def other_name(name: str, known: Iterable[str], rng: Random) -> str | None:
    """Another name of the run to stand in for ``name``: of as many words, when there is one."""
    others = [other for text in known for other in names_in(text) if other.lower() != name.lower()]
    others = [o for o in dict.fromkeys(others) if o not in name and name not in o]
    alike = [o for o in others if o.count(" ") == name.count(" ")]
    return rng.choice(alike or others) if others else None


def exchange(text: str, one: str, other: str) -> str:
    """``text`` with two names in each other's place."""
    both = re.compile(rf"\b(?:{re.escape(one)}|{re.escape(other)})\b")
    return both.sub(lambda m: other if m.group() == one else one, text)


def swap_names(text: str, known: Sequence[str], rng: Random) -> str | None:
    """``text`` with one name in the place of another: two of its own exchanged, or one from ``known`` put in."""
    own = names_in(text)
    rng.shuffle(own)
    for name in own:
        other = other_name(name, known, rng)
        if other is not None:
            changed = exchange(text, name, other)
            if changed != text:
                return changed
    return exchange(text, own[0], own[1]) if len(own) > 1 else None
