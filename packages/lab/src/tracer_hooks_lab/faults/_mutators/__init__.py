"""The programmatic mutators, some for each of the 14 error modes; importing this package registers them."""

from tracer_hooks_lab.faults._mutators import (
    _checking,
    _clarification,
    _derailment,
    _history,
    _ignored_input,
    _mismatch,
    _repetition,
    _role,
    _task_specification,
    _termination,
    _withholding,
)

__all__ = [
    "_checking",
    "_clarification",
    "_derailment",
    "_history",
    "_ignored_input",
    "_mismatch",
    "_repetition",
    "_role",
    "_task_specification",
    "_termination",
    "_withholding",
]
