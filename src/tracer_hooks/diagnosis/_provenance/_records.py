"""Values set beside each other that no record of the tools has together: the date of another flight, another's id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting
from tracer_hooks.diagnosis._provenance._texts import Texts
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.values import currency_named

_MOST_RECORDS = 4_000
_MOST_CHARS = 40_000

Key = tuple[str, object]


class Records:
    """What the tools returned as JSON objects, field by field."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._fields: list[dict[str, set[Key]]] = []
        self._having: dict[Key, list[int]] = defaultdict(list)
        self._names: dict[Key, set[str]] = defaultdict(set)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing that was returned is a record."""
        return not self._fields

    def add(self, result: str) -> None:
        """Read one result; one that is no JSON holds no records."""
        if len(self._fields) >= _MOST_RECORDS or result[:1] not in "{[" or len(result) > _MOST_CHARS:
            return
        stack = [parsed_json(result)]
        while stack and len(self._fields) < _MOST_RECORDS:
            item = stack.pop()
            if isinstance(item, list):
                stack.extend(item)
            elif isinstance(item, dict):
                self._take(item)
                stack.extend(item.values())

    def _take(self, item: dict[str, object]) -> None:
        fields = {name: keys for name, value in item.items() if (keys := _keys_of(value, self._texts))}
        if len(fields) < 2:
            return
        self._fields.append(fields)
        for name, keys in fields.items():
            for key in keys:
                self._having[key].append(len(self._fields) - 1)
                self._names[key].add(name)

    def conflict(self, value: Key, companion: Key) -> tuple[str, Key] | None:
        """The field under which every record of ``companion`` has another value, where ``value`` stands elsewhere.

        Returns:
            The field's name and what one of the companion's records has there; None when nothing contradicts.
        """
        own = self._having.get(companion, [])
        if not own or set(own) & set(self._having.get(value, [])):
            return None
        for name in sorted(self._names.get(value, ())):
            others = [next(iter(self._fields[place][name])) for place in own if name in self._fields[place]]
            if others and len(set(others)) == 1 and name not in self._names.get(companion, ()):
                return name, others[0]
        return None

    def fields_of(self, value: Key) -> set[str]:
        """Under which names a value was returned."""
        return self._names.get(value, set())


def mixed_up_values(ledger: Ledger) -> Iterator[Departure]:
    """Steps that put a value beside another one whose records all have a different value in its field."""
    records = Records(ledger.texts)
    acts = set(ledger.trace.acts)
    for index in range(len(ledger.trace.steps)):
        for passage in ledger.trace.passages(index, "result"):
            records.add(passage.raw)
        if index not in acts or records.is_empty:
            continue
        for group in _groups(ledger, index):
            found = _conflict_in(records, group)
            if found is None:
                continue
            entry, companion, name, other = found
            agent = ledger.trace.steps[index].agent
            yield Departure(
                kind=DepartureKind.MISCOPIED,
                step=index,
                why=f"{agent!r} puts {entry.value.text.strip()!r} beside {companion.value.text.strip()!r}, "
                f"but the tools returned that one with {_text_of(other, ledger, index)!r} as {name!r}",
                quote=entry.quote,
                value=entry.value.text.strip(),
                strength=0.75,
                is_recorded=True,
            )
            break


def _text_of(key: Key, ledger: Ledger, until: int) -> str:
    """How the first result up to a step that has a value writes it."""
    for index in range(until + 1):
        for passage in ledger.trace.passages(index, "result"):
            for value in ledger.texts.sightings(passage.text):
                if _key_of(value) == key:
                    return value.text.strip()
    return str(key[1])


def _groups(ledger: Ledger, index: int) -> Iterator[list[Entry]]:
    """The values of one line of a reply, or of one object among the arguments of a call."""
    lines: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    for entry in ledger.of_step(index, Place.SAID):
        if entry.passage is not None and _key_of(entry.value) is not None:
            line = entry.passage.text.rfind("\n", 0, entry.value.start)
            lines[id(entry.passage), line].append(entry)
    yield from (group for group in lines.values() if len(group) >= 2)
    by_text: dict[str, Entry] = {}
    for entry in ledger.of_step(index, Place.USED):
        by_text.setdefault(entry.value.text.strip(), entry)
    for call in ledger.trace.steps[index].tool_calls:
        for item in _objects(call.arguments):
            group = [by_text[text] for value in item.values() if (text := str(value)) in by_text]
            if len(group) >= 2:
                yield group


def _objects(value: object) -> Iterator[dict[str, object]]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _conflict_in(records: Records, group: list[Entry]) -> tuple[Entry, Entry, str, Key] | None:
    keyed = [(entry, key) for entry in group if (key := _key_of(entry.value)) is not None]
    for entry, key in keyed:
        names = records.fields_of(key)
        # Two values of one field in a line speak of two things: connecting flights, a date of travel and its return.
        if not names or any(names & records.fields_of(other) for _, other in keyed if other != key):
            continue
        for companion, other in keyed:
            if other == key or companion.value.kind is not Kind.CODE:
                continue
            found = records.conflict(key, other)
            if found is not None:
                return entry, companion, *found
    return None


def _key_of(value: Sighting) -> Key | None:
    if value.kind is Kind.DATE and value.date is not None and value.date.day is not None:
        return "date", (value.date.month, value.date.day)
    if value.kind is Kind.CODE:
        return "code", value.keys[0]
    if value.kind is Kind.NUMBER and value.number is not None and value.is_telling:
        is_money = value.unit is None or currency_named(value.unit) is not None
        return ("number", value.number) if is_money else None
    return None


def _keys_of(value: object, texts: Texts) -> set[Key]:
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return set()
    found = texts.sightings(str(value)[:80])
    return {key for one in found if (key := _key_of(one)) is not None} if len(found) == 1 else set()
