"""The public surface: its names, and what importing it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tracer_hooks

PACKAGES = (
    "tracer_hooks",
    "tracer_hooks.adapters",
    "tracer_hooks.adapters.plain",
    "tracer_hooks.attribution",
    "tracer_hooks.datasets",
    "tracer_hooks.evaluation",
    "tracer_hooks.evaluation.baselines",
    "tracer_hooks.feedback",
    "tracer_hooks.report",
    "tracer_hooks.schema",
    "tracer_hooks.store",
    "tracer_hooks.telemetry",
    "tracer_hooks.testing",
)
HEAVY = (
    "torch", "transformers", "numpy", "pydantic", "sqlalchemy", "jinja2", "rich", "typer", "opentelemetry.sdk",
    "autogen_agentchat", "autogen_core", "crewai", "langchain", "langchain_core", "langgraph",
)  # fmt: skip


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_unique_and_loads(package: str) -> None:
    import importlib

    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        getattr(module, name)


def test_all_is_what_type_checkers_see_sorted() -> None:
    source = ast.parse(Path(tracer_hooks.__file__ or "").read_text(encoding="utf-8"))
    (block,) = [node for node in source.body if isinstance(node, ast.If)]
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    public = sorted(seen | {"__version__"})
    assert tracer_hooks.__all__ == public
    assert dir(tracer_hooks) == public


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'tracer_hooks' has no attribute 'nothing'"):
        _ = tracer_hooks.nothing  # type: ignore[attr-defined]


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sys, tracer_hooks; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python(code) == "[]"


def test_hooking_a_function_loads_no_framework_and_no_torch() -> None:
    frameworks = [name for name in HEAVY if name.partition("_")[0] in ("torch", "transformers", "autogen", "crewai")]
    code = (
        "import sys, tracer_hooks\n"
        "tracer_hooks.hook(lambda task: 'x', expected='y', store='off')('task')\n"
        f"print([m for m in {[*frameworks, 'langchain', 'langchain_core', 'langgraph']!r} if m in sys.modules])"
    )
    assert python(code) == "[]"


def test_importing_is_fast() -> None:
    code = "import time; t = time.perf_counter(); import tracer_hooks; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(3)) < 0.3
