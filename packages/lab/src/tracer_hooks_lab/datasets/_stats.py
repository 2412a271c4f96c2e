"""Statistics of a labelled set: contents, yield of its faults, cost; as records and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.extension import count_of, number_of, question_groups, text_of
from tracer_hooks.replay import wilson
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Record

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


class Rate(Record):
    """Share of some trials that succeeded."""

    successes: int = Field(ge=0)
    """Trials that succeeded."""
    trials: int = Field(ge=0)
    """All trials."""
    value: float | None = None
    """The share; None without trials."""
    low: float | None = None
    """Lower end of the 95 % Wilson interval."""
    high: float | None = None
    """Upper end of the 95 % Wilson interval."""


def rate_of(successes: int, trials: int) -> Rate:
    """``successes`` of ``trials`` with its 95 % interval.

    Raises:
        ValueError: There are more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes is {successes!r}, expected between 0 and the {trials!r} trials")
    if trials == 0:
        return Rate(successes=0, trials=0)
    low, high = wilson(successes, trials)
    return Rate(successes=successes, trials=trials, value=successes / trials, low=low, high=high)


UNKNOWN = "-"
"""Stands for a value that is not recorded."""


class Summary(Record):
    """Distribution of some numbers."""

    count: int
    """How many there are."""
    mean: float
    """Their mean."""
    median: float
    """The middle one."""
    low: float
    """The smallest."""
    high: float
    """The largest."""


class Yield(Record):
    """Number of attempts to inject one kind of fault that became labelled runs."""

    mode: str
    """The error mode's code; ``-`` for faults without one, such as those of tools."""
    strategy: str
    """How the fault was put in."""
    verified: Rate
    """Verified faults among the attempted ones."""


class BuildCost(Record):
    """Cost of a labelled run, the discarded attempts included where they recorded it."""

    runs: float | None = None
    """Runs of a team; None when not recorded."""
    tokens: float | None = None
    """Tokens read and written; None when not recorded."""
    seconds: float | None = None
    """Seconds; None when not recorded."""


class DatasetStats(Record):
    """Contents of a labelled set, in figures."""

    labeled: int
    """Labelled runs."""
    clean: int
    """Passing runs."""
    discarded: int
    """Attempts that gave no label."""
    pairs: int
    """Labelled runs with a passing run beside them."""
    questions: int
    """Different questions, those of the passing runs included."""
    counts: dict[str, dict[str, int]]
    """How many labelled runs have each value, most frequent first: ``label source``, ``framework``, ``architecture``,
    ``suite``, ``mode``, ``strategy``, ``kind``, ``writer``, ``agent``, ``step`` (its index), ``position`` (in fifths
    of the run), and ``reason`` of the discarded attempts. A value that is not recorded counts as ``-``."""
    lengths: dict[str, Summary]
    """Steps of a run: ``labeled`` and ``clean``; a kind that has no runs is not there."""
    yields: tuple[Yield, ...]
    """Verified injections by mode and strategy; discarded attempts without a strategy were no injections, and are in
    ``counts["reason"]`` only."""
    injection_yield: Rate
    """Verified injections among all of ``yields``."""
    verified_failures: Rate
    """Runs with the fault in place that failed, over the labelled runs."""
    control_passes: Rate
    """Runs without the fault that passed, over the labelled runs."""
    flips: Rate
    """Replays with a correction that passed, over the runs labelled by counterfactual replay."""
    control_flips: Rate
    """Replays without a correction that passed."""
    random_flips: Rate
    """Replays with a correction at a random other step that passed."""
    cost: BuildCost
    """Cost of one labelled run."""


_FIFTHS = 5


def stats(dataset: LabeledSet) -> DatasetStats:
    """Count what ``dataset`` holds. Keys that ``verification`` lacks count as unknown, never as zero trials failed."""
    labeled = dataset.labeled
    yields = _yields(dataset)
    return DatasetStats(
        labeled=len(labeled),
        clean=len(dataset.clean),
        discarded=len(dataset.discarded),
        pairs=len(dataset.pairs()),
        questions=len(set(question_groups([*labeled, *dataset.clean]))),
        counts=_counts(dataset),
        lengths={
            kind: _summary([len(item.trajectory.steps) for item in items])
            for kind, items in (("labeled", labeled), ("clean", dataset.clean))
            if items
        },
        yields=yields,
        injection_yield=rate_of(
            sum(one.verified.successes for one in yields), sum(one.verified.trials for one in yields)
        ),
        verified_failures=_rate(labeled, "faulty_failures", "faulty_runs"),
        control_passes=_rate(labeled, "control_passes", "control_runs"),
        flips=_rate(labeled, "flips", "trials"),
        control_flips=_rate(labeled, "control_flips", "controls"),
        random_flips=_rate(labeled, "random_flips", "random_trials"),
        cost=_cost(dataset),
    )


def _counts(dataset: LabeledSet) -> dict[str, dict[str, int]]:
    labeled = dataset.labeled
    keys = ("architecture", "suite", "strategy", "kind", "writer")
    values: dict[str, Iterable[str]] = {
        "label source": (item.label_source.value for item in labeled),
        "framework": (item.trajectory.framework for item in labeled),
        **{key: [text_of(item.verification, key) or UNKNOWN for item in labeled] for key in keys},
        "mode": (mode for item in labeled for mode in _modes(item)),
        "agent": (agent for item in labeled for agent in _agents(item)),
    }
    counts = {name: dict(Counter(found).most_common()) for name, found in values.items()}
    steps = Counter(item.decisive.step for item in labeled if item.decisive is not None)
    counts["step"] = {str(step): steps[step] for step in sorted(steps)}
    fifths = Counter(fifth for item in labeled if (fifth := _fifth(item)) is not None)
    counts["position"] = {f"{k / _FIFTHS:.0%} to {(k + 1) / _FIFTHS:.0%}": fifths[k] for k in range(_FIFTHS)}
    reasons = (text_of(one, "reason") or UNKNOWN for one in dataset.discarded)
    return {**counts, "reason": dict(Counter(reasons).most_common())}


def _modes(item: LabeledTrajectory) -> list[str]:
    modes = [fault.error_mode for fault in item.faults]
    if item.decisive is not None:
        modes = [item.decisive.error_mode]
    return list(dict.fromkeys(UNKNOWN if mode is None else mode.value for mode in modes))


def _agents(item: LabeledTrajectory) -> list[str]:
    if item.decisive is not None:
        return [item.decisive.agent]
    return list(dict.fromkeys(fault.agent for fault in item.faults))


def _fifth(item: LabeledTrajectory) -> int | None:
    length = len(item.trajectory.steps)
    if item.decisive is None or item.decisive.step >= length:
        return None
    return item.decisive.step * _FIFTHS // length


def _summary(numbers: Sequence[int]) -> Summary:
    return Summary(
        count=len(numbers),
        mean=float(np.mean(numbers)),
        median=float(np.median(numbers)),
        low=min(numbers),
        high=max(numbers),
    )


def _yields(dataset: LabeledSet) -> tuple[Yield, ...]:
    verified: Counter[tuple[str, str]] = Counter()
    for item in dataset.labeled:
        if item.label_source is LabelSource.INJECTED:
            verified[(_modes(item)[0], text_of(item.verification, "strategy") or UNKNOWN)] += 1
    attempted = verified.copy()
    for one in dataset.discarded:
        strategy = text_of(one, "strategy")
        if strategy is not None:
            attempted[(text_of(one, "mode") or UNKNOWN, strategy)] += 1
    return tuple(
        Yield(mode=mode, strategy=strategy, verified=rate_of(verified[mode, strategy], attempted[mode, strategy]))
        for mode, strategy in sorted(attempted)
    )


def _rate(items: Iterable[LabeledTrajectory], above: str, below: str) -> Rate:
    """Only items that have both counts, and whose counts can be true."""
    known = [
        (count_of(item.verification, above), count_of(item.verification, below))
        for item in items
        if number_of(item.verification, above) is not None and number_of(item.verification, below) is not None
    ]
    possible = [(some, all_) for some, all_ in known if 0 <= some <= all_]
    return rate_of(sum(some for some, _ in possible), sum(all_ for _, all_ in possible))


def _cost(dataset: LabeledSet) -> BuildCost:
    sources: list[Mapping[str, Any]] = [item.verification for item in dataset.labeled]
    sources += dataset.discarded

    def each(key: str) -> float | None:
        numbers = [number for one in sources if (number := number_of(one, key)) is not None]
        return sum(numbers) / len(dataset.labeled) if numbers and dataset.labeled else None

    return BuildCost(runs=each("runs"), tokens=each("tokens"), seconds=each("seconds"))


_LEAST_WIDTH = 16


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of texts under a title; all columns but the first are set to the right unless they are words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[str] = frozenset()
    """Columns that hold words and not figures."""

    def to_rich(self) -> Table:
        """The table for a terminal; texts are shown as they are, never read as markup."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self.title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True)
        for position, name in enumerate(self.columns):
            if self._is_words(position):
                widest = max((len(row[position]) for row in self.rows), default=0)
                table.add_column(Text(name), min_width=min(widest, _LEAST_WIDTH), overflow="fold")
            else:
                table.add_column(Text(name), justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return table

    def to_markdown(self, *, heading: str = "###") -> str:
        """The table as GitHub-flavoured markdown below its title."""
        rules = ["---" if self._is_words(position) else "---:" for position in range(len(self.columns))]
        rows = [_line(self.columns), "|" + "|".join(rules) + "|", *(_line(row) for row in self.rows)]
        return f"{heading} {self.title}\n\n" + "\n".join(rows)

    def _is_words(self, position: int) -> bool:
        return position == 0 or self.columns[position] in self.words


def _line(cells: tuple[str, ...]) -> str:
    shown = (" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(shown)} |"


_MOST_ROWS = 20
_KINDS = {"labeled": "labelled", "clean": "passing"}


def stats_tables(stats: DatasetStats) -> RenderableType:
    """Return the statistics as tables for :func:`rich.print`."""
    from rich.console import Group

    return Group(*(table.to_rich() for table in _tables(stats)))


def stats_markdown(stats: DatasetStats) -> str:
    """The same tables in markdown, under headings of the third level."""
    return "\n\n".join(table.to_markdown() for table in _tables(stats))


def _tables(stats: DatasetStats) -> list[TextTable]:
    tables = [_overview(stats), _verification(stats), _yield_rows(stats)]
    tables += [
        _composition(name, found)
        for name, found in stats.counts.items()
        if any(found.values()) and found.keys() != {UNKNOWN}
    ]
    return [table for table in tables if table.rows]


def _overview(stats: DatasetStats) -> TextTable:
    rows = [
        ("labelled runs", f"{stats.labeled:,}"),
        ("passing runs", f"{stats.clean:,}"),
        ("pairs", f"{stats.pairs:,}"),
        ("questions", f"{stats.questions:,}"),
        ("discarded attempts", f"{stats.discarded:,}"),
    ]
    for kind, one in stats.lengths.items():
        name = _KINDS[kind]
        rows.append(
            (f"steps of a {name} run", f"mean {one.mean:.1f}, median {one.median:g}, {one.low:g} to {one.high:g}")
        )
    cost = {"team runs": stats.cost.runs, "tokens": stats.cost.tokens, "seconds": stats.cost.seconds}
    rows += [(f"{name} for one labelled run", f"{value:,.1f}") for name, value in cost.items() if value is not None]
    return TextTable("Overview", ("what", "value"), tuple(rows))


def _verification(stats: DatasetStats) -> TextTable:
    rates = {
        "verified injections among the attempted": stats.injection_yield,
        "runs with the fault that failed": stats.verified_failures,
        "runs without the fault that passed": stats.control_passes,
        "replays with the correction that passed": stats.flips,
        "replays without a correction that passed": stats.control_flips,
        "replays with a correction at a random step that passed": stats.random_flips,
    }
    rows = tuple((name, _count(rate), _percent(rate)) for name, rate in rates.items() if rate.trials)
    return TextTable("Verification", ("what", "count", "per cent [95 %]"), rows)


def _yield_rows(stats: DatasetStats) -> TextTable:
    rows = tuple((one.mode, one.strategy, _count(one.verified), _percent(one.verified)) for one in stats.yields)
    columns = ("mode", "strategy", "verified", "per cent [95 %]")
    return TextTable("Injection yield", columns, rows, words=frozenset({"strategy"}))


def _composition(name: str, found: dict[str, int]) -> TextTable:
    total, shown = sum(found.values()), list(found.items())[:_MOST_ROWS]
    rows = [(value, f"{count:,}", f"{count / total:.1%}") for value, count in shown]
    if len(found) > _MOST_ROWS:
        rest = sum(list(found.values())[_MOST_ROWS:])
        rows.append((f"{len(found) - _MOST_ROWS} more", f"{rest:,}", f"{rest / total:.1%}"))
    title = "Discarded attempts by reason" if name == "reason" else f"Labelled runs by {name}"
    return TextTable(title, (name, "count", "share"), tuple(rows))


def _count(rate: Rate) -> str:
    return f"{rate.successes:,} / {rate.trials:,}"


def _percent(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "-"
    return f"{100 * rate.value:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
