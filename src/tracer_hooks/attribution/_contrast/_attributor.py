"""The attributor ``contrast``: what did the run do that the passing runs of the same team did not?"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from tracer_hooks.attribution._contrast._comparison import Contrasts
from tracer_hooks.attribution._contrast._divergence import Divergences
from tracer_hooks.attribution._contrast._error_modes import error_mode_of
from tracer_hooks.attribution._contrast._evidence import evidence_for
from tracer_hooks.attribution._contrast._neighbours import neighbours_of
from tracer_hooks.attribution._contrast._options import ContrastOptions
from tracer_hooks.attribution._contrast._run_view import RunView, view_of
from tracer_hooks.attribution._contrast._sources import Runs, source_of
from tracer_hooks.attribution._contrast._spectrum import Spectrum
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._reasons import INCOMPLETE, NO_FAULT
from tracer_hooks.attribution._scores import StepScores
from tracer_hooks.schema import Attribution, Candidate, ErrorMode, RunOutcome, Trajectory

VERSION = 1
NO_COMPARISON = "no passing run to compare with"
"""Why the attributor abstains when it was given no run that the trajectory can be compared with."""
