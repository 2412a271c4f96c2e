"""Runs to compare with, out of files."""

from pathlib import Path

import pytest

from tracer_hooks.diagnosis.contrast import ContrastAttributor, RunSource
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.runtime._diagnose import FiledRuns
from tracer_hooks.schema import save_jsonl, to_json

from ._runs import PASSED, failed, passed

WRONG = [(agent, text.replace("204", "214")) for agent, text in PASSED]


def ids(runs):
    return [one.run_id for one in runs]


def test_runs_of_a_folder_with_a_broken_file_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_jsonl(tmp_path / "good.jsonl", passed(2))
    (tmp_path / "bad.json").write_text("{")
    source = FiledRuns(tmp_path)
    assert isinstance(source, RunSource)
    assert ids(source.runs_like(failed(WRONG))) == ["passed-0", "passed-1"]
    assert "bad.json" in caplog.text
    assert ids(FiledRuns(tmp_path, limit=1).runs_like(failed(WRONG))) == ["passed-0"]


def test_files_are_read_once(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(to_json(passed(1)[0]))
    source = FiledRuns(file)
    first = source.runs_like(failed(WRONG))
    file.unlink()
    assert source.runs_like(failed(WRONG)) == first


def test_a_folder_without_runs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"no run to compare with.*tracer-hooks runs export"):
        FiledRuns(tmp_path).runs_like(failed(WRONG))


def test_the_attributor_takes_a_file(tmp_path: Path) -> None:
    save_jsonl(tmp_path / "good.jsonl", passed(2))
    attributor = ContrastAttributor(passing=FiledRuns(tmp_path / "good.jsonl"))
    assert attributor.attribute(failed(WRONG)).step == 1
    assert ContrastAttributor().score(failed(WRONG)) is None
