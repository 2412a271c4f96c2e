"""Backends of traces that `tracer-hooks diagnose` reads failed traces from, and writes diagnoses back to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tracer_hooks._text import counted
from tracer_hooks.cli.console import ProgressDisplay, err
from tracer_hooks.config import CaptureConfig
from tracer_hooks.errors import BackendError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.batch import Diagnosed
    from tracer_hooks.datasets import LoadedRecord
    from tracer_hooks.publishing import Destination
    from tracer_hooks.schema import Attribution, Trajectory
    from tracer_hooks.telemetry import Capture


def is_store(target: str) -> bool:
    """Tell whether a target is the URL of a run store."""
    return target.lower().startswith(("sqlite:", "postgresql:", "postgresql+psycopg:", "postgres:"))


def is_url(target: str) -> bool:
    """Tell whether a target is the URL of a backend, and no path, run or store."""
    return "://" in target and not is_store(target)


@dataclass(kw_only=True)
class BackendRuns:
    """Runs of the projects that URLs name, and where each of them is from."""

    since: datetime | None
    """Only traces that began then or later."""
    limit: int
    """So many traces of each project at most."""
    only_failed: bool
    """Only traces that the backend shows as failed."""
    is_silent: bool
    """Nothing is written back."""
    _origins: dict[str, Destination] = field(default_factory=dict)

    def read(self, url: str) -> Iterator[LoadedRecord]:
        """The runs of the project, newest first; where the backend cannot be read, the reason, and no more of them.

        Raises:
            ConfigError: The URL cannot be used.
        """
        from tracer_hooks.datasets import refused
        from tracer_hooks.publishing import destinations_of, traces_in

        for destination in destinations_of(url):
            is_empty = True
            try:
                for record in traces_in(destination, since=self.since, limit=self.limit, only_failed=self.only_failed):
                    is_empty = False
                    self._origins[record.source] = destination
                    yield record
            except BackendError as error:  # one result, as of a file that cannot be read
                is_empty = False
                yield refused(url, str(error))
            if is_empty:
                hint = "failed trace; --failed reads the others, and says that they failed"
                err().print(f"{destination.title} shows no {hint if self.only_failed else 'trace'}", soft_wrap=True)

    def write_back(self, results: Sequence[Diagnosed], progress: ProgressDisplay) -> bool:
        """Write each diagnosis that says something to its trace, and say how many; False if one cannot be written."""
        from tracer_hooks.telemetry import Capture

        if self.is_silent:
            return True
        capture = Capture(CaptureConfig.from_env())
        problems: list[str] = []
        for destination in dict.fromkeys(self._origins.values()):
            mine = [each.told for each in results if self._origins.get(each.source) == destination]
            told = [each for each in mine if each is not None]
            written = 0
            for trajectory, attribution in told:
                error = _written(destination, trajectory, attribution, capture)
                if error is None:
                    written += 1
                else:
                    problems.append(str(error))
                    if error.kind not in ("missing", "refused"):  # the backend itself: others come to no more
                        break
                progress.update(destination.url, f"writing to {destination.url}", written, len(told))
            said = f"{written} of {counted(len(told), 'diagnosis', 'diagnoses')} written to {destination.title}"
            if not told:
                said = f"nothing is written to {destination.title}: no run is said to have failed, no step is named"
            elif written and capture.export_policy.blocks_all:
                said += ", without texts of the runs; TRACER_HOOKS_CAPTURE=redacted sends what was found, too"
            err().print(said, soft_wrap=True)
        for problem in dict.fromkeys(problems):
            err().print(problem, style="red", soft_wrap=True)
        return not problems


def _written(
    destination: Destination, trajectory: Trajectory, attribution: Attribution, capture: Capture
) -> BackendError | None:
    """None, or why a diagnosis cannot be written."""
    from tracer_hooks.publishing import publish_now

    try:
        publish_now(destination, trajectory, attribution, capture)
    except BackendError as error:
        return error
    return None
