"""The journal of a build: nothing lost, nothing doubled, whatever ends the process."""

import errno
import os
from pathlib import Path

import pytest

from tracer_hooks.errors import DatasetError
from tracer_hooks.journal import LOCK, Journal


def test_what_is_added_is_there_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new" / "folder")
    journal.add("run/a", {"text": "ünï\ncode \u2028"})
    journal.add("fault/b", {"n": 1})
    again = Journal(tmp_path / "new" / "folder")
    assert "run/a" in again
    assert again["run/a"]["text"] == "ünï\ncode \u2028"
    assert [result["unit"] for result in again.results("fault/")] == ["fault/b"]
    again.add("fault/b", {"n": 2})
    assert (len(again), again["fault/b"]["n"], again.path.read_text().count("\n")) == (2, 1, 2), "never there twice"


def test_half_a_last_line_is_removed_and_its_unit_done_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {"n": 1})
    journal.add("b", {"n": 2})
    whole = journal.path.read_bytes()
    for cut in (1, 5, 18):
        journal.path.write_bytes(whole[:-cut])
        again = Journal(tmp_path)
        assert "a" in again
        assert "b" not in again
        again.add("b", {"n": 2})
        assert journal.path.read_bytes() == whole


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {})
    journal.add("b", {})
    lines = journal.path.read_text().splitlines()
    journal.path.write_text(f"{lines[0][:-3]}\n{lines[1]}\n")
    with pytest.raises(DatasetError, match=r"line 1 of .*journal.jsonl' is damaged"):
        Journal(tmp_path)


def test_a_unit_that_was_broken_off_is_done_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {"again": "the model was gone"})
    assert "a" in journal  # not again in this session
    again = Journal(tmp_path)
    assert "a" not in again
    again.add("a", {"n": 1})
    assert Journal(tmp_path)["a"]["n"] == 1


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)
    journal.add("a", {"n": 1})
    before = journal.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DatasetError, match=r"No space left on device.*make room"):
            journal.add("b", {"n": 2})
    assert "b" not in journal
    assert journal.path.read_bytes() == before
    journal.add("b", {"n": 2})
    assert len(Journal(tmp_path)) == 2


def test_a_folder_that_cannot_be_made_and_a_lock_that_cannot_be_opened_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot write"):
        Journal(tmp_path / "file" / "folder")
    journal = Journal(tmp_path)
    (tmp_path / LOCK).mkdir()
    with pytest.raises(DatasetError, match="cannot write"), journal.held():
        pass


def test_two_builds_in_one_folder_are_refused(tmp_path: Path) -> None:
    first, second = Journal(tmp_path), Journal(tmp_path)
    with first.held(), pytest.raises(DatasetError, match="another process is building"), second.held():
        pass
    with second.held():
        pass
