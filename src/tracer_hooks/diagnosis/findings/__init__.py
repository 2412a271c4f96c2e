"""Findings: what can be proved of a run, whoever is to blame. Each kind is a file with its definition and its rules."""

from tracer_hooks.diagnosis.findings._find import KINDS, find_in, kind_of, proving
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding

__all__ = ["KINDS", "KindOfFinding", "find_in", "finding", "kind_of", "proving"]
