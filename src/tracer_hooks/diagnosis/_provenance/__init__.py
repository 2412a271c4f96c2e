"""Values followed back: where each comes from, and where the wrong answer departs from what the run was told."""

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link, Origin
from tracer_hooks.diagnosis._provenance._provenance import Provenance, provenance_of

__all__ = ["Departure", "DepartureKind", "Link", "Origin", "Provenance", "provenance_of"]
