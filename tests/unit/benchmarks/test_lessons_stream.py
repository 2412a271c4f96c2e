"""The stream with a real model: its arms, what they learn, what is shuffled, and that a second start goes on."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks._api.conducting import _team_lessons
from tracer_hooks.schema import Usage
from tracer_hooks.store import LessonStore
from tracer_hooks.suites.architectures import _chat

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
TASKS, BATCH = 30, 10
ADVICE = (
    "Think slowly.",
    "Work carefully and in small pieces.",
    "Look again before finishing.",
    "Do nothing in haste.",
    "Trust only what stands there.",
)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith(("_self_correction", "_lessons_stream", "lessons"))]:
        del sys.modules[name]


class Model:
    """A team that fails at everything, and a writer whose lessons are numbered; breaks off where it is told to."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.written = 0
        self.breaks_after: int | None = None
        self._lock = threading.Lock()

    def complete(self, messages: Any, tools: Any = ()) -> dict[str, Any]:
        shown = str(messages[-1]["content"])
        with self._lock:
            self.seen.append(shown)
            if self.breaks_after is not None and len(self.seen) > self.breaks_after:
                raise ConnectionError("the engine is gone")
            if not str(messages[0]["content"]).startswith("You are the"):
                self.written += 1
                text = ADVICE[self.written % len(ADVICE)]
                return {"role": "assistant", "content": text, "usage": {"prompt_tokens": 50, "completion_tokens": 9}}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return {"role": "assistant", "content": "ANSWER: -77777", "usage": usage}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    scripted = Model()
    # A scripted stream is over before a team looks for new lessons again.
    monkeypatch.setattr(_team_lessons, "_FRESH_S", 0.0)
    monkeypatch.setattr(_chat.ChatClient, "complete", lambda client, messages, tools=(): scripted.complete(messages))
    return scripted


def start(load: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    options = [
        "--base-url", "http://127.0.0.1:1/v1", "--model", "scripted", "--tasks", str(TASKS), "--batch", str(BATCH),
        "--seeds", "1", "--workers", "1", "--journal", str(folder / "journal"), "--json", str(folder / "found.json"),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["lessons.py", *options, *more])
    return int(load("lessons").main())


def test_every_arm_runs_every_task_and_a_second_start_runs_none(
    load: Any, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start(load, tmp_path, monkeypatch) == 0
    (found,) = json.loads((tmp_path / "found.json").read_text()).values()
    assert (found["streams"], found["tasks"]) == (1, TASKS)
    assert set(found["arms"]) == {"no lessons", "learned", "shuffled"}
    assert all(row["passed"] == 0 and row["tokens"] > 0 for row in found["arms"].values())
    assert found["arms"]["no lessons"]["with_lesson"] == 0
    looks = (tmp_path / "journal/scripted-word_sums-1/learned/journal.jsonl").read_text()
    assert found["learned"] >= 2, f"failures of more than one kind: {[x for x in looks.splitlines() if 'learn/' in x]}"
    assert found["writing_tokens"] == 59 * model.written
    assert {(row["of"], row["minus"]) for row in found["differences"]} == {
        ("learned", "no lessons"), ("shuffled", "no lessons"), ("learned", "shuffled"),
    }  # fmt: skip
    assert all(row["difference"] == [0.0, 0.0, 0.0] for row in found["differences"])
    asked = len(model.seen)
    assert start(load, tmp_path, monkeypatch) == 0
    assert len(model.seen) == asked
    assert json.loads((tmp_path / "found.json").read_text()).popitem()[1] == found

    stores = {
        arm: tmp_path / "journal" / "scripted-word_sums-1" / arm / "runs.sqlite" for arm in ("learned", "shuffled")
    }
    with LessonStore(stores["learned"]) as learned, LessonStore(stores["shuffled"]) as shuffled:
        own, others = learned.lessons(), shuffled.lessons()
    by_runs = {str(one.provenance["runs"]): one for one in own}
    assert 1 <= len(others) <= len(own)
    for one in others:
        twin = by_runs[str(one.provenance["runs"])]
        assert (one.agent, one.kind) == (twin.agent, twin.kind)
        assert one.text != twin.text
        assert one.text in {other.text for other in own}
    given = [text for text in model.seen if "From earlier tasks of this kind" in text]
    assert len(given) >= sum(row["with_lesson"] for row in found["arms"].values()) > 0

    saved = tmp_path / "saved"
    assert start(load, tmp_path, monkeypatch, "--save-outcomes", str(saved)) == 0
    monkeypatch.setattr(sys, "argv", ["lessons.py", "--report", "--journal", str(saved), "--json", str(tmp_path / "b")])
    assert load("lessons").main() == 0
    assert json.loads((tmp_path / "b").read_text()).popitem()[1] == found
    assert not list(saved.rglob("*.sqlite"))


def test_what_was_broken_off_goes_on(load: Any, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.breaks_after = 60
    with pytest.raises(ConnectionError):
        start(load, tmp_path, monkeypatch)
    journals = list((tmp_path / "journal").rglob("journal.jsonl"))
    done = sum(line.count('"run/') for path in journals for line in path.read_text().splitlines())
    assert 0 < done < 3 * TASKS
    model.breaks_after = None
    assert start(load, tmp_path, monkeypatch) == 0
    journals = list((tmp_path / "journal").rglob("journal.jsonl"))
    rows = [json.loads(line)["unit"] for path in journals for line in path.read_text().splitlines()]
    assert sum(unit.startswith("run/") for unit in rows) == 3 * TASKS


def test_the_stream_drifts_and_no_task_comes_twice(load: Any) -> None:
    stream = load("_lessons_stream")
    for suite, kinds in (("word_sums", 3), ("code", 2)):
        places = stream.stream_of(suite, 60, 1)
        assert len({place.task.text for place in places}) == 60
        assert places == stream.stream_of(suite, 60, 1)
        mains = []
        for part in range(kinds):
            of = [place.kind for place in places if place.part == part]
            mains.append(max(set(of), key=of.count))
            assert of.count(mains[-1]) >= 0.55 * len(of)
        assert len(set(mains)) == kinds


def test_a_lesson_waits_for_one_of_another_kind(load: Any) -> None:
    stream = load("_lessons_stream")

    class One:
        def __init__(self, number: int, agent: str, kind: str, text: str) -> None:
            self.number, self.agent, self.kind, self.text = number, agent, {kind: 1.0}, text

    alike = [One(1, "solver", "aaaa", "first"), One(2, "planner", "aaaa", "second")]
    assert stream.shuffled(alike, 0) == {}
    more = [*alike, One(3, "solver", "bbbb", "third")]
    assert stream.shuffled(more, 0)[0] == "third"
    assert stream.shuffled(more, 0)[2] == "first", "of the same agent where there is one"


def test_differences_are_paired_by_task(load: Any) -> None:
    report = load("_lessons_stream_report")

    def runs(passed: list[bool], lessons: list[int]) -> dict[str, Any]:
        return {
            f"run/{at}": {"task": f"t{at}", "part": at // 2, "passed": value, "tokens": 5, "lessons": lessons}
            for at, value in enumerate(passed)
        }

    streamed = report.Streamed(
        "m-s-1",
        {
            "no lessons": runs([False, False, True, False], []),
            "learned": runs([True, True, True, False], [1]),
            "shuffled": {**runs([False, False, True], [2])},
        },
        [{"learned": [{}], "refused": ["x"], "tokens": 7}],
        {"no lessons": {}, "learned": {"1": "kept"}, "shuffled": {"1": "on trial"}},
    )
    found = report.figures([streamed])
    assert found["tasks"] == 3, "only what every arm has run"
    first = found["differences"][0]
    assert (first["of"], first["minus"], first["on"], first["n"]) == ("learned", "no lessons", "all", 3)
    assert first["difference"][0] == pytest.approx(2 / 3)
    by_part = {row["on"]: row["difference"][0] for row in found["differences"] if row["of"] == "learned"}
    assert by_part["part 1"] == 1.0
    assert Usage(input_tokens=2, output_tokens=3).total == 5
