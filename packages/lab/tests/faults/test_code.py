import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.schema import ErrorMode
from tracer_hooks.telemetry import ChatReply
from tracer_hooks_lab.faults import FaultContext, corrupt

KINDS = [
    (ErrorMode.FM_1_1, "code_off_by_one"),
    (ErrorMode.FM_1_1, "code_without_guard"),
    (ErrorMode.FM_2_2, "code_with_assumed_value"),
    (ErrorMode.FM_2_6, "code_against_its_description"),
    (ErrorMode.FM_3_1, "code_unfinished"),
    (ErrorMode.FM_3_2, "code_not_run"),
    (ErrorMode.FM_3_3, "wrongly_corrected_code"),
]
SOURCE = textwrap.dedent(
    """
    def clean(words, size=2):
        if not words:
            return []
        kept, most = [], 0
        most += 3
        for i in range(len(words)):
            word = words[i].strip().lower()
            if len(word) >= size and word not in kept:
                kept.append(word)
        return sorted(kept)[:most]
    """
).strip()


def mutant(mode: ErrorMode, kind: str, text: str, seed: int) -> str | None:
    done = corrupt(FaultContext(agent="coder", reply=ChatReply(content=text)), mode, kind=kind, seed=seed)
    return None if done is None else done.reply.content


def outcome(source: str, name: str, *args: Any) -> object:
    space: dict[str, Callable[..., object]] = {}
    exec(compile(source, "mutant", "exec"), space)
    try:
        return space[name](*args)
    except Exception as error:
        return type(error)


def behaviour(source: str) -> list[object]:
    tries = [["B ", "eee", "aa", "aa", "ccc", "Dd"], [], ["x", "yy"], ["Zz", " zz ", "a", "cc"], ["bb"]]
    return [outcome(source, "clean", words) for words in tries] + [outcome(source, "clean", None)]


@pytest.mark.parametrize(("mode", "kind"), KINDS)
def test_a_mutant_parses_and_behaves_differently(mode: ErrorMode, kind: str) -> None:
    mutants = {mutant(mode, kind, f"Code:\n```python\n{SOURCE}\n```\nDone.", seed) for seed in range(12)}
    changed = 0
    for text in mutants:
        head, rest = text.split("```python\n")
        code, tail = rest.split("\n```")
        assert (head, tail) == ("Code:\n", "\nDone.")
        assert code != SOURCE
        changed += behaviour(code) != behaviour(SOURCE)
    assert changed >= 0.8 * len(mutants)
    bare = mutant(mode, kind, SOURCE, 0)  # without a fence
    compile(bare, "mutant", "exec")  # type: ignore[arg-type]


@pytest.mark.parametrize(("mode", "kind"), KINDS)
@pytest.mark.parametrize(
    "text", ["No code at all.", "```python\ndef broken(:\n```", "```python\nprint('hi')\n```", "```\n```"]
)
def test_there_is_nothing_to_change_in_prose_broken_or_plain_code(mode: ErrorMode, kind: str, text: str) -> None:
    assert mutant(mode, kind, text, 0) is None


@pytest.mark.parametrize(
    ("mode", "kind", "code", "mutants"),
    [
        (
            ErrorMode.FM_1_1,
            "code_without_guard",
            "big = [a if b else 0 for a, b in pairs\n       if a > 1]",
            {"big = [a if b else 0 for a, b in pairs]"},
        ),
        (ErrorMode.FM_1_1, "code_without_guard", "big = [a for a in pairs if ((a) > 1)]", {"big = [a for a in pairs]"}),
        (
            ErrorMode.FM_1_1,
            "code_off_by_one",
            "for i in range(1, n - 1):\n    pass",
            {f"for i in range({bounds}):\n    pass" for bounds in ("1, n", "1, n - 1 - 1", "2, n - 1")},
        ),
        (ErrorMode.FM_1_1, "code_off_by_one", "last = row[-1]", {"last = row[0]"}),
        (
            ErrorMode.FM_1_1,
            "code_off_by_one",
            "def f(s):\n    return 'é€' + s[0]",
            {"def f(s):\n    return 'é€' + s[1]"},
        ),
        (ErrorMode.FM_2_6, "code_against_its_description", "low = min(a, b)", {"low = max(a, b)"}),
        (ErrorMode.FM_2_2, "code_with_assumed_value", "open = True", {"open = False"}),
    ],
)
def test_what_becomes_of_a_piece_of_code(mode: ErrorMode, kind: str, code: str, mutants: set[str]) -> None:
    assert {mutant(mode, kind, code, seed) for seed in range(30)} == mutants
