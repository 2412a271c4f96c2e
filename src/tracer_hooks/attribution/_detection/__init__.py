"""Whether a run of unknown outcome failed at all."""

from tracer_hooks.attribution._detection._detector import Detection, FailureDetector, Reason
from tracer_hooks.attribution._detection._sentences import SYMPTOMS
from tracer_hooks.attribution._detection._signals import SIGNALS, findings_of

__all__ = [
    "SIGNALS",
    "SYMPTOMS",
    "Detection",
    "FailureDetector",
    "Reason",
    "findings_of",
]
