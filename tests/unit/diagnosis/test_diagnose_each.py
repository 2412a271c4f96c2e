"""Many runs: answers in order, as they come, and one that fails stops no other."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator

import pytest

from tracer_hooks.diagnosis import diagnose_each
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Attribution, Step, Trajectory

WHO = contextvars.ContextVar("WHO", default="nobody")


def run(name: str) -> Trajectory:
    return Trajectory(run_id=name, steps=(Step(index=0, agent="a", content="hello"),))


class Answers:
    """Blames step 0, or step 9 for the run "odd"; raises for the run "bad"."""

    name = "answers"

    def __init__(self, concurrency: int = 1) -> None:
        self.concurrency = concurrency
        self.seen: list[tuple[str, str | None, str]] = []
        self.most = self._running = 0
        self._lock = threading.Lock()
        self.together: threading.Barrier | None = None

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.seen.append((trajectory.run_id, reference, WHO.get()))
        if self.together is not None:
            self.together.wait(20)
        with self._lock:
            self._running -= 1
        if trajectory.run_id == "bad":
            raise ValueError("no")
        return Attribution(run_id=trajectory.run_id, agent="a", step=9 if trajectory.run_id == "odd" else 0)


@pytest.mark.parametrize("at_once", [1, 3])
def test_answers_and_errors_stand_in_the_order_of_the_runs(at_once: int) -> None:
    names = ["x", "bad", "y", "odd", "z"]
    asked = Answers(at_once)
    found = list(diagnose_each(((run(name), name * 2) for name in names), attributor=asked))
    assert [getattr(one, "run_id", None) for one in found] == ["x", None, "y", None, "z"]
    assert isinstance(found[1], ValueError)
    assert isinstance(found[3], AttributionError)
    assert "named step 9" in str(found[3])
    assert sorted(asked.seen) == sorted((name, name * 2, "nobody") for name in names)


def test_as_many_at_once_as_the_attributor_says() -> None:
    asked = Answers(4)
    asked.together = threading.Barrier(4)
    assert len(list(diagnose_each(((run(str(n)), None) for n in range(8)), attributor=asked))) == 8
    assert asked.most == 4


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_answer_comes_before_the_last_run_is_read(at_once: int) -> None:
    read: list[int] = []

    def runs() -> Iterator[tuple[Trajectory, None]]:
        for number in range(100):
            read.append(number)
            yield run(str(number)), None

    answers = diagnose_each(runs(), attributor=Answers(at_once))
    assert read == []
    assert isinstance(next(answers), Attribution)
    assert len(read) <= 2 * at_once
    answers.close()  # type: ignore[attr-defined]
    assert len(read) <= 2 * at_once


def test_threads_see_the_context_of_the_caller() -> None:
    token = WHO.set("me")
    try:
        asked = Answers(2)
        list(diagnose_each([(run("x"), None)], attributor=asked))
    finally:
        WHO.reset(token)
    assert asked.seen == [("x", None, "me")]


def test_an_unknown_attributor_is_an_error_at_once() -> None:
    with pytest.raises(ConfigError, match="unknown attributor 'oracle'"):
        diagnose_each([], attributor="oracle")
