"""Python code in a reply: found, and changed a little so that it still parses but does something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tracer_hooks_lab.faults._text_parts import is_code, parsed

_FENCED = re.compile(r"```(?:python|py|Python)?[ \t]*\n(?P<code>.*?)```", re.DOTALL)
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
}
_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Mult: ("*", "+"),
}
_CONVERTING_METHODS = frozenset({"lower", "strip", "upper", "casefold", "copy", "rstrip", "lstrip"})
_CONVERTING_FUNCTIONS = frozenset({"sorted", "set", "abs", "round"})
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}


@dataclass(frozen=True)
class Edit:
    """A stretch of code and what stands in its place."""

    start: int
    end: int
    new: str


def mutate_code(text: str, rng: Random, edits: Callable[[str, ast.AST], Iterator[Edit]]) -> str | None:
    """``text`` with one edit in one of its blocks of Python; None when no edit leaves valid, different code.

    Args:
        text: A reply; code is what stands in fences, or the whole text when it parses and has a statement in it.
        rng: Chooses the edit.
        edits: Proposes the edits of one node, with places in the code.
    """
    candidates = []
    for start, end in code_blocks(text):
        code = text[start:end]
        for node in ast.walk(parsed(code) or ast.Module([], [])):
            candidates += [(start, end, edit) for edit in edits(code, node)]
    rng.shuffle(candidates)
    for start, end, edit in candidates:
        code = text[start:end]
        changed = code[: edit.start] + edit.new + code[edit.end :]
        if _differs(code, changed):
            return text[:start] + changed + text[end:]
    return None


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Find the spans of valid Python in a reply."""
    blocks = [(m.start("code"), m.end("code")) for m in _FENCED.finditer(text)]
    blocks = [block for block in blocks if parsed(text[block[0] : block[1]]) is not None]
    if not blocks and is_code(text):
        return [(0, len(text))]
    return blocks


def off_by_one(code: str, node: ast.AST) -> Iterator[Edit]:
    """Ranges, indices, slices and strict comparisons that are one off."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and _plain(node.args):
        stop = node.args[0 if len(node.args) == 1 else 1]
        yield _shifted(code, stop, -1)
        yield _shifted(code, stop, +1)
        if len(node.args) > 1:
            yield _shifted(code, node.args[0], +1)
    elif isinstance(node, ast.Subscript):
        index = node.slice
        parts = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
        yield from (_shifted(code, part, +1) for part in parts if _is_integer(part))
    elif isinstance(node, ast.Compare):
        yield from _compared(code, node, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))


def wrong_operator(code: str, node: ast.AST) -> Iterator[Edit]:
    """Arithmetic, Boolean and comparison operators, and functions with an opposite, exchanged."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield from _between(code, node.left, node.right, *_OPERATORS[type(node.op)])
    elif isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from _between(code, node.values[0], node.values[1], old, new)
    elif isinstance(node, ast.Compare):
        yield from _compared(code, node, (ast.Eq, ast.NotEq, ast.In))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        start, end = _place(code, node.func)
        yield Edit(start, end, _CALLS[node.func.id])


def wrong_constant(code: str, node: ast.AST) -> Iterator[Edit]:
    """Numbers and truth values that are returned, assigned or compared, changed."""
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Return | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.keyword):
        values = [node.value]
    elif isinstance(node, ast.Compare):
        values = [*node.comparators]
    elif isinstance(node, ast.BinOp):
        values = [node.left, node.right]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield Edit(*_place(code, value), str(not value.value))
        elif _is_integer(value) and value is not None:
            yield _shifted(code, value, +1)


def dropped_guard(code: str, node: ast.AST) -> Iterator[Edit]:
    """Conditions that leave early, and filters and conversions of a value, left out."""
    body = getattr(node, "body", None)
    if isinstance(body, list):
        for one, following in pairwise(body):
            if (
                isinstance(one, ast.If)
                and not one.orelse
                and isinstance(one.body[-1], ast.Return | ast.Continue | ast.Raise)
            ):
                yield Edit(_place(code, one)[0], _place(code, following)[0], "")
    if isinstance(node, ast.comprehension) and node.ifs:
        start, end = _place(code, node.ifs[0])
        keyword = re.search(r"\s+if[\s(]*\Z", code[:start])
        if keyword is not None:
            for _ in range(keyword.group().count("(")):
                end = code.index(")", end) + 1
            yield Edit(keyword.start(), end, "")
    elif isinstance(node, ast.Call) and not node.keywords:
        yield from _dropped_conversion(code, node)


def dropped_statement(code: str, node: ast.AST) -> Iterator[Edit]:
    """A statement in the middle of a function or loop, left out."""
    body = getattr(node, "body", None)
    if isinstance(node, ast.FunctionDef | ast.For | ast.While) and isinstance(body, list):
        for one, following in pairwise(body[1:]):
            yield Edit(_place(code, one)[0], _place(code, following)[0], "")


def _dropped_conversion(code: str, node: ast.Call) -> Iterator[Edit]:
    name = node.func
    if isinstance(name, ast.Attribute) and name.attr in _CONVERTING_METHODS and not node.args:
        yield Edit(_place(code, name.value)[1], _place(code, node)[1], "")
    elif isinstance(name, ast.Name) and name.id in _CONVERTING_FUNCTIONS and _plain(node.args):
        yield Edit(*_place(code, node), code[slice(*_place(code, node.args[0]))])


def _compared(code: str, node: ast.Compare, kinds: tuple[type[ast.cmpop], ...]) -> Iterator[Edit]:
    lefts = [node.left, *node.comparators]
    for left, op, right in zip(lefts, node.ops, node.comparators, strict=False):
        if isinstance(op, kinds):
            yield from _between(code, left, right, *_COMPARISONS[type(op)])


def _between(code: str, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Edit]:
    """The operator between two operands; a bracket may stand beside it."""
    start, end = _place(code, left)[1], _place(code, right)[0]
    at = code.find(old, start, end)
    if at >= 0:
        yield Edit(at, at + len(old), new)


def _shifted(code: str, node: ast.expr | None, by: int) -> Edit:
    assert node is not None
    start, end = _place(code, node)
    written = code[start:end]
    if _is_integer(node):
        return Edit(start, end, str(int(ast.literal_eval(written)) + by))
    undone = re.fullmatch(r"(?P<rest>[\w.()\[\]]+) [+-] 1", written)
    if undone is not None and written[-3] == ("-" if by > 0 else "+"):
        return Edit(start, end, undone.group("rest"))
    return Edit(start, end, f"{written} {'+' if by > 0 else '-'} 1")


def _plain(arguments: list[ast.expr]) -> bool:
    return bool(arguments) and not any(isinstance(argument, ast.Starred) for argument in arguments)


def _is_integer(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)


def _place(code: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the start and end of a node, in characters; the parser counts bytes within a line."""
    lines = code.splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None

    def at(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())

    return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)


def _differs(code: str, changed: str) -> bool:
    before, after = parsed(code), parsed(changed)
    return before is not None and after is not None and ast.dump(before) != ast.dump(after)
