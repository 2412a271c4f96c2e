"""Statistics as tables, for a terminal and for the data card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks.datasets._stats._rate import Rate
from tracer_hooks.datasets._stats._records import UNKNOWN, DatasetStats
from tracer_hooks.datasets._stats._text_table import TextTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_ROWS = 20
_KINDS = {"labeled": "labelled", "clean": "passing"}


def stats_tables(stats: DatasetStats) -> RenderableType:
    """What :func:`rich.print` shows of the statistics."""
    from rich.console import Group

    return Group(*(table.to_rich() for table in _tables(stats)))


def stats_markdown(stats: DatasetStats) -> str:
    """The same tables in markdown, under headings of the third level."""
    return "\n\n".join(table.to_markdown() for table in _tables(stats))


def _tables(stats: DatasetStats) -> list[TextTable]:
    tables = [_overview(stats), _verification(stats), _yields(stats)]
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


def _yields(stats: DatasetStats) -> TextTable:
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
