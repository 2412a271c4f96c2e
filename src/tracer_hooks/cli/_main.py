"""The command line's entry point: commands, exit codes, and errors without tracebacks."""

from __future__ import annotations

import logging
import sys

from tracer_hooks.cli._app import app
from tracer_hooks.cli._exit import FAILED, MISSING_EXTRA, USAGE
from tracer_hooks.errors import ConfigError, MissingExtraError, TracerHooksError


def main() -> None:
    """Run the command line; ends the process with 0 done, 1 some inputs failed, 2 usage, 3 missing extra."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    try:
        app()
    except MissingExtraError as error:
        _stop(error, MISSING_EXTRA)
    except ConfigError as error:
        _stop(error, USAGE)
    except TracerHooksError as error:
        _stop(error, FAILED)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)


def _stop(error: Exception, code: int) -> None:
    print(f"tracer-hooks: {error}", file=sys.stderr)
    sys.exit(code)
