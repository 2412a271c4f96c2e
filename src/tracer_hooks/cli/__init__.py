"""The command line: ``tracer-hooks diagnose | runs | improve | ...``."""

from tracer_hooks.cli.app import main

__all__ = ["main"]
