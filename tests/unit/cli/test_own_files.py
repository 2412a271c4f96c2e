"""Python files of a user's own, given by their path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tracer_hooks.cli._options import load_object


def test_a_file_that_raises_leaves_a_module_of_its_name_as_it_was(tmp_path: Path) -> None:
    before = sys.modules["json"]
    (tmp_path / "json.py").write_text("1 / 0")
    (tmp_path / "own_team.py").write_text("1 / 0")
    for name in ("json", "own_team"):
        with pytest.raises(Exception, match="division by zero"):
            load_object(f"{tmp_path / name}.py:build", option="--team")
    assert sys.modules["json"] is before
    assert "own_team" not in sys.modules
