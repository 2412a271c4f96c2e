"""Public names of version 0.1 that have moved: they keep working for one version, with a DeprecationWarning.

Whole modules are found by a finder in ``sys.meta_path``; single names by the packages that load their names lazily
(:func:`tracer_hooks._lazy.lazy_names`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_GOES = "the old name goes with version 0.3"

_MODULES = {
    "adapters": "tracer_hooks.frameworks",
    "attribution.encoder": "tracer_hooks_models.encoder",
    "attribution.teaching": "tracer_hooks_models.teaching",
    "attribution": "tracer_hooks.diagnosis",
    "faults": "tracer_hooks_lab.faults",
    "feedback": "tracer_hooks.repair",
    "repairs": "tracer_hooks.repair",
    "suites.architectures": "tracer_hooks_lab.teams",
    "suites": "tracer_hooks_lab.suites",
    "training": "tracer_hooks_models.training",
}
MODULES = {f"{__package__}.{former}": home for former, home in _MODULES.items()}
"""Former modules, submodules included, and where their names are now; of two that fit the longer one comes first."""

_LAB_DATASETS = (
    "AuditOptions", "BuildOptions", "BuildPlan", "Check", "DatasetAudit", "DatasetBuilder", "DatasetStats",
    "EXPORT_FORMATS", "ExportFormat", "ExportReport", "HowBuilt", "Subject",
    "audit", "audit_markdown", "audit_tables", "export", "stats", "stats_markdown", "stats_tables",
    "write_card",
)  # fmt: skip
_LAB_MEASURES = (
    "FITTED", "NATURAL", "SHIPPED", "AdaptationReport", "AdaptationRow", "RivalReport", "adaptation",
    "compare_attributors", "held_out_apart", "training_labels",
)  # fmt: skip
_CONTRACT = ("PROMPTS", "SCRIPTS", "TASK", "AdapterContract", "ContractTeams", "NotOfferedError", "Scenario", "lookup")
_LAB_JOBS = ("CalibrateOptions", "Calibration", "JudgeTraining", "TrainedJudge", "build_dataset", "calibrate", "inject")

NAMES = {
    "tracer_hooks": dict.fromkeys(_LAB_JOBS, "tracer_hooks_lab"),
    f"{__package__}.attribution": {
        "EncoderAttributor": "tracer_hooks_models.encoder",
        "PrefillAttributor": "tracer_hooks_models.prefill",
        "PrefillOptions": "tracer_hooks_models.prefill",
    },
    "tracer_hooks.datasets": {
        **dict.fromkeys(_LAB_DATASETS, "tracer_hooks_lab.datasets"),
        "Finding": "tracer_hooks_lab.datasets:AuditFinding",
        "Journal": "tracer_hooks.journal",
        "Progress": "tracer_hooks_lab.datasets:BuildObserver",
        "Stated": "tracer_hooks.datasets:OutcomeOverride",
        "StatedRun": "tracer_hooks.datasets:OverriddenRun",
    },
    f"{__package__}.suites.architectures": {"Said": "tracer_hooks_lab.teams:TeamUtterance"},
    f"{__package__}.faults": {"ChatEndpoint": "tracer_hooks.endpoint:Endpoint"},
    f"{__package__}.repairs": {
        **dict.fromkeys(("Chat", "ask"), "tracer_hooks.endpoint"),
        "Written": "tracer_hooks.endpoint:ChatCompletion",
    },
    "tracer_hooks.replay": {
        "CostCap": "tracer_hooks.budget",
        "Spending": "tracer_hooks.budget",
        "Teller": "tracer_hooks.replay:RepairInjector",
    },
    "tracer_hooks.diagnosis": {"fitted_only": "tracer_hooks_lab"},
    "tracer_hooks.evaluation": {
        **dict.fromkeys(_LAB_MEASURES, "tracer_hooks_lab"),
        "Calibration": "tracer_hooks.evaluation:CalibrationFigures",
        "rivals": "tracer_hooks_lab:compare_attributors",
    },
    "tracer_hooks.telemetry": {
        "ContentGate": "tracer_hooks.telemetry:ContentPolicy",
        "gated_attribution": "tracer_hooks.telemetry:redacted_attribution",
        "gated_trajectory": "tracer_hooks.telemetry:redacted_trajectory",
    },
    "tracer_hooks.testing": dict.fromkeys(_CONTRACT, "tracer_hooks_testing"),
}
"""Former names of packages, and the module that has each now; after a colon its new name."""


def moved_name(package: str, name: str) -> Any:
    """The value of a name that a package of ours had, with a warning at the place that asked for it.

    Raises:
        AttributeError: The package never had it.
        MissingExtraError: The distribution that has it now is not installed.
    """
    home = NAMES.get(package, {}).get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, new_name = home.partition(":")
    value = getattr(_home(module, f"{package}.{name}"), new_name or name)
    _warn(f"{package}.{name}", f"{module}.{new_name or name}", stacklevel=4)
    return value


class _Moved:
    """Finder and loader of a former module of ours, which hands on to where its names are now."""

    def __init__(self, home: str) -> None:
        self._home = home

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """The spec of a former module; None for every other one."""
        for former, home in MODULES.items() if name.startswith("tracer_hooks.") else ():
            if name == former or name.startswith(former + "."):
                loader = cls(home + name[len(former) :])
                return ModuleSpec(name, loader, is_package=True)  # type: ignore[arg-type]  # needs no base class
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        former, home = module.__name__, _home(self._home, module.__name__)

        def load(name: str) -> Any:
            if name in NAMES.get(former, ()):
                return moved_name(former, name)
            value = getattr(home, name)
            if not name.startswith("__") and not isinstance(value, ModuleType):
                _warn(f"{former}.{name}", f"{home.__name__}.{name}", stacklevel=3)
            return value

        vars(module).update(__getattr__=load, __dir__=lambda: dir(home), __doc__=home.__doc__)
        if hasattr(home, "__all__"):
            vars(module).update(__all__=home.__all__)


def install_finder() -> None:
    """Let former modules be imported; at most once a process."""
    if _Moved not in sys.meta_path:
        sys.meta_path.insert(0, _Moved)  # else a folder with nothing but __pycache__ is taken for a package


def _home(home: str, wanted: str) -> ModuleType:
    try:
        return import_module(home)
    except ModuleNotFoundError as error:
        top = home.partition(".")[0]
        if error.name != top:
            raise
        from tracer_hooks.errors import MissingExtraError

        raise MissingExtraError(f"{wanted!r}", f"tracer-hooks[{top.removeprefix('tracer_hooks_')}]") from error


def _warn(former: str, home: str, *, stacklevel: int) -> None:
    warnings.warn(f"{former} has moved to {home}; {_GOES}", DeprecationWarning, stacklevel=stacklevel)
