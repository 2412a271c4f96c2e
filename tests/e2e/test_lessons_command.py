"""``tracer-hooks lessons``: learning, looking, and taking back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracer_hooks.improvement import kind_of
from tracer_hooks.store import LessonDraft, LessonStore, fingerprint

from ..unit.api.test_learning_lessons import LESSON, TEAM, save, sums
from .test_prompts_command import Here

WRITER = f"""
def chat(messages):
    print("asked")
    return {LESSON!r}

def silent(messages):
    raise TimeoutError("no reply")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    (tmp_path / "writers.py").write_text(WRITER)
    return Here(tmp_path, monkeypatch, capsys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".tracer_hooks" / "runs.sqlite"


def add(path: Path, name: str) -> None:
    draft = LessonDraft(agent="a[b]", text="Look\x1b[31m twice.", kind=kind_of(["a task"]), runs=("r",), team_name=name)
    with LessonStore(path) as store:
        store.propose(fingerprint("autogen", name), draft)


def test_learning_listing_showing_and_retiring(here: Here, path: Path) -> None:
    save(path, sums(4))
    done = here("lessons", "learn", "--team", "solve", "--writer-model", "writers.py:chat")
    assert done.code == 0
    assert f"lesson 1 for solver, on trial: {LESSON}" in done.out
    assert "asked" not in done.out
    assert 'hook(lessons="learned")' in done.out
    listed = here("lessons")
    assert listed.code == 0
    assert LESSON in listed.out
    assert "on trial" in listed.out
    shown = here("lessons", "show", "1")
    assert "from 4 failed runs" in shown.out
    assert "What is 17 plus 26?" in shown.out
    retired = here("lessons", "retire", "1", "--reason", "too vague")
    assert (retired.code, retired.out.strip()) == (0, "lesson 1 for solver: retired")
    again = here("lessons", "retire", "1")
    assert again.code != 0
    assert "is retired already" in again.err
    assert "too vague" in here("lessons", "show", "1").out


def test_everything_as_json(here: Here, path: Path) -> None:
    save(path, sums(4))
    learned = here("lessons", "learn", "--team", "solve", "--writer-model", "writers.py:chat", "--json").json
    assert (learned["team"], learned["failures"], learned["stopped"]) == (TEAM, 4, "")
    (lesson,) = learned["learned"]
    assert (lesson["number"], lesson["text"], lesson["state"]) == (1, LESSON, "on trial")
    (team,) = here("lessons", "list", "--json").json["teams"]
    assert (team["team"], team["lessons"]) == (TEAM, [lesson])
    assert here("lessons", "show", "1", "--json").json == lesson
    retired = here("lessons", "retire", "1", "--json").json
    assert (retired["state"], retired["reason"], retired["period"]) == ("retired", "taken back by hand", 2)


def test_a_model_that_fails(here: Here, path: Path) -> None:
    save(path, sums(4))
    save(path, sums(4), agent="checker", prefix="checked")
    done = here("lessons", "learn", "--team", "solve", "--writer-model", "writers.py:silent")
    assert done.code == 1
    assert "no lesson for solver from 4 failures: the model failed: TimeoutError: no reply" in done.out
    assert "Broken off" in done.out


def test_what_is_missing_is_said(here: Here, path: Path) -> None:
    assert "no lessons yet; run: tracer-hooks lessons learn" in here("lessons", "list").err
    assert here("lessons", "list", "--json").json == {"teams": []}
    assert "there is no run store" in here("lessons", "show", "1").err
    assert not path.exists()
    save(path, sums(3))
    assert "lessons learn needs the model that writes" in here("lessons", "learn", "--team", "solve").err
    assert "has no lessons of any team" in here("lessons", "show", "1").err
    add(path, "desk")
    add(path, "office")
    several = here("lessons", "show", "1")
    assert several.code != 0
    assert "lessons of several teams" in several.err
    assert "no lesson 7" in here("lessons", "show", "7", "--team", "desk").err
    shown = here("lessons", "show", "1", "--team", "desk")
    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert "a[b]" in shown.out
