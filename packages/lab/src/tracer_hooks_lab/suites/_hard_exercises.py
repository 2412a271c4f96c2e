"""Exercises that need an algorithm."""

from __future__ import annotations

from typing import Final

from tracer_hooks_lab.suites._exercises import Exercise

HARD: Final = (
    Exercise(
        name="evaluate",
        signature="def evaluate(expression: str) -> int",
        text="Work out an expression of whole numbers with +, -, * and parentheses; * binds closer. There may be "
        "spaces, and there is no sign before a number. Do not use eval or exec.",
        shown=('assert evaluate("2 + 3 * 4") == 14',),
        hidden=(
            'assert evaluate("(2 + 3) * 4") == 20',
            'assert evaluate("10-2-3") == 5',
            'assert evaluate("7") == 7',
            'assert evaluate("2*(3-(4-1))*5+12") == 12',
        ),
        solution="""
signs = list(expression.replace(" ", ""))

def factor():
    if signs[0] == "(":
        signs.pop(0)
        value = addition()
        signs.pop(0)
        return value
    digits = ""
    while signs and signs[0].isdigit():
        digits += signs.pop(0)
    return int(digits)

def product():
    value = factor()
    while signs and signs[0] == "*":
        signs.pop(0)
        value *= factor()
    return value

def addition():
    value = product()
    while signs and signs[0] in "+-":
        value = value + product() if signs.pop(0) == "+" else value - product()
    return value

return addition()
""",
    ),
    Exercise(
        name="shortest_path",
        signature="def shortest_path(roads: list[tuple[str, str, int]], start: str, goal: str) -> int | None",
        text="Each road joins two towns in both directions with its length. Return the length of the shortest way "
        "from start to goal, or None if there is no way. From a town to itself it is 0.",
        shown=('assert shortest_path([("a", "b", 5), ("b", "c", 2)], "a", "c") == 7',),
        hidden=(
            'assert shortest_path([("a", "b", 9), ("a", "c", 2), ("c", "b", 3)], "b", "a") == 5',
            'assert shortest_path([("a", "b", 1)], "a", "z") == None',
            'assert shortest_path([], "a", "a") == 0',
        ),
        solution="""
best, open_towns = {start: 0}, [(0, start)]
while open_towns:
    length, town = min(open_towns)
    open_towns.remove((length, town))
    if town == goal:
        return length
    for one, other, distance in roads:
        for here, there in ((one, other), (other, one)):
            if here == town and length + distance < best.get(there, float("inf")):
                best[there] = length + distance
                open_towns.append((best[there], there))
return None
""",
    ),
    Exercise(
        name="longest_increasing",
        signature="def longest_increasing(numbers: list[int]) -> int",
        text="Return the length of the longest strictly increasing subsequence: numbers in their order, but not "
        "necessarily next to each other.",
        shown=("assert longest_increasing([3, 1, 2, 5]) == 3",),
        hidden=(
            "assert longest_increasing([]) == 0",
            "assert longest_increasing([2, 2, 2]) == 1",
            "assert longest_increasing([10, 9, 2, 5, 3, 7, 101, 18]) == 4",
        ),
        solution="""
lengths = []
for place, number in enumerate(numbers):
    lengths.append(1 + max((lengths[i] for i in range(place) if numbers[i] < number), default=0))
return max(lengths, default=0)
""",
    ),
    Exercise(
        name="edit_distance",
        signature="def edit_distance(one: str, other: str) -> int",
        text="Return the least number of single characters to insert, delete or replace to turn one into other.",
        shown=('assert edit_distance("cat", "cut") == 1',),
        hidden=(
            'assert edit_distance("", "abc") == 3',
            'assert edit_distance("kitten", "sitting") == 3',
            'assert edit_distance("same", "same") == 0',
            'assert edit_distance("ab", "ba") == 2',
        ),
        solution="""
before = list(range(len(other) + 1))
for i, left in enumerate(one, start=1):
    now = [i]
    for j, right in enumerate(other, start=1):
        now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (left != right)))
    before = now
return before[-1]
""",
    ),
    Exercise(
        name="schedule",
        signature="def schedule(needs: dict[str, list[str]]) -> list[str] | None",
        text="Each task maps to the tasks that have to be done before it; all of them are keys. Return all tasks in "
        "an order that respects this; where several could come next, take the alphabetically first. Return None if "
        "no order is possible.",
        shown=('assert schedule({"eat": ["cook"], "cook": []}) == ["cook", "eat"]',),
        hidden=(
            'assert schedule({"a": ["b"], "b": ["a"]}) == None',
            'assert schedule({"c": [], "b": [], "a": ["c"]}) == ["b", "c", "a"]',
            "assert schedule({}) == []",
        ),
        solution="""
done = []
while len(done) < len(needs):
    ready = [task for task in needs if task not in done and all(need in done for need in needs[task])]
    if not ready:
        return None
    done.append(min(ready))
return done
""",
    ),
    Exercise(
        name="spiral",
        signature="def spiral(rows: list[list[int]]) -> list[int]",
        text="Return the numbers of the matrix in a spiral: the first row, down the last column, back along the last "
        "row, up the first column, and so on inward. Do not change the given matrix.",
        shown=("assert spiral([[1, 2], [3, 4]]) == [1, 2, 4, 3]",),
        hidden=(
            "assert spiral([]) == []",
            "assert spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) == [1, 2, 3, 6, 9, 8, 7, 4, 5]",
            "assert spiral([[1], [2], [3]]) == [1, 2, 3]",
            "assert (lambda rows: (spiral(rows), rows))([[1, 2]]) == ([1, 2], [[1, 2]])",
        ),
        solution="""
left, result = [list(row) for row in rows], []
while left:
    result += left[0]
    left = [list(row) for row in zip(*left[1:])][::-1]
return result
""",
    ),
    Exercise(
        name="best_cargo",
        signature="def best_cargo(goods: list[tuple[int, int]], limit: int) -> int",
        text="Each of the goods is (weight, value) and can be taken once or left. Return the largest total value "
        "whose total weight is at most the limit.",
        shown=("assert best_cargo([(2, 3), (3, 4), (4, 6)], 6) == 9",),
        hidden=(
            "assert best_cargo([], 10) == 0",
            "assert best_cargo([(5, 100)], 4) == 0",
            "assert best_cargo([(1, 1), (1, 1)], 1) == 1",
            "assert best_cargo([(10, 60), (20, 100), (30, 120)], 50) == 220",
        ),
        solution="""
best = [0] * (limit + 1)
for weight, value in goods:
    for room in range(limit, weight - 1, -1):
        best[room] = max(best[room], best[room - weight] + value)
return best[limit]
""",
    ),
    Exercise(
        name="islands",
        signature="def islands(rows: list[str]) -> int",
        text='Each row is a line of a map, with "#" for land and "." for water. Return the number of islands: land '
        "that hangs together up, down, left or right, not diagonally.",
        shown=('assert islands(["#.", ".#"]) == 2',),
        hidden=(
            "assert islands([]) == 0",
            'assert islands(["###", "#.#", "###"]) == 1',
            'assert islands(["#.#.#", ".....", "##..#"]) == 5',
        ),
        solution="""
land = {(i, j) for i, row in enumerate(rows) for j, sign in enumerate(row) if sign == "#"}
count = 0
while land:
    count += 1
    coast = [land.pop()]
    while coast:
        i, j = coast.pop()
        for place in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if place in land:
                land.remove(place)
                coast.append(place)
return count
""",
    ),
    Exercise(
        name="next_permutation",
        signature="def next_permutation(digits: str) -> str | None",
        text="Return the digits in the next larger order as a string, or None if they are in the largest already.",
        shown=('assert next_permutation("123") == "132"',),
        hidden=(
            'assert next_permutation("321") == None',
            'assert next_permutation("115") == "151"',
            'assert next_permutation("1320") == "2013"',
            'assert next_permutation("7") == None',
        ),
        solution="""
items = list(digits)
for place in range(len(items) - 2, -1, -1):
    if items[place] < items[place + 1]:
        other = max(i for i in range(place + 1, len(items)) if items[i] > items[place])
        items[place], items[other] = items[other], items[place]
        return "".join(items[:place + 1] + items[place + 1:][::-1])
return None
""",
    ),
    Exercise(
        name="bowling",
        signature="def bowling(rolls: list[int]) -> int",
        text="Return the score of a complete game of ten-pin bowling from the pins of each roll. A strike counts 10 "
        "plus the next two rolls, a spare 10 plus the next roll; the tenth frame's extra rolls only count as such.",
        shown=("assert bowling([1] * 20) == 20",),
        hidden=(
            "assert bowling([10] * 12) == 300",
            "assert bowling([5] * 21) == 150",
            "assert bowling([10, 3, 4] + [0] * 16) == 24",
            "assert bowling([0] * 18 + [7, 3, 9]) == 19",
        ),
        solution="""
score = place = 0
for _ in range(10):
    if rolls[place] == 10:
        score, place = score + 10 + rolls[place + 1] + rolls[place + 2], place + 1
    elif rolls[place] + rolls[place + 1] == 10:
        score, place = score + 10 + rolls[place + 2], place + 2
    else:
        score, place = score + rolls[place] + rolls[place + 1], place + 2
return score
""",
    ),
)
"""Exercises for larger models."""
