from pathlib import Path

import pytest

from tracer_hooks.errors import DatasetError
from tracer_hooks.frameworks import RunResult
from tracer_hooks.tasks import SuiteTask, load_tasks, save_tasks
from tracer_hooks_lab.suites import check_of


def written(path: Path, text: str) -> Path:
    file = path / "mine.jsonl"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_users_own_file_needs_the_text_only(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '\ufeff{"task": "How many?", "expected": 12}\n\n{"text": "Who?", "answer": "Ada", "id": 7, "level": 2}\n'
        '{"task": "Why?"}\n',
    )
    assert load_tasks(file) == (
        SuiteTask(id="mine-1", text="How many?", reference="12"),
        SuiteTask(id="7", text="Who?", reference="Ada", data={"level": 2}),
        SuiteTask(id="mine-4", text="Why?"),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ("[1]", "expected a JSON object, got list"),
        ('{"question": "x"}', r"under 'task', got None; the line has \['question'\]"),
        ('{"task": " "}', "under 'task', got ' '"),
        ('{"task": 3}', "under 'task', got 3"),
        ('{"task": "x", "text": "y"}', "both 'task' and 'text'"),
        ('{"task": "x", "answer": 1, "reference": 2}', "both 'reference' and 'answer'"),
        ('{"suite": "code", "text": "x"}', "not a task: 'id'"),
        ('{"suite": "code", "id": "a", "text": "x", "more": 1}', "not a task: 'more'"),
        ('{"task": "x", "data": 3}', "under 'data', got 3"),
        ('{"task": "x", "id": "first"}', "id 'first' is already taken"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = written(tmp_path, '{"task": "fine", "id": "first"}\n\n' + line + "\n")
    with pytest.raises(DatasetError, match=message) as caught:
        load_tasks(file)
    assert "mine.jsonl', line 3: " in str(caught.value)


def test_files_without_tasks_or_out_of_reach_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="holds no task"):
        load_tasks(written(tmp_path, "\n"))
    with pytest.raises(DatasetError, match="cannot read"):
        load_tasks(tmp_path / "none.jsonl")
    (tmp_path / "raw.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DatasetError, match="cannot read"):
        load_tasks(tmp_path / "raw.jsonl")
    with pytest.raises(DatasetError, match="cannot write"):
        save_tasks(tmp_path / "no" / "folder.jsonl", [])


@pytest.mark.parametrize(
    ("reference", "text", "passed"),
    [
        ("12", "It is 12 in all.", True),
        ("12", "ANSWER: 12.0", True),
        ("12", "12 + 1 = 13", False),
        ("1,200", "The answer is **$1200**", True),
        ("New York", "They met in new york.", True),
        ("New York", "They met in York.", False),
        ("Ada", "Adam did it.", False),
    ],
)
def test_a_users_task_is_compared_with_its_reference(reference: str, text: str, passed: bool) -> None:
    check = check_of(SuiteTask(id="1", text="?", reference=reference))
    assert check(RunResult(text=text, native=None), "?").passed is passed
