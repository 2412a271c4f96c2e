"""Values against what the tools returned: set beside another one's, echoed otherwise, or returned by no tool at all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place, order_of
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, Texts, days_between
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.schema import ToolCall
from tracer_hooks.values import currency_named

_MOST_RECORDS = 4_000
_MOST_CHARS = 40_000

Key = tuple[str, object]


class Records:
    """The JSON objects that tools returned, field by field."""

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
        for item in _objects(parsed_json(result)):
            if len(self._fields) < _MOST_RECORDS:
                self._take(item)

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
        """The names under which a value was returned."""
        return self._names.get(value, set())


def mixed_up_values(ledger: Ledger) -> Iterator[Departure]:
    """Steps that put a value beside another one whose records all have a different value in its field."""
    records = Records(ledger.texts)
    acts = set(ledger.run.acts)
    for index in range(len(ledger.run.steps)):
        for passage in ledger.run.passages(index, "result"):
            records.add(passage.raw)
        if index not in acts or records.is_empty:
            continue
        for group in _groups(ledger, index):
            found = _conflict_in(records, group)
            if found is None:
                continue
            entry, companion, name, other = found
            agent = ledger.run.steps[index].agent
            yield Departure(
                kind=DepartureKind.MISCOPIED,
                step=index,
                why=f"{agent!r} puts {entry.text!r} beside {companion.text!r}, "
                f"but the tools returned that one with {_text_of(other, ledger, index)!r} as {name!r}",
                quote=entry.quote,
                value=entry.text,
                strength=0.75,
                is_recorded=True,
            )
            break


def _text_of(key: Key, ledger: Ledger, until: int) -> str:
    """Find how the first result up to a step that has a value writes it."""
    for index in range(until + 1):
        for passage in ledger.run.passages(index, "result"):
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
        by_text.setdefault(entry.text, entry)
    for call in ledger.run.steps[index].tool_calls:
        for item in _objects(call.arguments):
            group = [by_text[text] for value in item.values() if (text := str(value)) in by_text]
            if len(group) >= 2:
                yield group


def _objects(value: object) -> Iterator[dict[str, object]]:
    """Every object in a JSON value, the outer ones first."""
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
    return {key for each in found if (key := _key_of(each)) is not None} if len(found) == 1 else set()


_MOST_REPLY_CHARS = 20_000
_MOST_LEAVES = 60
_OWN_KEYS = frozenset({"message", "messages", "response", "result"})
"""Keys under which a reply speaks of itself, whatever the argument of that name was."""
_DONE = re.compile(
    r"ok(?:ay)?|done|true|success(?:ful(?:ly)?)?|succeeded|complete[d]?|accepted|pending|queued|sent|saved|created"
    r"|updated|deleted|booked|confirmed|error|failed|failure|not[ _]found|rejected|denied|invalid",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def contradicted_calls(run: RunReading) -> Iterator[Departure]:
    """Calls whose reply is a record with another value under the argument's own key, or without one that it echoes."""
    for index in run.acts:
        step = run.steps[index]
        for call in step.tool_calls:
            found = _contradiction(call)
            if found is not None:
                value, ending = found
                yield Departure(
                    kind=DepartureKind.MISREAD,
                    step=index,
                    why=f"{step.agent!r} passes {value!r} to {call.name!r}, whose reply {ending}",
                    quote=value,
                    value=value,
                    strength=0.9,
                    is_recorded=True,
                )


def _contradiction(call: ToolCall) -> tuple[str, str] | None:
    if not isinstance(call.arguments, dict) or not call.result or len(call.result) > _MOST_REPLY_CHARS:
        return None
    reply = parsed_json(call.result)
    if not isinstance(reply, dict):
        return None
    for key, value in call.arguments.items():
        other = reply.get(key)
        if isinstance(value, str) and isinstance(other, str) and key not in _OWN_KEYS and _is_another(value, other):
            return value, f"has {other!r} as {key!r}"
    if any(one != other and str(other).endswith(str(one)) for one in call.arguments for other in call.arguments):
        return None  # "item_ids" and "new_item_ids": the reply has the new ones
    leaves = [leaf for leaf in _leaves(call.arguments) if len(leaf) > 3]
    echoed = [leaf for leaf in leaves if leaf in call.result]
    missing = [leaf for leaf in leaves if leaf not in call.result and any(char.isdigit() for char in leaf)]
    if len(missing) == 1 and len(leaves) >= 3 and len(echoed) == len(leaves) - 1:
        return missing[0], "repeats all of the call but this"
    return None


def _is_another(value: str, other: str) -> bool:
    """Tell whether a reply names something else, rather than the same in longer form, or that the call was done."""
    asked, given = _WORD.findall(value.casefold()), _WORD.findall(other.casefold())
    if not asked or not given or _DONE.fullmatch(other.strip(" .!")) is not None:
        return False
    is_longer = set(asked) <= set(given) or set(given) <= set(asked)
    return not is_longer and "".join(asked) != "".join(given)


def _leaves(value: object) -> list[str]:
    stack: list[object] = [value]
    found: list[str] = []
    while stack and len(found) < _MOST_LEAVES:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str):
            found.append(item)
    return found


_EXAMPLE = re.compile(
    r"(?:\be\.?g\b|\bfor example|\bsuch as|\blike\b|\bformat|\bexample)[^.!?\n]{0,60}$", re.IGNORECASE
)
_MOST_SHARE = 0.15
"""Share of a run's values up to which they may come from nowhere: else it was not recorded whole."""


def unsupported_values(ledger: Ledger) -> Iterator[Departure]:
    """The steps that bring in a date or an id that no tool returned and nobody said.

    Only where tools returned values of that kind before, and only in runs where such values are rare.
    """
    if ledger.is_cut:
        return
    shown: dict[Kind, int] = {}
    for entry in ledger.entries:
        if entry.place is Place.SHOWN:
            shown.setdefault(entry.value.kind, entry.step)
    asserted = [
        entry
        for entry in ledger.entries
        if entry.place in (Place.USED, Place.SAID)
        and entry.value.kind in (Kind.CODE, Kind.DATE)
        and entry.step > shown.get(entry.value.kind, entry.step)
    ]
    lone: list[Entry] = []
    for entry in asserted:
        if _is_unsupported(ledger, entry):
            lone.append(entry)
            if len(lone) > max(1.0, _MOST_SHARE * len(asserted)):
                return
    first = {entry.step: entry for entry in reversed(lone)}
    for entry in sorted(first.values(), key=order_of):
        agent, text = ledger.run.steps[entry.step].agent, entry.text
        act = f"passes {text!r} to {entry.tool!r}" if entry.place is Place.USED and entry.tool else f"says {text!r}"
        yield Departure(
            kind=DepartureKind.UNSUPPORTED,
            step=entry.step,
            why=f"{agent!r} {act}; nobody said it before, and no tool returned it",
            quote=entry.quote,
            value=text,
            strength=0.75,
            is_recorded=True,
        )


def _is_unsupported(ledger: Ledger, entry: Entry) -> bool:
    if ledger.is_known(entry.value, entry.step, entry.place):
        return False
    if any(ledger.run.locate(step, entry.text) for step in range(entry.step)):
        return False  # in a part of a long text of which the values are not read
    if _EXAMPLE.search(_before(entry)):
        return False
    if entry.value.kind is Kind.DATE:
        # The day before or after a known one: what "tomorrow" and a search around a date come to.
        return not any(days_between(each.value, entry.value) == 1 for each in ledger.dates_before(entry.step))
    folded = str(entry.value.keys[0])
    digits = re.sub(r"\D", "", folded)
    is_part = ledger.has_within(folded, entry.step) or (len(digits) > 4 and ledger.has_within(digits, entry.step))
    return not is_part


def _before(entry: Entry) -> str:
    return entry.passage.text[max(0, entry.value.start - 80) : entry.value.start] if entry.passage is not None else ""
