"""Every error that tracer-hooks raises on purpose.

::

    TracerHooksError
    ├── ConfigError              (ValueError)   an option or environment variable has a value we cannot use
    ├── MissingExtraError        (ImportError)  an optional distribution is not installed
    ├── AdapterError                            a team cannot be hooked
    │   ├── AdapterNotFoundError                no adapter knows this kind of object
    │   └── UnsupportedVersionError             the framework's version is outside the adapter's range
    ├── TrajectoryError                         a trajectory, or the file that should hold one, is unusable
    ├── ReplayError                             a recorded run cannot be replayed
    │   ├── TapeMismatchError                   the live run asks for something the tape does not hold
    │   ├── RecordedFailureError                a model call that failed on the tape, failing again
    │   └── CheckError                          a check could not judge a run
    ├── FaultError                              a fault cannot be put into a run
    ├── DatasetError                            a data set cannot be built, audited or exported
    ├── AttributionError                        a diagnosis could not be made
    │   └── OutputParseError                    a judge's reply is not an attribution; ``.raw`` holds the reply
    ├── EndpointError                           a model behind an endpoint gave no answer
    ├── BackendError                            a backend of traces cannot be written or read
    ├── TrainingError                           a training run cannot start or go on
    ├── BudgetSpentError                        a job has cost what it may; what was done is kept
    └── StoreError                              the run store cannot be read or written

A message names the thing with ``!r``, says what was expected, and gives the next command. Errors of the user's own
team are never wrapped in one of these: they reach the caller as they were.
"""

from __future__ import annotations

import pathlib

ADAPTERS = ("autogen", "crewai", "langgraph")
"""Adapters of ours, each a distribution and an extra of the same name."""
_IN_CHECKOUT = {
    **{name: f"/adapters/{name}" for name in ADAPTERS},
    **{name: f"/packages/{name}" for name in ("lab", "models", "testing")},
    **{"suites": "/packages/lab[suites]", "train": "/packages/models[train]", "encoder": "/packages/models"},
}


def install_line(extra: str) -> str:
    """Return the command that installs an extra of ``tracer-hooks``: from the checkout that runs, else by its name."""
    root = pathlib.Path(__file__).resolve().parents[2]
    if not (root / "adapters").is_dir():
        return f"pip install 'tracer-hooks[{extra}]'"
    return f"pip install -e '{root}{_IN_CHECKOUT.get(extra, f'[{extra}]')}'"


class TracerHooksError(Exception):
    """Base of every error in this tree."""


class ConfigError(TracerHooksError, ValueError):
    """An option or environment variable has a value that cannot be used."""


class MissingExtraError(TracerHooksError, ImportError):
    """An optional distribution is needed and not installed.

    Args:
        feature: What the caller wanted.
        requirement: What pip has to install, for example ``"tracer-hooks[crewai]"``.
    """

    def __init__(self, feature: str, requirement: str) -> None:
        extra = requirement.partition("[")[2].rstrip("]")
        line = install_line(extra) if extra else f"pip install '{requirement}'"
        super().__init__(f"{feature} needs {requirement!r}, which is not installed. Run: {line}")
        self.feature = feature
        self.requirement = requirement


class AdapterError(TracerHooksError):
    """A team cannot be hooked."""


class AdapterNotFoundError(AdapterError):
    """No installed adapter recognises the object that should be a team."""


class UnsupportedVersionError(AdapterError):
    """The framework's installed version is outside the range that the adapter was tested with."""


class TrajectoryError(TracerHooksError):
    """A trajectory, or a file that should hold trajectories, cannot be used."""


class ReplayError(TracerHooksError):
    """A recorded run cannot be replayed."""


class TapeMismatchError(ReplayError):
    """A replayed run asked for a reply that the recording does not hold at this place."""


class RecordedFailureError(ReplayError):
    """A model call that failed when the tape was recorded fails again in the replay; the text is the recorded one."""


class CheckError(ReplayError):
    """A check could not judge a run that was made again: it raised, or gave something odd.

    Such a run is neither a success nor a failure, and must be no label; of a hooked run the outcome is then UNKNOWN.
    """


class FaultError(TracerHooksError):
    """A fault cannot be put into a run: its agent or step is not there, or nothing in the reply can be changed."""


class DatasetError(TracerHooksError):
    """A data set cannot be built, audited, exported or written."""


class AttributionError(TracerHooksError):
    """A diagnosis could not be made."""


class OutputParseError(AttributionError):
    """A generative attributor's reply could not be read as an attribution.

    Args:
        message: What was wrong with it.
        raw: The reply as it came.
    """

    def __init__(self, message: str, *, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class EndpointError(TracerHooksError):
    """A language model behind an endpoint gave no answer.

    Args:
        message: Which model at which endpoint, why, and what to do.
        kind: ``unreachable``, ``timeout``, ``key``, ``refused`` or ``odd reply``.
        reason: What the endpoint did, in words that follow its name.
        status: HTTP status of the refusal, if it is one.
    """

    def __init__(self, message: str, *, kind: str, reason: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.status = status


class BackendError(TracerHooksError):
    """A backend of traces, such as Phoenix or MLflow, cannot be written or read; the message holds no key.

    Args:
        message: Which backend, what it did, and what to do.
        kind: ``unreachable``, ``key``, ``missing`` (no such trace), ``refused``, or ``odd``: of another version.
        status: HTTP status of the answer, if there is one.
    """

    def __init__(self, message: str, *, kind: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class TrainingError(TracerHooksError):
    """A training run cannot start or go on."""


class BudgetSpentError(TracerHooksError):
    """The budget of a job is spent; what was done so far is kept, and the same command goes on with a larger budget."""


class StoreError(TracerHooksError):
    """The run store cannot be read or written."""

    is_of_place = False
    """Whether its file or server is at fault, so that the same may succeed later, and not what was asked of it."""
