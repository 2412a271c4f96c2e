"""Version of the tracer-hooks distributions; the three adapters are released in lockstep with it."""

__version__ = "0.1.0"
