"""A table of texts that is shown on a terminal or stands in a data card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

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
