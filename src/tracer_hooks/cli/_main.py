"""The command line's entry point: commands, exit codes, and errors without tracebacks."""

from __future__ import annotations

import io
import logging
import os
import sys

from tracer_hooks._guard import is_strict
from tracer_hooks._safe_text import on_screen
from tracer_hooks.cli._app import app
from tracer_hooks.cli._console import DONE, FAILED, MISSING_EXTRA, USAGE
from tracer_hooks.errors import ConfigError, MissingExtraError, TracerHooksError


def main() -> None:
    """Run the command line; ends the process with 0 done, 1 some inputs failed, 2 usage, 3 missing extra."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    for handler in logging.getLogger().handlers:  # of other libraries' lines, too, which may quote a trace
        handler.setFormatter(_SafeFormatter("%(message)s"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    code = _run()
    try:
        sys.stdout.flush()  # here, since at the end of the process a closed pipe is a message on stderr
    except BrokenPipeError:
        code = _pipe_closed()
    sys.exit(code)


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return on_screen(super().format(record))


def _run() -> int:
    try:
        app()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else DONE if done.code is None else FAILED
    except MissingExtraError as error:
        return _stop(error, MISSING_EXTRA)
    except ConfigError as error:
        return _stop(error, USAGE)
    except TracerHooksError as error:
        return _stop(error, FAILED)
    except Exception as error:
        if is_strict():
            raise
        return _stop(f"{type(error).__name__}: {error}. TRACER_HOOKS_STRICT=1 shows where", FAILED)
    return DONE


def _stop(error: object, code: int) -> int:
    print(on_screen(f"tracer-hooks: {error}"), file=sys.stderr)
    return code


def _pipe_closed() -> int:
    """Let what is left in the buffer go nowhere, instead of failing once more when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILED
