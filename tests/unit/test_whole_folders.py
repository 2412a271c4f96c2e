"""A folder is replaced as a whole, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pytest

from tracer_hooks._files import remove_folder, replaced_folder, whole_folder


def put(target: Path, text: str) -> None:
    with replaced_folder(target) as new:
        for name in ("one", "two"):
            (new / name).write_text(text)


def read(target: Path) -> list[str]:
    place = whole_folder(target)
    return [path.read_text() for path in sorted(place.iterdir())] if place.exists() else []


def test_a_folder_is_made_and_replaced_and_removed(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "model"
    put(target, "first")
    (target / "three").write_text("of an older kind")
    put(target, "second")
    assert read(target) == ["second", "second"]
    remove_folder(target)
    assert read(target) == []
    assert list(target.parent.iterdir()) == [], "nothing stays beside it"
    remove_folder(target)
    assert list(target.parent.iterdir()) == [], "removing what is not there does nothing"


def test_an_exception_leaves_the_old_one(tmp_path: Path) -> None:
    put(tmp_path / "model", "first")

    def breaks() -> None:
        with replaced_folder(tmp_path / "model") as new:
            (new / "one").write_text("half")
            raise RuntimeError("the disk")

    with pytest.raises(RuntimeError):
        breaks()
    assert read(tmp_path / "model") == ["first", "first"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("moves", [0, 1, 2, 3])
def test_a_process_killed_at_any_move_leaves_one_of_both(tmp_path: Path, moves: int) -> None:
    """Killed before the first rename, between the two, before the old one goes, and while it goes."""
    target = tmp_path / "model"
    put(target, "first")
    program = """
import os, pathlib, signal, sys
from tracer_hooks._files import replaced_folder
target, left = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rename = pathlib.Path.rename
def counted(self, other):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return rename(self, other)
with replaced_folder(target) as new:
    (new / "one").write_text("second")
    (new / "two").write_text("second")
    pathlib.Path.rename = counted
"""
    done = subprocess.run([sys.executable, "-c", program, target, str(moves)], check=False, timeout=60)
    assert done.returncode == (-signal.SIGKILL if moves < 3 else 0)
    text = "first" if moves < 2 else "second"
    assert read(target) == [text, text]
    put(target, "third")
    assert read(target) == ["third", "third"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"], "nothing of the dead process stays"


def test_what_is_removed_by_half_is_not_taken_for_an_old_one(tmp_path: Path) -> None:
    target = tmp_path / "model"
    put(target, "first")

    def breaks_off(folder: Path, **options: object) -> None:
        (Path(folder) / "one").unlink()
        raise KeyboardInterrupt

    with patch.object(shutil, "rmtree", breaks_off), pytest.raises(KeyboardInterrupt):
        remove_folder(target)
    assert read(target) == []
    put(target, "second")
    assert read(target) == ["second", "second"]
    assert os.listdir(tmp_path) == ["model"]


def test_several_at_once_leave_one_whole(tmp_path: Path) -> None:
    target = tmp_path / "model"
    put(target, "0")

    def write(number: int) -> None:
        for turn in range(10):
            put(target, f"{number}-{turn}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    one, two = read(target)
    assert one == two
    assert one.endswith("-9")
    assert os.listdir(tmp_path) == ["model"]
