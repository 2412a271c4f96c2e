"""Runs counted by team, outcome and day: sums, and the bars of charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import RunOutcome

if TYPE_CHECKING:
    from tracer_hooks.store import RunCount, RunStore

_LEAST_DAYS, _DAYS, _MOST_DAYS = 14, 30, 92
"""Days of a chart: at least, where no beginning is asked for, and at most."""
Bars = Sequence[tuple[str, float, int]]
"""Label, value, and how much of it failed."""


class TokenPrices(NamedTuple):
    """Prices of a million tokens that are read, and that are written."""

    read: float
    written: float


class _Asked(TypedDict):
    team: str | None
    since: datetime | None
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """The runs that pages are about."""

    team: str | None = None
    """Only this team's."""
    outcome: RunOutcome | None = None
    """Only those that ended so; it does not matter to what is counted."""
    since: datetime | None = None
    """Only those that began at or after this moment."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Only those with all of these tags."""

    @property
    def asked(self) -> _Asked:
        """The same for the store, without the outcome."""
        return {"team": self.team, "since": self.since, "tags": self.tags}

    @property
    def words(self) -> tuple[str, ...]:
        """The same for people, without the outcome."""
        said = [] if self.team is None else [f"team {self.team or 'without a name'}"]
        said += [] if self.since is None else [f"since {self.since.astimezone(UTC):%Y-%m-%d %H:%M}"]
        return tuple(one_line(word, 120) for word in (*said, *map("=".join, self.tags.items())))

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of a command, without the outcome; the beginning as its day."""
        told = [] if self.team is None else ["--team", self.team]
        told += [] if self.since is None else ["--since", str(self.since.astimezone(UTC).date())]
        return (*told, *(word for tag in self.tags.items() for word in ("--tag", "=".join(tag))))


@dataclass(frozen=True)
class RunTable:
    """Runs counted by team, outcome and day."""

    first: date
    """The day that charts begin with."""
    last: date
    """The day that they end with."""
    counts: tuple[RunCount, ...] = ()
    """What was counted; runs before the first day have no day."""
    prices: TokenPrices | None = None
    """What tokens cost; None where tokens are counted."""

    @classmethod
    def of(cls, store: RunStore, chosen: RunFilter) -> RunTable:
        """Count the runs of ``store``, whatever their outcome."""
        now = datetime.now(UTC)
        newest = store.newest(**chosen.asked) if store.exists() else None
        if newest is None:
            return cls(now.date(), now.date())
        last, days = min(newest, now).date(), _DAYS  # a clock that was wrong must not make the charts empty
        if chosen.since is not None:
            days = max(1, min((last - chosen.since.astimezone(UTC).date()).days + 1, _MOST_DAYS))
        first = last - timedelta(days=days - 1)
        # The day after the last has what a wrong clock put later.
        counts = store.counts(**chosen.asked, days=[first + timedelta(days=number) for number in range(days + 1)])
        oldest = min((count.day or first for count in counts), default=first)
        return cls(max(first, min(oldest, last - timedelta(days=_LEAST_DAYS - 1))), last, counts)

    @property
    def teams(self) -> dict[str, RunTable]:
        """The same for each team, the one with the most runs first."""
        counts: dict[str, list[RunCount]] = defaultdict(list)
        for count in self.counts:
            counts[count.team].append(count)
        found = {team: replace(self, counts=tuple(own)) for team, own in counts.items()}
        return dict(sorted(found.items(), key=lambda each: (-each[1].runs(), each[0])))

    def runs(self, outcome: RunOutcome | None = None) -> int:
        """How many runs there are."""
        return sum(count.runs for count in self.counts if outcome in (None, count.outcome))

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return self.runs(RunOutcome.FAILED)

    @property
    def uncharted(self) -> int:
        """How many are on no day of the charts."""
        return self.runs() - sum(own.runs() for own in self._by_day().values())

    @property
    def spent(self) -> str:
        """What they cost where prices are known, else their tokens; empty where no run reports any."""
        spent = _spent(self.counts, self.prices)
        return "" if not spent else short_number(int(spent)) if self.prices is None else f"{spent:,.2f}"

    def run_bars(self) -> Bars:
        """Runs of each day."""
        return [(str(day), own.runs(), own.failed) for day, own in self._by_day().items()]

    def spent_bars(self) -> Bars:
        """Cost or tokens of each day."""
        return [(str(day), round(_spent(own.counts, self.prices), 4), 0) for day, own in self._by_day().items()]

    def _by_day(self) -> dict[date, RunTable]:
        every = range((self.last - self.first).days + 1)
        days: dict[date | None, list[RunCount]] = {self.first + timedelta(days=number): [] for number in every}
        for count in self.counts:
            days.get(count.day, []).append(count)
        return {day: replace(self, counts=tuple(own)) for day, own in days.items() if day is not None}


def _spent(counts: Iterable[RunCount], prices: TokenPrices | None) -> float:
    read, written = (1.0, 1.0) if prices is None else (prices.read / 1e6, prices.written / 1e6)
    return sum(count.input_tokens * read + count.output_tokens * written for count in counts)


def short_number(count: int) -> str:
    """``"912"``, ``"41 k"``, ``"3.4 M"``."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:,.0f} {unit}" if count >= 100 * size else f"{count / size:.2g} {unit}"
    return str(count)
