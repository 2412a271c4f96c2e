"""``tracer_hooks.learn_lessons``: lessons from the failures of the run store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    RunKind,
    RunOutcome,
    Step,
    StepKind,
    Trajectory,
)
from tracer_hooks.store import LessonState, LessonStore, RunStore, StoredRun, fingerprint

TEAM = fingerprint("python", "solve")
LESSON = "Do not forget the carry."


def sums(count: int, since: int = 0) -> list[str]:
    return [f"What is {10 * i + 17} plus {10 * i + 26}?" for i in range(since, since + count)]


POEMS = [f"Write a short poem about the {word}, please." for word in ("sea", "moon", "forest", "winter wind")]


def save(
    path: Path,
    tasks: Sequence[str],
    *,
    agent: str | None = "solver",
    prefix: str = "run",
    team: str = "solve",
    framework: str = "python",
    kind: RunKind = RunKind.LIVE,
    reference: str | None = "4343",
) -> None:
    """Failed runs of a team, diagnosed."""
    with RunStore(path) as store:
        for at, task in enumerate(tasks):
            run_id = f"{prefix}-{at}"
            trajectory = Trajectory(
                run_id=run_id,
                team=team,
                framework=framework,
                task=task,
                agents=(AgentSpec(name="solver", instructions="You are the solver. Add up with care."),),
                steps=(Step(index=0, agent="solver", kind=StepKind.MESSAGE, content="It makes 33."),),
                outcome=RunOutcome.FAILED,
                outcome_reason="check: the sum is wrong",
                final_output="It makes 33.",
                reference=reference,
            )
            found = Attribution(
                run_id=run_id,
                agent=agent,
                step=0 if agent else None,
                confidence=0.9 if agent else 0.0,
                abstained=agent is None,
                abstained_reason=None if agent else "no fault found",
                attributor="test",
            )
            store.save(
                StoredRun(
                    run_id=run_id,
                    team=team,
                    framework=framework,
                    task=task,
                    outcome=RunOutcome.FAILED,
                    session_id=run_id,
                    kind=kind,
                    started_at=datetime(2026, 5, 1, tzinfo=UTC) + timedelta(minutes=at),
                    trajectory=trajectory,
                    attribution=found,
                )
            )


class Writer:
    """A model that writes what it is told to, one answer after the other, the last one again and again."""

    def __init__(self, *answers: str | Callable[[], str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, messages: Sequence[dict[str, str]]) -> str:
        self.asked.append(messages[-1]["content"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, str) else answer()


def fails() -> str:
    raise TimeoutError("no reply")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def learn(path: Path, chat: Writer, team: str = "solve", **options: object) -> tracer_hooks.LearnedLessons:
    return tracer_hooks.learn_lessons(team, chat=chat, store=path, **options)  # type: ignore[arg-type]


def test_failures_of_one_agent_and_kind_make_a_lesson_on_trial(path: Path) -> None:
    save(path, sums(4))
    save(path, POEMS[:2], prefix="poem")
    chat = Writer(f'Lesson: "{LESSON}"')
    found = learn(path, chat)
    (lesson,) = found.learned
    assert (lesson.agent, lesson.text, lesson.state) == ("solver", LESSON, LessonState.ON_TRIAL)
    assert (found.failures, found.too_few, found.covered, found.stopped) == (6, 2, 0, "")
    assert sorted(lesson.provenance["runs"]) == [f"run-{at}" for at in range(4)]  # type: ignore[arg-type, type-var]
    assert lesson.provenance["failures"] == 4
    assert "4343" not in chat.asked[0]
    assert "What is 17 plus 26?" in chat.asked[0]
    again = learn(path, chat)  # nothing is learnt twice from the same runs
    assert (again.learned, again.failures, again.too_few) == ((), 2, 2)
    assert len(chat.asked) == 1


def test_kinds_and_agents_are_learnt_from_apart(path: Path) -> None:
    save(path, sums(3))
    save(path, POEMS, prefix="poem")
    save(path, sums(3, since=10), agent="checker", prefix="checked")
    save(path, sums(3, since=20), agent=None, prefix="nobody")
    save(path, sums(3, since=30), prefix="retry", kind=RunKind.RETRY)
    texts = ("Do not forget the carry.", "Look at the metre of every line.", "Compare with a rough estimate.")
    found = learn(path, Writer(*texts))
    assert {(one.agent, one.provenance["failures"]) for one in found.learned} == {
        ("solver", 3),
        ("solver", 4),
        ("checker", 3),
    }
    assert (found.failures, found.unblamed) == (13, 3)
    assert found.refused == ()


def test_what_a_living_lesson_is_for_is_not_learnt_again(path: Path) -> None:
    save(path, sums(3))
    (first,) = learn(path, Writer(LESSON)).learned
    save(path, sums(4, since=10), prefix="later")
    chat = Writer("Add the tens after the ones.")
    found = learn(path, chat)
    assert (found.learned, found.covered, chat.asked) == ((), 4, [])
    with LessonStore(path) as store:
        store.retire(TEAM, first.number, reason="no use")
    found = learn(path, chat)
    assert [one.text for one in found.learned] == ["Add the tens after the ones."]
    assert LESSON in chat.asked[0]  # what did not help is not to be said again


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I'm sorry, I cannot do that.", "the model declined"),
        ("The answer is 4343, always.", "it tells an expected answer"),
        ("When you see 17 and 26, be careful.", "it speaks of a single task"),
        ("Add up with care.", "it says what the agent has been told already"),
        ("?!", "it holds no sentence"),
        ("Think " * 80 + ".", "characters, and 300 are the most"),
    ],
)
def test_what_may_not_be_said_is_refused_and_counted(path: Path, answer: str, why: str) -> None:
    save(path, sums(3))
    chat = Writer(answer)
    found = learn(path, chat)
    (refused,) = found.refused
    assert why in refused.why
    assert (refused.agent, refused.failures, found.learned) == ("solver", 3, ())
    assert len(chat.asked) == 2  # it is told what was wrong, and asked once more
    assert why in chat.asked[1]
    assert found.usage.total > 0
    assert [one.text for one in learn(path, Writer(LESSON)).learned] == [LESSON]  # nothing is lost


def test_a_second_answer_that_is_right_is_taken(path: Path) -> None:
    save(path, sums(3))
    assert learn(path, Writer("The answer is 4343.", LESSON)).learned[0].text == LESSON


def test_a_model_that_fails_is_said_and_what_was_learnt_is_kept(path: Path) -> None:
    save(path, sums(5))
    for at, name in enumerate(("checker", "writer", "planner")):
        save(path, sums(3, since=10 * at + 10), agent=name, prefix=name)
    found = learn(path, Writer(LESSON, fails))
    assert [one.agent for one in found.learned] == ["solver"]
    assert [one.why for one in found.refused] == ["the model failed: TimeoutError: no reply"] * 2
    assert found.stopped.startswith("the model that writes failed 2 times in a row")
    found = learn(path, Writer(LESSON))
    assert sorted(one.agent for one in found.learned) == ["checker", "planner", "writer"]


def test_an_agent_has_five_living_lessons_at_most(path: Path) -> None:
    topics = ("birds of the sea", "tax law in Peru", "knitting jumpers", "engine oil", "chess openings", "old maps")
    for at, topic in enumerate(topics):
        tasks = [f"{topic} {topic} {topic}: {word}" for word in ("one", "two", "three")]
        save(path, tasks, prefix=f"topic{at}")
    texts = (
        "Read the question twice.",
        "Say which source you rely on.",
        "Leave out what nobody asked for.",
        "Keep units beside each figure.",
        "Begin with a rough estimate.",
        "Never guess names.",
    )
    found = learn(path, Writer(*texts))
    assert len(found.learned) == 5
    (refused,) = found.refused
    assert "the most that it may have" in refused.why


def test_only_wanted_agents_learn(path: Path) -> None:
    save(path, sums(3))
    save(path, sums(3), agent="checker", prefix="checked")
    assert [one.agent for one in learn(path, Writer(LESSON), agents=["checker"]).learned] == ["checker"]


def test_teams_are_found_by_name_and_fingerprint(path: Path) -> None:
    save(path, sums(3))
    save(path, sums(3), prefix="other", framework="autogen")
    with pytest.raises(ConfigError, match="fits several: 'autogen-solve-"):
        learn(path, Writer(LESSON))
    assert learn(path, Writer(LESSON), "python-so").team == TEAM
    assert learn(path, Writer(LESSON), fingerprint("autogen", "solve")).learned
    with pytest.raises(ConfigError, match="no failed run of the team 'nobody', expected one of"):
        learn(path, Writer(LESSON), "nobody")


def test_a_store_without_failures_is_said(path: Path) -> None:
    RunStore(path).list()
    with pytest.raises(ConfigError, match="holds no failed run"):
        learn(path, Writer(LESSON))
