"""The command line: ``tracer-hooks demo | runs | diagnose | doctor``."""

from tracer_hooks.cli._main import main

__all__ = ["main"]
