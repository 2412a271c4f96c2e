import decimal
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import SuiteTask, load_tasks, save_tasks
from tracer_hooks_lab.suites import Difficulty, check_of, get_suite, suite_names
from tracer_hooks_lab.suites._suite import different_tasks

WITHOUT_EXTRA = ("code", "orders", "word_sums")
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
MALFORMED = ("", "   ", "ANSWER:", "ANSWER: <number>", "I give up.", "```\n```", "\\boxed{", "\x00\ud800", "9" * 10_000)


@pytest.fixture(params=suite_names())
def name(request: pytest.FixtureRequest) -> str:
    if request.param not in WITHOUT_EXTRA:
        pytest.importorskip("reasoning_gym")
    return str(request.param)


def graded(task: SuiteTask, text: str, *, solved: bool = True) -> Verdict:
    """The verdict on ``text``, after the right writes were made where there is something to write."""
    environment = get_suite(task.suite).environment(task)
    solution = task.data.get("solution", [])
    assert isinstance(solution, list)
    tools = {tool.__name__: tool for tool in environment.tools}
    for tool, arguments in solution if solved else ():  # type: ignore[misc, str-unpack]
        assert not tools[tool](**arguments).startswith("error")  # type: ignore[arg-type]
    return check_of(task, environment)(RunResult(text=text, native=None), task.text)


def test_the_suites_are_known_by_name() -> None:
    assert suite_names() == ("arithmetic", "code", "logic", "orders", "word_sums")
    assert [get_suite(name).name for name in suite_names()] == list(suite_names())
    assert all(get_suite(name).description for name in suite_names())
    with pytest.raises(ConfigError, match=r"unknown suite 'maths'; expected one of arithmetic, code"):
        get_suite("maths")


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_a_seed_gives_the_same_tasks_that_a_file_keeps(name: str, difficulty: Difficulty, tmp_path: Path) -> None:
    suite = get_suite(name)
    tasks = suite.tasks(10, seed=5, difficulty=difficulty)
    assert suite.tasks(10, seed=5, difficulty=difficulty) == tasks
    assert suite.tasks(4, seed=5, difficulty=difficulty) == tasks[:4]
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    assert load_tasks(tmp_path / "tasks.jsonl") == tasks
    assert {task.suite for task in tasks} == {name}
    assert len({task.id for task in tasks}) == len({task.text for task in tasks}) == 10
    for task in tasks:
        assert "```python" in task.text if name == "code" else "ANSWER: " in task.text
        hidden: Any = task.data.get("tests", [])
        assert not [test for test in hidden[2:] if str(test) in task.text]
    with pytest.raises(ConfigError, match="count"):
        suite.tasks(-1)
    with pytest.raises(ConfigError, match="easy, medium"):
        suite.tasks(1, difficulty="simple")  # type: ignore[arg-type]


def test_other_seeds_and_difficulties_give_other_tasks(name: str) -> None:
    suite = get_suite(name)
    texts = {task.text for task in suite.tasks(8, seed=0)}
    if name != "code":  # a fixed set of exercises, whose order depends on the seed
        assert not texts & {task.text for task in suite.tasks(8, seed=1)}
    assert [task.id for task in suite.tasks(8, seed=0)] != [task.id for task in suite.tasks(8, seed=1)]
    assert not texts & {task.text for task in suite.tasks(8, difficulty="medium")}


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_reference_passes_and_a_wrong_answer_fails(name: str, difficulty: Difficulty) -> None:
    tasks = get_suite(name).tasks(3 if name == "code" else 60, seed=3, difficulty=difficulty)
    for task in tasks:
        assert task.reference is not None
        right = task.reference if name == "code" else f"So that is it.\nANSWER: {task.reference}"
        assert graded(task, right) == Verdict(passed=True, score=1.0), task
    for task in tasks[:1] if name == "code" else tasks:
        wrong = graded(task, "def f():\n    return 987654321" if name == "code" else "ANSWER: 987654321")
        assert not wrong.passed
        assert wrong.reason
        if name == "word_sums":
            assert task.reference not in wrong.reason.replace("987654321", ""), "a reason gives no answer away"


def test_a_malformed_answer_fails_with_a_reason_and_raises_nothing(name: str) -> None:
    for task in get_suite(name).tasks(10 if name != "code" else 1, seed=1):
        for text in MALFORMED:
            verdict = graded(task, text)
            assert not verdict.passed, (task, text)
            assert verdict.reason


def test_all_generators_take_turns() -> None:
    pytest.importorskip("reasoning_gym")
    for name, generators in (("arithmetic", 8), ("logic", 6), ("word_sums", 5)):
        counts = Counter(task.data["generator"] for task in get_suite(name).tasks(4 * generators, difficulty="hard"))
        assert len(counts) == generators
        assert min(counts.values()) >= 2


def test_draws_that_repeat_themselves_are_said_to_be_too_few() -> None:
    tasks = [SuiteTask(id=str(number), text=f"task {number % 3}") for number in range(5)]
    assert [task.id for task in different_tasks(3, lambda place: tasks[place % 5])] == ["0", "1", "2"]
    with pytest.raises(ConfigError, match="only 3 different tasks were found, 4 are wanted; ask for fewer"):
        different_tasks(4, lambda place: tasks[place % 5] if place % 2 else None)


def test_without_reasoning_gym_its_suites_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: tuple[SuiteTask, ...] = ()
    if importlib.util.find_spec("reasoning_gym") is not None:
        before = decimal.getcontext().prec
        saved = get_suite("logic").tasks(6) + get_suite("arithmetic").tasks(8)
        assert decimal.getcontext().prec == before != 12, "the caller's precision stays"
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    assert all(graded(task, task.reference or "").passed for task in saved), "saved tasks are graded without it"
    for name in ("arithmetic", "logic"):
        with pytest.raises(MissingExtraError, match=r"pip install -e '.*\[suites\]'"):
            get_suite(name).tasks(6)
    for name in WITHOUT_EXTRA:
        task = get_suite(name).tasks(1)[0]
        assert graded(task, task.reference or "").passed


def test_check_of_refuses_what_it_cannot_grade() -> None:
    with pytest.raises(ConfigError, match="unknown suite 'maths'"):
        check_of(SuiteTask(id="1", suite="maths", text="?"))
    with pytest.raises(ConfigError, match="'1' has no reference"):
        check_of(SuiteTask(id="1", text="?"))
    with pytest.raises(ConfigError, match="pass the one that the team's tools work on"):
        check_of(get_suite("orders").tasks(1)[0])
    broken = SuiteTask(id="1", suite="word_sums", text="?", reference="4")
    with pytest.raises(ConfigError, match="'1' cannot be graded"):
        check_of(broken)(RunResult(text="4", native=None), "?")
