"""Values that stand in a step where a source has another: of the same row or name in a result, or a slip of one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import derivation_of
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place
from tracer_hooks.diagnosis._provenance._values import Kind, days_between, is_same, is_scaled, resembles
from tracer_hooks.diagnosis._provenance._words import stems
from tracer_hooks.diagnosis._reading._text import parsed_json

_LONG = 1_200
"""Characters from which a text is read like a page."""
_SIGN = 0.3
_NAMED = 0.9
"""From here on the very words name the value."""
_SMALL = 12


def contradiction(ledger: Ledger, entry: Entry, source: Entry, kind: DepartureKind, strength: float) -> Departure:
    """The departure at a value, in the place of which a source has another one.

    In a long text, and in what a terminal printed, another value of the kind stands by chance: there it is none.
    """
    if _is_open(entry) or _is_open(source) or (source.place is Place.SHOWN and source.tool is None):
        strength = 0.0
    if kind is DepartureKind.MISREAD and strength < _NAMED and not _is_of_length(entry, source):
        strength = min(strength, _SIGN)
    if entry.value.in_words and (entry.value.number or 0) <= _SMALL:
        strength = min(strength, _SIGN)
    agent = ledger.run.steps[entry.step].agent
    tool = repr(entry.tool) if entry.tool is not None else "a tool"
    act = f"passes {entry.text!r} to {tool}" if entry.place is Place.USED else f"says {entry.text!r}"
    return Departure(
        kind=kind,
        step=entry.step,
        why=f"{agent!r} {act}, but {_source_words(ledger, source)}",
        quote=entry.quote,
        value=entry.text,
        right=source.text,
        sources=() if source.step < 0 else (source.step,),
        strength=strength,
    )


def _is_of_length(entry: Entry, source: Entry) -> bool:
    """Tell whether two numbers have as many digits before the point: else one hardly stands for the other."""
    one, other = entry.value.number, source.value.number
    if one is None or other is None or entry.value.unit != source.value.unit:
        return True
    return len(str(abs(int(one)))) == len(str(abs(int(other)))) or sorted(_digits(entry)) == sorted(_digits(source))


def _digits(entry: Entry) -> str:
    return "".join(char for char in entry.value.text if char.isdigit())


def _is_open(entry: Entry) -> bool:
    """Tell whether a value stands in a long text of another's, such as a page, rather than in a reply or a record."""
    if entry.passage is None or len(entry.passage.raw) <= _LONG:
        return False
    return entry.passage.raw[:1] not in "{["


def _source_words(ledger: Ledger, source: Entry) -> str:
    """Tell what a source says, as the end of a sentence."""
    if source.step < 0:
        return f"the task says {source.text!r}"
    agent = ledger.run.steps[source.step].agent
    if source.place is Place.GIVEN:
        return f"{agent!r} said {source.text!r}"
    who, verb = (agent, "said") if source.place is not Place.SHOWN else (source.tool or agent, "returned")
    return f"{who!r} {verb} {source.text!r} in step {source.step}"


_SURE, _LIKELY, _MAYBE, _IN_TALK = 0.9, 0.85, 0.8, 0.65
_RECENT_IN_TALK, _RECENT = 3, 12
"""Steps for which a reader has a tool's result in mind, where a person takes part and where only agents do."""
_MOST_RESULTS = 4
_MAGNITUDE = 20
"""Times by which two values of one thing differ at the most."""
_MOST_CELLS = 120
_FAR = 80
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a result."""

    start: int
    end: int
    column: frozenset[str]
    """Its name: its key, or the head of its column."""
    row: frozenset[str]
    """Whose value it is: the other texts of its record or row; empty where there is only one."""
    record: int = 0
    """The record or row that it stands in."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value of a result, with what it is called there."""

    entry: Entry
    field: Field


def misread_field(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value that is said of something of which a tool's result says another."""
    if entry.passage is None or entry.place is not Place.SAID or entry.value.kind is Kind.NAME or entry.value.in_words:
        return None
    for cells in _results_before(ledger, entry):
        alike = [cell for cell in cells if cell.entry.value.kind is entry.value.kind]
        same = [cell for cell in alike if is_same(cell.entry.value, entry.value)]
        found = _of_another(ledger, entry, same, alike) if same else _of_none(ledger, entry, alike)
        if found is not None:
            return replace(found, strength=min(found.strength, _IN_TALK)) if ledger.is_conversation else found
        if same:
            return None
    return None


def _of_another(ledger: Ledger, entry: Entry, same: Sequence[_Cell], alike: Sequence[_Cell]) -> Departure | None:
    """The value is in the result, in another row or under another name."""
    away = _distances(entry)
    source = max(same, key=lambda cell: len((cell.field.column | cell.field.row) & entry.words))
    own = ledger.of_step(entry.step, Place.SAID)
    found: list[tuple[float, int, Entry]] = []
    for rival in alike:
        if is_same(rival.entry.value, entry.value) or not _units_fit(rival.entry, source.entry):
            continue
        if any(is_same(rival.entry.value, each.value) for each in own):
            continue
        strength = _is_meant(entry.words, source.field, rival.field)
        if strength:
            is_beside = source.field.record == rival.field.record
            label = rival.field.column if is_beside else rival.field.row - source.field.row
            found.append((strength, -_nearest(label, away), rival.entry))
    found.sort(key=lambda each: each[:2], reverse=True)
    if not found or (
        len(found) > 1 and found[0][:2] == found[1][:2] and not is_same(found[0][2].value, found[1][2].value)
    ):
        return None  # either could be meant
    return contradiction(ledger, entry, found[0][2], DepartureKind.MISREAD, found[0][0])


def _of_none(ledger: Ledger, entry: Entry, alike: Sequence[_Cell]) -> Departure | None:
    """The value is nowhere in the run, and the result has another under the very name that the step gives to it."""
    if not entry.value.is_telling or ledger.before(entry.value, entry.step, entry.place) is not None:
        return None
    if any(each.stated.value == entry.value.number for each in ledger.calculations(entry.step)):
        return None
    own = ledger.of_step(entry.step, Place.SAID)
    named = [
        cell
        for cell in alike
        if not cell.field.column.isdisjoint(entry.words)
        and _units_fit(cell.entry, entry)
        and not any(is_same(cell.entry.value, each.value) for each in own)
    ]
    away = _distances(entry)
    named = [cell for cell in named if not cell.field.row.isdisjoint(entry.words)] or named
    named.sort(key=lambda cell: _nearest(cell.field.column, away))
    if not named or len({_nearest(cell.field.column, away) for cell in named[:2]}) < len(named[:2]):
        return None  # either could be meant
    best = named[0]
    if not best.field.column <= entry.words or not _is_of_size(entry, best.entry):
        return None
    if is_scaled(entry.value, best.entry.value) or derivation_of(entry.value, [*ledger.at_hand(entry.step), *own]):
        return None
    return contradiction(ledger, entry, best.entry, DepartureKind.MISREAD, _LIKELY)


def _is_of_size(one: Entry, other: Entry) -> bool:
    """Tell whether two values could stand for one thing: a year stands for no other number."""
    if one.value.number is None or other.value.number is None:
        return True
    a, b = sorted((abs(one.value.number), abs(other.value.number)))
    return a > 0 and b <= _MAGNITUDE * a


def _is_meant(words: frozenset[str], source: Field, rival: Field) -> float:
    """Weigh how surely words speak of the rival rather than of the value's own place; 0 when they do not tell."""
    if source.column == rival.column and source.record != rival.record:
        theirs, mine = rival.row - source.row, source.row - rival.row
        if not theirs and mine and mine.isdisjoint(words) and rival.row & words:
            return _MAYBE  # "express_am" for "express"
        return _SURE if not theirs.isdisjoint(words) and mine.isdisjoint(words) else 0.0
    if source.record == rival.record:
        theirs, mine = rival.column - source.column, source.column - rival.column - source.row
        return _LIKELY if theirs and theirs <= words and mine.isdisjoint(words) else 0.0
    return 0.0


def _distances(entry: Entry) -> dict[str, int]:
    """The distance of each word from a value, in characters; what follows it at once is nearest."""
    assert entry.passage is not None
    text, start, end = entry.passage.text, entry.value.start, entry.value.end
    away: dict[str, int] = {}
    for match in _WORD.finditer(text, max(0, start - _FAR), min(len(text), end + _FAR)):
        gap = match.start() - end if match.start() >= end else start - match.end()
        for word in stems(match.group()):
            away[word] = min(gap, away.get(word, _FAR))
    return away


def _nearest(label: frozenset[str], away: Mapping[str, int]) -> int:
    """The distance of the nearest word of a label."""
    return min((away[word] for word in label if word in away), default=_FAR)


def _units_fit(one: Entry, other: Entry) -> bool:
    """Tell whether two values could stand for each other: of one unit, ids of letters and digits in the same order."""
    if one.value.kind is Kind.CODE and _shape(one) != _shape(other):
        return False
    return one.value.unit == other.value.unit or one.value.unit is None or other.value.unit is None


def _shape(code: Entry) -> str:
    return re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", code.value.text))


def _results_before(ledger: Ledger, entry: Entry) -> Iterator[list[_Cell]]:
    """The latest results that a step's words may rest on, each with its fields."""
    oldest = entry.step - (_RECENT_IN_TALK if ledger.is_conversation else _RECENT)
    seen = 0
    for step in range(entry.step, max(-1, oldest - 1), -1):
        for cells in ledger.remember(("cells", step), partial(_cells_of, ledger, step)):
            yield cells
            seen += 1
            if seen >= _MOST_RESULTS:
                return


def _cells_of(ledger: Ledger, step: int) -> list[list[_Cell]]:
    """The values of each result of a step that stand in a field."""
    found = []
    for passage in ledger.run.passages(step, "result"):
        entries = [each for each in ledger.of_step(step, Place.SHOWN) if each.passage is passage]
        fields = fields_in(passage.raw) if entries else ()
        starts = [field.start for field in fields]
        cells = []
        for entry in entries[:_MOST_CELLS] if fields else ():
            place = bisect_right(starts, entry.value.start) - 1
            if place >= 0 and entry.value.start < fields[place].end:
                cells.append(_Cell(entry, fields[place]))
        if cells:
            found.append(cells)
    return found


_MOST_CHARS = 20_000
_MOST_ROWS = 200
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d|Q[1-4]")
_MARKS = ("|", "\t", ";", ",")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}\[\]:,]|true|false|null')


def fields_in(text: str) -> tuple[Field, ...]:
    """The fields of a result that is JSON or a table, in order; none in running prose."""
    if len(text) > _MOST_CHARS or not _DIGIT.search(text):
        return ()
    if text.lstrip()[:1] in ("{", "["):
        return tuple(_of_json(text))
    rows = [row for row in _rows(text) if row[1].strip()][:_MOST_ROWS]
    for mark in _MARKS:
        table = [row for row in rows if mark in row[1]]
        counts = {row[1].strip().strip("|").count(mark) for row in table}
        if len(table) >= 2 and len(table) >= len(rows) - 1 and len(counts) == 1:
            return tuple(_of_table(table, mark))
    return ()


def _rows(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _of_table(rows: Sequence[tuple[int, str]], mark: str) -> Iterator[Field]:
    parted = [list(_cells(start, line, mark)) for start, line in rows]
    heads = [text for _, text in parted[0]]
    is_headed = not any(_DIGIT.search(text) for text in heads) or (
        all(_YEAR.fullmatch(text.strip()) for text in heads[1:] if text.strip()) and not _DIGIT.search(heads[0])
    )
    for number, cells in enumerate(parted):
        if number == 0 and is_headed:
            continue
        row = frozenset[str]().union(*(stems(text) for _, text in cells))
        for column, (start, text) in enumerate(cells):
            inner = text.strip()
            if inner:
                at = start + text.index(inner)
                head = stems(heads[column]) if is_headed and column < len(heads) else frozenset({f"#{column}"})
                yield Field(at, at + len(inner), head, row, number)


def _cells(start: int, line: str, mark: str) -> Iterator[tuple[int, str]]:
    for cell in line.split(mark):
        yield start, cell
        start += len(cell) + len(mark)


class _JsonReader:
    """Reads JSON by its tokens, since the places of the values are needed."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int, str, int]] = []
        self.owners: dict[int, list[str]] = {}
        """The keys and texts that name each record."""
        self._stack: list[tuple[str, int, str]] = []
        self._records, self._key, self._is_key = 0, "", False

    def read(self, match: re.Match[str]) -> None:
        """Take the next token."""
        token = match.group()
        if token in "{[":
            self._open(token)
        elif token in "}]":
            self._key = self._stack.pop()[2] if self._stack else ""
        elif token in ",:":
            self._is_key = token == "," and bool(self._stack) and self._stack[-1][0] == "{"
        elif self._is_key:
            self._key = token.strip('"')
        elif self._stack:
            within, is_text = self._stack[-1][1], token[0] == '"'
            self.found.append((match.start() + is_text, match.end() - is_text, self._key, within))
            if is_text:
                self.owners[within].append(token.strip('"'))

    def _open(self, token: str) -> None:
        self._records += 1
        outer = self.owners[self._stack[-1][1]] if self._stack and token == "[" else []
        self.owners[self._records] = [self._key, *outer] if self._key else list(outer)
        self._stack.append((token, self._records, self._key))
        self._is_key = token == "{"


def _of_json(text: str) -> Iterator[Field]:
    if parsed_json(text) is None:
        return
    reader = _JsonReader()
    for match in _TOKEN.finditer(text):
        reader.read(match)
    records = {within for *_, within in reader.found}
    for start, end, key, within in reader.found:
        column = stems(key) or frozenset({key})
        row = stems(" ".join(reader.owners[within])[:300]) if len(records) > 1 else frozenset()
        if end > start:
            yield Field(start, end, column, row, within)


_ENOUGH = 0.75
_PLAIN = 0.7
_MOST = 0.9
"""Likeness from which a slip shows in the value alone, whatever it is a slip of."""
_SHOWN = 0.25
_NEXT_DAY = re.compile(
    r"\b(?:(?:next|following|previous) (?:day|morning|night)|tomorrow|yesterday|day (?:after|before)|overnight|midnight"
    r"|in the morning|nights?|eve)\b",
    re.IGNORECASE,
)


def slip_of(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value that nothing before it gives, when a source has another one in its place."""
    best: tuple[float, Entry] | None = None
    own = ledger.of_step(entry.step, Place.SAID, Place.USED)
    for source in reversed(ledger.at_hand(entry.step)):
        likeness = resembles(entry.value, source.value)
        if (
            not likeness
            or (source.place is Place.SHOWN and is_scaled(entry.value, source.value))
            or any(is_same(source.value, each.value) for each in own)
        ):
            continue
        if entry.value.kind is Kind.DATE and ledger.is_conversation:
            likeness = min(likeness, 0.4)  # people search around a date
        if entry.value.kind is Kind.DATE and days_between(entry.value, source.value) == 1:
            likeness = min(likeness, 0.4) if _is_of_next_day(ledger, entry) else likeness
        is_just_shown = source.place is Place.SHOWN and source.passage is not None and source.step >= entry.step - 1
        if likeness < _PLAIN and not (is_just_shown and entry.passage is not None):
            continue
        likeness += _alike(entry, source) + (_SHOWN if is_just_shown else 0)
        if best is None or likeness > best[0]:
            best = (likeness, source)
    if best is None or best[0] < _ENOUGH:
        return None
    source = best[1]
    kind = DepartureKind.MISREAD if source.place is Place.SHOWN else DepartureKind.MISCOPIED
    return contradiction(ledger, entry, source, kind, min(_MOST, best[0]))


def _is_of_next_day(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether the run speaks of the day after or before, so that a neighbour of a date need not be a slip."""
    texts = [ledger.run.trajectory.task[:3_000], ledger.run.steps[entry.step].content[:1_000]]
    texts += [ledger.run.steps[step].content[:1_000] for step in range(max(0, entry.step - 6), entry.step)]
    return any(_NEXT_DAY.search(text) for text in texts)


def _alike(entry: Entry, source: Entry) -> float:
    """Weigh how far the words around both agree."""
    if entry.passage is None or source.passage is None:
        return 0.0
    mine, theirs = entry.words, source.words
    return 0.5 * len(mine & theirs) / max(1, min(len(mine), len(theirs)))
