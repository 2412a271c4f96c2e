"""The public surface: its names, and what importing it costs."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from tracer_hooks import _moved

NOT_LAZY = (
    "tracer_hooks.evaluation",
    "tracer_hooks.frameworks",
    "tracer_hooks.frameworks.plain",
    "tracer_hooks.schema",
    "tracer_hooks.telemetry",
    "tracer_hooks_lab.teams",
    "tracer_hooks_models.training",
    "tracer_hooks_models.training.data",
)
OF_MODELS = ("encoder", "teaching", "training.contrastive", "training.grpo", "training.rewards", "training.sft")
OTHERS = (
    "tracer_hooks.endpoint",
    "tracer_hooks.evaluation.baselines",
    "tracer_hooks_lab.faults",
    "tracer_hooks_lab.suites",
)
PACKAGES = (*NOT_LAZY, *OTHERS, *(f"tracer_hooks_models.{name}" for name in OF_MODELS))
"""Those whose names ``test_lazy_names.py`` does not load."""
HEAVY = (
    "torch", "transformers", "numpy", "pydantic", "sqlalchemy", "jinja2", "rich", "typer", "opentelemetry.sdk",
    "autogen_agentchat", "autogen_core", "crewai", "langchain", "langchain_core", "langgraph",
)  # fmt: skip


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_unique_and_loads(package: str) -> None:
    if package.endswith(".encoder"):
        pytest.importorskip("torch")
    if package.endswith((".training", ".contrastive", ".grpo", ".sft")):
        pytest.importorskip("trl")
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        getattr(module, name)


HOOKED = "tracer_hooks.hook(lambda task: 'x', expected='y', store='off')('task')"
FRAMEWORKS = tuple(name for name in HEAVY if re.match("torch|transformers|autogen|crewai|lang", name))


@pytest.mark.parametrize(
    ("package", "use", "heavy"),
    [
        ("tracer_hooks", "", HEAVY),
        ("tracer_hooks", HOOKED, FRAMEWORKS),
        ("tracer_hooks.store", "", ("sqlalchemy",)),
        ("tracer_hooks_models.encoder", "", ("torch",)),
    ],
)
def test_importing_and_hooking_load_nothing_heavy(package: str, use: str, heavy: tuple[str, ...]) -> None:
    assert python(f"import sys, {package}\n{use}\nprint([m for m in {heavy!r} if m in sys.modules])") == "[]"


def test_importing_is_fast() -> None:
    code = "import time; t = time.perf_counter(); import tracer_hooks; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(3)) < 0.3


def test_former_modules_warn_and_hand_on() -> None:
    for former, home in _moved.MODULES.items():
        now = importlib.import_module(home)
        before = importlib.import_module(former)
        assert set(before.__all__) == set(now.__all__), former
        for name in now.__all__:
            with pytest.warns(DeprecationWarning, match=rf"{former}\.{name} has moved to {home}\.{name}"):
                assert getattr(before, name) is getattr(now, name)
    with pytest.warns(DeprecationWarning, match=r"tracer_hooks\.frameworks\.plain\.PlainAdapter"):
        from tracer_hooks.adapters.plain import PlainAdapter  # type: ignore[import-not-found]
    assert PlainAdapter is importlib.import_module("tracer_hooks.frameworks.plain").PlainAdapter, "submodules, too"


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in _moved.NAMES.items() for name in names]
)
def test_a_former_name_warns_and_hands_on(package: str, name: str) -> None:
    home, _, new_name = _moved.NAMES[package][name].partition(":")
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} has moved to {home}"):
        value = getattr(importlib.import_module(package), name)
    assert value is getattr(importlib.import_module(home), new_name or name)


WITHOUT_THE_LAB = """
import sys

class Nowhere:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "tracer_hooks_lab":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nowhere)
import tracer_hooks
try:
    USE
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("use", ["tracer_hooks.calibrate", "__import__('tracer_hooks.' + 'suites')"])
def test_a_former_name_of_a_missing_distribution_says_what_to_install(use: str) -> None:
    said = python(WITHOUT_THE_LAB.replace("USE", use))
    assert said.startswith("MissingExtraError")
    assert "/packages/lab'" in said
