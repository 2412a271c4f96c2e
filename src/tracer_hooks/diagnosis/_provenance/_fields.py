"""The fields of a tool's result: what each value is called, and whose value it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracer_hooks.diagnosis._provenance._labels import stems
from tracer_hooks.diagnosis._reading._text import parsed_json

_MOST_CHARS = 20_000
_MOST_ROWS = 200
_PAIR = re.compile(
    r"(?P<key>[^\W\d][\w.-]*(?: [^\W\d][\w.-]*){0,3}) ?(?:=|: |:(?=\d))\s*(?P<value>[^\n,;"
    r"|=]*?)(?=\s+[^\W\d][\w.-]*=|[\n,;|]|$)"
)
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d|Q[1-4]")
_MARKS = ("|", "\t", ";", ",")
_NUMBER = r"[-+\u2212]?[$€£¥]?\d[\d.,:'\u2019]*\d|\d"
_WORD_NUMBER = re.compile(rf"(?P<key>[^\W\d_]{{3,}}(?: [^\W\d_]+)?) (?P<value>{_NUMBER})(?=[ ;,|]|$)")


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a result."""

    start: int
    end: int
    column: frozenset[str]
    """What it is called: its key, or the head of its column."""
    row: frozenset[str]
    """Whose value it is: the other texts of its record or row; empty where there is only one."""
    record: int = 0
    """The record or row that it stands in."""


def fields_in(text: str) -> tuple[Field, ...]:
    """The fields of a result, in order; none in running prose."""
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
    return tuple(_of_lines(rows))


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
        row = frozenset[str]().union(*(stems(text) for _, text in cells if not _is_number(text)))
        named = cells[0][1] if cells and _is_number(cells[0][1]) else ""
        row |= {named.strip()} - {""}
        for column, (start, text) in enumerate(cells):
            inner = text.strip()
            if inner:
                at = start + text.index(inner)
                head = stems(heads[column]) if is_headed and column < len(heads) else frozenset({f"#{column}"})
                yield Field(at, at + len(inner), head, row, number)


def _is_number(text: str) -> bool:
    return _DIGIT.search(text) is not None and len(re.findall(r"[^\W\d_]", text)) <= 3


def _cells(start: int, line: str, mark: str) -> Iterator[tuple[int, str]]:
    for cell in line.split(mark):
        yield start, cell
        start += len(cell) + len(mark)


def _of_lines(rows: Sequence[tuple[int, str]]) -> Iterator[Field]:
    """Keys and values, or words and numbers, in each line; the line's first words say whose they are."""
    for number, (start, line) in enumerate(rows):
        pairs = list(_PAIR.finditer(line)) or list(_WORD_NUMBER.finditer(line))
        if not pairs:
            continue
        head = line[: pairs[0].start()] if len(rows) > 1 else ""
        row = stems(_DIGIT.sub(" ", head))
        for pair in pairs:
            if pair["value"].strip():
                yield Field(start + pair.start("value"), start + pair.end("value"), stems(pair["key"]), row, number)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}\[\]:,]|true|false|null')


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
