from typing import Any

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import Difficulty, get_suite

CODE = get_suite("code")
COUNTS: dict[Difficulty, int] = {"easy": 14, "medium": 12, "hard": 10}
TASK = next(task for task in CODE.tasks(14) if task.data["function"] == "clamp")
RIGHT = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
WRONG = "def clamp(value, low, high):\n    return value\n"


def verdict(text: str, task: SuiteTask = TASK) -> Verdict:
    return CODE.check(task, RunResult(text=text, native=None))


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"Here it is:\n```python\n{RIGHT}```\nIt works.",
        f"```\n{RIGHT}```",
        f"~~~py\n{RIGHT}~~~",
        f"```python\n{RIGHT}",  # the reply was cut
        f"First:\n```python\n{WRONG}```\nThat is wrong, so:\n```python\n{RIGHT}```",
        f"```python\n{RIGHT}```\nUse it so:\n```python\nprint(clamp(1, 2, 3))\n```\nwhich prints\n```text\n2\n```",
        f"- a list\n  ```python\n{RIGHT}  ```",
        f'```python\n{RIGHT}\nif __name__ == "__main__":\n    raise SystemExit(1)\n```',
    ],
)
def test_the_code_is_found_in_the_answer(text: str) -> None:
    assert verdict(text) == Verdict(passed=True, score=1.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no code in the answer"),
        ("I cannot do this.", "SyntaxError"),
        (f"```python\n{RIGHT}```\nBetter:\n```python\n{WRONG}```", "2 of 5 tests pass"),
        ("```python\nprint('ok')\n```", "NameError: name 'clamp' is not defined"),
    ],
)
def test_other_answers_fail_with_their_reason(text: str, reason: str) -> None:
    assert reason in str(verdict(text).reason)
    share = "2 of 5 tests pass; the first that fails: clamp(5, 0, 3) gave 5"
    assert verdict(WRONG) == Verdict(passed=False, score=2 / 5, reason=share)


def test_there_are_at_least_thirty_tasks_of_three_to_six_hidden_tests_and_their_solutions_pass() -> None:
    names = set()
    for difficulty, count in COUNTS.items():
        for task in CODE.tasks(count, difficulty=difficulty):
            tests: Any = task.data["tests"]
            shown = [test for test in tests if str(test) in task.text]
            assert 1 <= len(shown) <= 2
            assert 3 <= len(tests) - len(shown) <= 6
            names.add(task.data["function"])
            # Our own code, so it can run here, which is fast; other tests go through the sandbox.
            namespace: dict[str, object] = {}
            for code in (task.reference or "", *tests):
                exec(str(code), namespace)
        with pytest.raises(ConfigError, match=f"has {count} {difficulty} tasks, {count + 1} are wanted"):
            CODE.tasks(count + 1, difficulty=difficulty)
    assert len(names) == sum(COUNTS.values()) >= 30


def test_a_task_without_tests_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected 'tests' and 'function'"):
        verdict(RIGHT, SuiteTask(id="x", suite="code", text="?"))
