"""Results on stdout, everything else on stderr, an exit code; consoles that no text of a stranger can steer."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tracer_hooks._text import in_json, on_screen
from tracer_hooks.errors import StoreError, TracerHooksError

if TYPE_CHECKING:  # at run time with the work that is shown
    from rich.progress import ProgressColumn, TaskID

    from tracer_hooks.replay import Trial

# Exit codes, part of the command line's contract.
DONE: Final = 0
"""Everything was done."""
FAILED: Final = 1
"""Some inputs failed; the rest was done."""
USAGE: Final = 2
"""The command was called wrongly."""
MISSING_EXTRA: Final = 3
"""Something is not installed; the message gives the install line."""


_PIPED_WIDTH = 200


class SafeConsole(Console):
    """Prints what it is given and nothing else: no markup, no emoji codes, no control characters.

    Whoever wants a style gives a :class:`rich.text.Text`. What a terminal takes for an order can come from Rich alone.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A plain string as text; cleaned before it is laid out, so that its width is right."""
        return super().render_str(on_screen(text), **{**options, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed, cleaned; those that steer the terminal are Rich's own."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            cleaned = renderable.copy()
            cleaned.plain = on_screen(cleaned.plain)  # one sign for one, so the styles stay where they are
            renderable = cleaned
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(on_screen(segment.text), segment.style)


@functools.cache
def out() -> Console:
    """Return where results go."""
    return SafeConsole()


@functools.cache
def out_wide() -> Console:
    """The same for tables: where nobody watches, as in a pipe, they are not cut to the width of a terminal."""
    return out() if out().is_terminal else SafeConsole(width=_PIPED_WIDTH)


@functools.cache
def err() -> Console:
    """Return where progress, warnings and errors go."""
    return SafeConsole(stderr=True)


def program() -> str:
    """This program as the user can call it from where he is: a demo's environment is seldom on the PATH."""
    called = Path(sys.argv[0])
    found = shutil.which("tracer-hooks")
    if called.name != "tracer-hooks" or not called.is_file() or (found is not None and called.samefile(found)):
        return "tracer-hooks"
    shown = os.path.relpath(called)
    return str(called) if shown.startswith(os.pardir) else shown


def print_json(document: Any) -> None:
    """Print one JSON document; ASCII only, so that no terminal encoding can spoil it."""
    json.dump(document, sys.stdout, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")


def write_result(text: str, path: Path | None, *, again: str) -> None:
    """Write a result to a file, and say so; without a file to stdout."""
    if path is None:
        sys.stdout.write(in_json(text))
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}. Run: {again}") from error
    err().print(f"written: {path}", soft_wrap=True)


@contextmanager
def writing_page(path: Path, *, option: str, kind: type[TracerHooksError] = TracerHooksError) -> Iterator[None]:
    """Say which file could not be written, and what ``option`` expects, in an error of ``kind``."""
    try:
        yield
    except OSError as error:
        raise kind(f"cannot write {str(path)!r}: {error.strerror}; expected a path for {option}") from error


class ProgressDisplay:
    """Base of the displays of progress: columns on a console, lines that stay, start and stop.

    What a user's team prints goes where it went: rich redirects no stream. Without ``columns`` each phase has a bar,
    counts, and the time that is left.
    """

    def __init__(
        self,
        console: Console,
        *columns: ProgressColumn,
        transient: bool = False,
        on_terminals_only: bool = False,
        hidden: bool = False,
    ) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        usual = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(
            *(columns or usual), console=console, transient=transient,
            disable=hidden or (on_terminals_only and not console.is_terminal),
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._phases: dict[str, TaskID] = {}

    def update(self, phase: str, words: str, done: int, total: int | None, **fields: Any) -> None:
        """Say how far a phase is; its first news makes its bar."""
        if phase not in self._phases:
            self._phases[phase] = self._bars.add_task(words, **fields)
        self._bars.update(self._phases[phase], description=words, completed=done, total=total, **fields)

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


class TrialProgress(ProgressDisplay):
    """Counts the runs of the team while they are made, on a terminal."""

    def __init__(self, console: Console, what: str) -> None:
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        super().__init__(console, *columns, transient=True, on_terminals_only=True)
        self._what = what
        self._task = self._bars.add_task(what, total=None)
        self._runs = self._passed = 0

    def trial_ended(self, trial: Trial) -> None:
        """Count one run."""
        self._runs += 1
        self._passed += trial.passed
        said = f"{self._what}: {self._runs} runs, {self._passed} succeeded"
        self._bars.update(self._task, description=said)
