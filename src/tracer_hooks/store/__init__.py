"""The local run store: runs with their trajectories, diagnoses and prompt rewrites in one SQLite file."""

from tracer_hooks.store._location import default_path
from tracer_hooks.store._records import RunSummary, StoredRun
from tracer_hooks.store._run_store import RunStore

__all__ = ["RunStore", "RunSummary", "StoredRun", "default_path"]
