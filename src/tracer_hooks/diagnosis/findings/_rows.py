"""Rows that agents write, "desk | 387" or "- desk: 387 EUR", beside the sentences and records that they are taken from.

Sources are the task, what persons say, and what tools return: a sentence, a line, or a JSON object each.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, is_number, numbers_in, parsed_json
from tracer_hooks.schema import RunOutcome

_READ = 8_000
_MOST_SOURCES, _MOST_ROWS, _LONGEST_ROW = 400, 40, 200
_MARKS = tuple("-*•0123456789")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
_NUMBER = r"\s*[$€£]?\s?([-+\u2212]?[$€£]?\d[\d.,]*)\s*[^\W\d_]{0,12}\s*[|.]?\s*"
_CELLS = re.compile(r"\s*\|?\s*([^|]{2,60}?)\s*\|" + _NUMBER)
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+\**([^:=|]{2,60}?)\**\s*[:=]\**" + _NUMBER)
_WORD = re.compile(r"[^\W\d_]{3,}")
_SUMS = frozenset(
    ("all", "average", "balance", "mean", "overall", "rest", "subtotal", "subtotals", "sum", "total", "totals")
)
_QUALIFIERS = _SUMS | {
    *("amount", "and", "cost", "costs", "each", "eur", "euro", "expense", "expenses", "fee", "fees", "for", "from"),
    *("gross", "net", "number", "paid", "per", "price", "prices", "quantity", "rate", "refund", "refunded", "refunds"),
    *("return", "returned", "tax", "the", "unit", "usd", "value", "vat", "grand"),
}
"""Words that say what a number is, not what it is of."""
_SUBJECT = re.compile(r"\W*([A-Z][\w&-]+(?: [A-Z][\w&-]+)?)\s+(\w+)")
_ADDS = re.compile(r"\b(?:add|adds|sum|total|altogether|in all)\b")
_TOTAL = re.compile(
    r"\btotal\b[^.\n]{0,120}?(?<![\w-])(\d+(?:,\d{3})*(?:\.\d+)?)(?![\w%-]|,\d)(?!\s*[*+/=])", re.IGNORECASE
)
_REDUCED = re.compile(r"%|\b(?:per ?cent|discount|voucher|coupon|tax|vat|rebate|reduc\w+)\b", re.IGNORECASE)
_COUNT = re.compile(r"quantity|qty|count|units?$|pieces|amount$", re.IGNORECASE)
_PRICE = re.compile(r"price|cost|rate|eur|usd", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """One sentence, line or record that is given."""

    text: str
    words: frozenset[str]
    numbers: tuple[str, ...]
    """Canonical, without sign."""
    step: int | None
    """None for the task."""
    subjects: Mapping[str, str]
    """Whom it may be of, and what is said of it: the name that a sentence begins with and its verb, the names among the
    values of a record and their keys."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table or list."""

    label: str
    words: frozenset[str]
    number: str
    """As it is written."""
    line: str

    @property
    def plain(self) -> str:
        """The number in canonical form, without its sign."""
        return canonical(self.number).lstrip("-+")

    def is_of(self, source: Source) -> bool:
        """Tell whether a source has all words that say what the row is of."""
        return self.words <= source.words


def rows_in(text: str) -> list[Row]:
    """The rows of tables and lists with a label in words and one number; none where a text has a single one."""
    found: list[Row] = []
    for line in text[:_READ].splitlines():
        is_cells = "|" in line
        if len(line) > _LONGEST_ROW or (not is_cells and line.lstrip()[:1] not in _MARKS):
            continue
        match = (_CELLS if is_cells else _LISTED).fullmatch(line)
        if match is None:
            continue
        label, number = match.group(1).strip(" *|"), re.sub(r"[$€£]", "", match.group(2)).replace("\u2212", "-")
        words = _words(label)
        is_sum = bool(_SUMS & {*words, *label.casefold().split()})
        if words - _QUALIFIERS and not is_sum and not re.search(r"\d", label) and is_number(number.strip(".,")):
            found.append(Row(label, words - _QUALIFIERS, number.strip(".,"), match.group().strip()))
    return found[:_MOST_ROWS] if len(found) > 1 else []


def sources_before(run: RunReading, step: int) -> list[Source]:
    """What the task, persons and tools had given before a step."""
    found = list(_sentences(run.trajectory.task[:_READ], None))
    for index in range(step):
        if run.roles[index] is Role.PERSON:
            found += _sentences(run.steps[index].content[:_READ], index)
        for passage in run.passages(index, "result"):
            found += _records(passage.raw[:_READ], index)
    return found[:_MOST_SOURCES]


def asked_subject(run: RunReading, sources: Sequence[Source]) -> str | None:
    """The one subject that the task asks for, where its sources tell the same of several; else None."""
    told: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for subject, what in source.subjects.items() if source.numbers else ():
            told[subject].add(what)
    sentences = list(_split(run.trajectory.task[:_READ]))
    asking = " ".join(each for each in sentences if each.rstrip().endswith("?")) or " ".join(
        each for each in sentences if not any(numbers_in(each))
    )
    asked = [subject for subject in told if re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", asking)]
    if len(asked) != 1 or not any(told[asked[0]] & told[other] for other in told if other != asked[0]):
        return None
    return asked[0]


def _split(text: str) -> Iterator[str]:
    return (match.group() for match in _SENTENCE.finditer(text))


def _sentences(text: str, step: int | None) -> Iterator[Source]:
    for sentence in _split(text):
        subject = _SUBJECT.match(sentence.partition(":")[2] if "\n" not in sentence and ": " in sentence else sentence)
        yield _source(sentence, step, {subject.group(1): subject.group(2)} if subject else {})


def _records(text: str, step: int) -> Iterator[Source]:
    data = parsed_json(text) if text.lstrip()[:1] in ("{", "[") else None
    if data is None:
        yield from _sentences(text, step)
        return
    stack: list[object] = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, dict):
            plain = {str(key): str(value) for key, value in item.items() if isinstance(value, (str, int, float))}
            names = {value: key for key, value in plain.items() if value[:1].isupper() and len(value) <= 40}
            yield _source(" ; ".join(plain.values()), step, names)
            stack += reversed([value for value in item.values() if isinstance(value, (dict, list))])


def _source(text: str, step: int | None, subjects: Mapping[str, str]) -> Source:
    numbers = tuple(canonical(match.group()).lstrip("-+") for match in numbers_in(text))
    return Source(text.strip(), _words(text), numbers, step, subjects)


def _words(text: str) -> frozenset[str]:
    """Words without case and plural."""
    return frozenset(_singular(word) for word in _WORD.findall(text.casefold()))


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 and word not in _QUALIFIERS else word


@dataclass(frozen=True, slots=True)
class OddRow:
    """A row that does not fit what it is taken from."""

    step: int
    all: tuple[Row, ...]
    """It, and more rows of the step of which the same is true."""
    source: Source | None
    """What it is of; None where nothing is."""
    leads_to_answer: bool

    @property
    def row(self) -> Row:
        """The row that is told."""
        return self.all[0]

    @property
    def others(self) -> int:
        """How many more there are."""
        return len(self.all) - 1


def more_rows(odd: OddRow) -> str:
    """End of a sentence about a row: how many more there are."""
    if odd.others == 1:
        return ", and one more row is wrong"
    return f", and {odd.others} more rows are wrong" if odd.others else ""


def misquoted_rows(run: RunReading) -> Iterator[OddRow]:
    """Rows whose one source has one number, another one than the row, which nothing that was given leads to."""
    for step, rows, sources in _tables(run):
        given = {number for source in sources for number in source.numbers}
        odd: list[tuple[Row, Source]] = []
        if 2 * len(_taken(rows, sources)) < len(rows) and step != run.acts[0]:
            continue  # no copy of what was given: numbers that were worked out
        for row in rows:
            own = [source for source in sources if row.is_of(source)]
            if len(own) != 1 or len(own[0].numbers) != 1 or row.plain in given:
                continue
            if not _follows(row.plain, own[0].numbers[0], given):
                odd.append((row, own[0]))
        if odd:
            yield _odd(run, step, rows, odd)


def unsourced_rows(run: RunReading) -> Iterator[OddRow]:
    """Rows of which nothing that was given has a word or the number, among others that were taken from it."""
    for step, rows, sources in _tables(run):
        given = {number for source in sources for number in source.numbers}
        words = {word for source in sources for word in source.words}
        earlier = {word for before in run.acts if before < step for word in _words(run.steps[before].content[:_READ])}
        odd = [row for row in rows if row.plain not in given and not row.words & (words | earlier)]
        if odd and 2 * len(_taken(rows, sources)) >= len(rows):
            yield _odd(run, step, rows, [(row, None) for row in odd])


def rows_of_others(run: RunReading) -> Iterator[tuple[str, OddRow]]:
    """Rows of another subject than the one that the task asks for, in a table that does not tell them apart."""
    for step, rows, sources in _tables(run):
        asked = asked_subject(run, sources)
        if asked is None:
            continue
        own = [(row, [each for each in sources if row.is_of(each) and row.plain in each.numbers]) for row in rows]
        odd = [
            (row, found[0])
            for row, found in own
            if len(found) == 1 and found[0].subjects and asked not in found[0].text
        ]
        content = run.steps[step].content
        others = {subject for _, source in odd for subject in source.subjects}
        if odd and len(odd) < len(rows) and not any(subject in content for subject in others):
            yield asked, _odd(run, step, rows, odd)


def unlike_sum(run: RunReading) -> Iterator[tuple[int, int, str, Fraction]]:
    """A number that is given as the sum of the rows before it, and is not: its step, theirs, the number, their sum."""
    for step, rows, _ in _tables(run):
        reply = run.next_act(step)
        if reply is None or run.steps[reply].tool_calls or len(run.steps[reply].content) > _LONGEST_ROW:
            continue
        spec = next((each for each in run.trajectory.agents if each.name == run.steps[reply].agent), None)
        told = f"{run.steps[reply].content} {spec.instructions or '' if spec else ''}".casefold()
        stated = [match.group() for match in numbers_in(run.steps[reply].content)]
        if len(stated) != 1 or not _ADDS.search(told):
            continue
        signed = sum((Fraction(canonical(row.number)) for row in rows), Fraction())
        plain = sum((Fraction(row.plain) for row in rows), Fraction())
        if abs(Fraction(canonical(stated[0]))) not in {abs(signed), plain}:
            yield reply, step, stated[0], signed


def record_totals(run: RunReading) -> Iterator[tuple[int, int, str, str, Fraction]]:
    """A total that is given right after an order was read, and is none of its sums.

    Yields:
        The step, the one that read it, the tool, the number as stated, and the sum of lines and fees.
    """
    if _REDUCED.search(run.trajectory.task):
        return
    for step in run.acts:
        reply = run.next_act(step)
        stated = list(_TOTAL.finditer(run.steps[reply].content[:_READ])) if reply is not None else []
        for call in run.steps[step].tool_calls if stated else ():
            order = parsed_json(call.result or "") if (call.result or "")[:1] == "{" else None
            lines, fees = _priced(order)
            if reply is None or not lines or _REDUCED.search(call.result or ""):
                continue
            goods = sum(lines, Fraction())
            total = goods + sum(fees, Fraction())
            allowed = {goods, total, *lines, *fees}
            said = stated[-1].group(1)
            if all(abs(Fraction(canonical(said)) - each) > Fraction(1, 100) for each in allowed):
                yield reply, step, call.name, said, total


def _priced(order: object) -> tuple[list[Fraction], list[Fraction]]:
    """What each line of an order comes to, and its fees; nothing where it has other numbers."""
    if not isinstance(order, dict):
        return [], []
    lists = [value for value in order.values() if isinstance(value, list) and value]
    lines: list[Fraction] = []
    for line in lists[0] if len(lists) == 1 else ():
        numbers = {str(key): value for key, value in line.items() if _is_plain(value)} if isinstance(line, dict) else {}
        counts = [key for key in numbers if _COUNT.search(key)]
        prices = [key for key in numbers if _PRICE.search(key) and key not in counts]
        if len(numbers) != 2 or len(counts) != 1 or len(prices) != 1:
            return [], []
        lines.append(Fraction(str(numbers[counts[0]])) * Fraction(str(numbers[prices[0]])))
    return lines, [Fraction(str(value)) for value in order.values() if _is_plain(value)]


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _taken(rows: Sequence[Row], sources: Sequence[Source]) -> list[Row]:
    """The rows that stand in their source as they are."""
    return [row for row in rows if any(row.is_of(source) and row.plain in source.numbers for source in sources)]


_Table = tuple[int, list[Row], list[Source]]
_known: WeakKeyDictionary[RunReading, list[_Table]] = WeakKeyDictionary()


def _tables(run: RunReading) -> list[_Table]:
    """The first step that writes rows and nothing else with a number, its rows, and their sources; read once."""
    if run not in _known:
        first = next(_written(run), None)  # who copies the first table is not the one to blame
        _known[run] = [] if first is None else [first]
    return _known[run]


def _written(run: RunReading) -> Iterator[_Table]:
    for step in run.acts:
        content = run.steps[step].content
        rows = rows_in(content) if "\n" in content else []
        if rows and not any(numbers_in(_without(content[:_READ], rows))):
            yield step, rows, sources_before(run, step)


def _without(text: str, rows: Sequence[Row]) -> str:
    for row in rows:
        text = text.replace(row.line, "")
    return "\n".join(line for line in text.splitlines() if not _SUMS & set(re.findall(r"\w+", line.casefold())))


def _odd(run: RunReading, step: int, rows: Sequence[Row], odd: Sequence[tuple[Row, Source | None]]) -> OddRow:
    every = tuple(row for row, _ in odd)
    failed = run.trajectory.outcome is RunOutcome.FAILED
    return OddRow(step, every, odd[0][1], failed and _is_used(run, step, rows, every))


def _is_used(run: RunReading, step: int, rows: Sequence[Row], odd: Sequence[Row]) -> bool:
    """Tell whether what follows rests on the odd rows: no later call takes rows without them."""
    later = [passage.raw for each in range(step + 1, len(run.steps)) for passage in run.passages(each, "arguments")]
    taken = [row for row in rows if any(find_value(text, row.plain) >= 0 for text in later)]
    return not taken or any(row in taken for row in odd)


def _follows(number: str, own: str, given: Sequence[str] | set[str]) -> bool:
    """Tell whether a number may be worked out of its source and another number: a share, a multiple, a difference."""
    value, base = Fraction(number), Fraction(own)
    if value and base and max(value / base, base / value) in (10, 12, 60, 100, 1000):
        return True
    if any(value in (base * each, base / each) for each in (2, 3, 12)):
        return True
    for each in map(Fraction, list(given)[:60]):
        results = [base + each, abs(base - each), base * each, base * (100 + each) / 100, base * (100 - each) / 100]
        results += [base * each / 100, *([base / each] if each else [])]
        if any(abs(result - value) <= abs(value) / 200 for result in results):
            return True
    return False
