"""A display of progress that starts and stops with a block, and what goes on around it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TaskID
from rich.text import Text


class ProgressDisplay:
    """What the displays of progress share: columns on a console, lines that stay, start and stop.

    What a user's team prints goes where it went: rich redirects no stream.

    Args:
        console: Where to.
        columns: What a bar shows.
        transient: Nothing of the bars stays.
        on_terminals_only: No bars where the console is none.
    """

    def __init__(
        self, console: Console, *columns: ProgressColumn, transient: bool = False, on_terminals_only: bool = False
    ) -> None:
        self._bars = Progress(
            *columns, console=console, transient=transient, disable=on_terminals_only and not console.is_terminal,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip

        self._phases: dict[str, TaskID] = {}

    def update(self, phase: str, words: str, done: int, total: int | None) -> None:
        """Say how far a phase is; its first news makes its bar."""
        if phase not in self._phases:
            self._phases[phase] = self._bars.add_task(words)
        self._bars.update(self._phases[phase], description=words, completed=done, total=total)

    def say(self, line: str | Text) -> None:
        """Print a line that stays."""
        self._bars.console.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()
