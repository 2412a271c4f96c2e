"""Exercises of a loop or two."""

from __future__ import annotations

from typing import Final

from tracer_hooks.suites._exercises._exercise import Exercise

MEDIUM: Final = (
    Exercise(
        name="run_lengths",
        signature="def run_lengths(text: str) -> str",
        text='Shorten runs of equal characters to the character and its count, so that "aaab" becomes "a3b1".',
        shown=('assert run_lengths("aaab") == "a3b1"',),
        hidden=(
            'assert run_lengths("") == ""',
            'assert run_lengths("abab") == "a1b1a1b1"',
            'assert run_lengths("zzzzzzzzzzzz") == "z12"',
        ),
        solution="""
parts, start = [], 0
for place in range(1, len(text) + 1):
    if place == len(text) or text[place] != text[start]:
        parts.append(f"{text[start]}{place - start}")
        start = place
return "".join(parts)
""",
    ),
    Exercise(
        name="roman",
        signature="def roman(number: int) -> str",
        text="Return the Roman numeral of a number from 1 to 3999.",
        shown=('assert roman(14) == "XIV"',),
        hidden=(
            'assert roman(1) == "I"',
            'assert roman(1994) == "MCMXCIV"',
            'assert roman(3999) == "MMMCMXCIX"',
            'assert roman(40) == "XL"',
        ),
        solution="""
values = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
signs = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
text = ""
for value, sign in zip(values, signs):
    text += sign * (number // value)
    number %= value
return text
""",
    ),
    Exercise(
        name="merge_spans",
        signature="def merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]",
        text="Each span is (start, end) with start <= end. Merge spans that overlap or touch (share an end), and "
        "return the merged ones, sorted by start.",
        shown=("assert merge_spans([(1, 3), (2, 5)]) == [(1, 5)]",),
        hidden=(
            "assert merge_spans([]) == []",
            "assert merge_spans([(5, 6), (1, 2), (2, 4)]) == [(1, 4), (5, 6)]",
            "assert merge_spans([(1, 9), (2, 3), (10, 11)]) == [(1, 9), (10, 11)]",
        ),
        solution="""
merged = []
for start, end in sorted(spans):
    if merged and start <= merged[-1][1]:
        merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
    else:
        merged.append((start, end))
return merged
""",
    ),
    Exercise(
        name="balanced",
        signature="def balanced(text: str) -> bool",
        text="Return whether the brackets (), [] and {} in the text are closed in the right order. Other characters "
        "do not count.",
        shown=('assert balanced("(a[b])") == True', 'assert balanced("(]") == False'),
        hidden=(
            'assert balanced("") == True',
            'assert balanced("([)]") == False',
            'assert balanced("(") == False',
            'assert balanced("}") == False',
            'assert balanced("{[()]}()") == True',
        ),
        solution="""
pairs, open_brackets = {")": "(", "]": "[", "}": "{"}, []
for sign in text:
    if sign in pairs.values():
        open_brackets.append(sign)
    elif sign in pairs and (not open_brackets or open_brackets.pop() != pairs[sign]):
        return False
return not open_brackets
""",
    ),
    Exercise(
        name="word_counts",
        signature="def word_counts(text: str) -> dict[str, int]",
        text="Return how often each word occurs, in lower case. Words are separated by white space; the characters "
        ". , ! ? at the end of a word do not belong to it.",
        shown=('assert word_counts("Go, go!") == {"go": 2}',),
        hidden=(
            'assert word_counts("") == {}',
            'assert word_counts("One two. ONE?") == {"one": 2, "two": 1}',
            'assert word_counts("well... e.g. this") == {"well": 1, "e.g": 1, "this": 1}',
        ),
        solution="""
counts = {}
for word in text.lower().split():
    word = word.rstrip(".,!?")
    if word:
        counts[word] = counts.get(word, 0) + 1
return counts
""",
    ),
    Exercise(
        name="rotate",
        signature="def rotate(items: list[int], steps: int) -> list[int]",
        text="Return the items rotated to the right by that many steps; to the left if steps is negative. Steps may "
        "be larger than the list.",
        shown=("assert rotate([1, 2, 3], 1) == [3, 1, 2]",),
        hidden=(
            "assert rotate([], 3) == []",
            "assert rotate([1, 2, 3], -1) == [2, 3, 1]",
            "assert rotate([1, 2, 3], 7) == [3, 1, 2]",
            "assert rotate([1, 2], 0) == [1, 2]",
        ),
        solution="""
if not items:
    return []
steps %= len(items)
return items[len(items) - steps:] + items[:len(items) - steps]
""",
    ),
    Exercise(
        name="prime_factors",
        signature="def prime_factors(number: int) -> list[int]",
        text="Return the prime factors of a number from 1 on in ascending order, each as often as it divides. The "
        "number 1 has none.",
        shown=("assert prime_factors(12) == [2, 2, 3]",),
        hidden=(
            "assert prime_factors(1) == []",
            "assert prime_factors(97) == [97]",
            "assert prime_factors(360) == [2, 2, 2, 3, 3, 5]",
            "assert prime_factors(49) == [7, 7]",
        ),
        solution="""
factors, divisor = [], 2
while divisor * divisor <= number:
    while number % divisor == 0:
        factors.append(divisor)
        number //= divisor
    divisor += 1
return factors + [number] if number > 1 else factors
""",
    ),
    Exercise(
        name="caesar",
        signature="def caesar(text: str, shift: int) -> str",
        text="Move every letter a-z and A-Z that many places on in the alphabet, going round at its end, and keep "
        "its case. Other characters stay. The shift may be negative.",
        shown=('assert caesar("xyz", 3) == "abc"',),
        hidden=(
            'assert caesar("Hello, World!", 5) == "Mjqqt, Btwqi!"',
            'assert caesar("abc", -1) == "zab"',
            'assert caesar("a1", 27) == "b1"',
        ),
        solution="""
result = ""
for letter in text:
    if "a" <= letter <= "z":
        result += chr((ord(letter) - ord("a") + shift) % 26 + ord("a"))
    elif "A" <= letter <= "Z":
        result += chr((ord(letter) - ord("A") + shift) % 26 + ord("A"))
    else:
        result += letter
return result
""",
    ),
    Exercise(
        name="transpose",
        signature="def transpose(rows: list[list[int]]) -> list[list[int]]",
        text="Return the matrix with its rows as columns. All rows are equally long; there may be no row.",
        shown=("assert transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]",),
        hidden=(
            "assert transpose([]) == []",
            "assert transpose([[1, 2, 3]]) == [[1], [2], [3]]",
            "assert transpose([[1], [2]]) == [[1, 2]]",
        ),
        solution="return [list(column) for column in zip(*rows)]",
    ),
    Exercise(
        name="change",
        signature="def change(amount: int) -> dict[int, int]",
        text="Pay the amount in cents with as few coins as possible out of 50, 20, 10, 5, 2 and 1. Return the number "
        "of each coin that is used; coins that are not used are left out.",
        shown=("assert change(63) == {50: 1, 10: 1, 2: 1, 1: 1}",),
        hidden=(
            "assert change(0) == {}",
            "assert change(99) == {50: 1, 20: 2, 5: 1, 2: 2}",
            "assert change(100) == {50: 2}",
        ),
        solution="""
coins = {}
for coin in (50, 20, 10, 5, 2, 1):
    if amount // coin:
        coins[coin] = amount // coin
        amount %= coin
return coins
""",
    ),
    Exercise(
        name="median",
        signature="def median(numbers: list[float]) -> float | None",
        text="Return the middle number, or the mean of the two middle ones if their count is even, or None if there "
        "is none. Do not change the given list.",
        shown=("assert median([3, 1, 2]) == 2",),
        hidden=(
            "assert median([]) == None",
            "assert median([4, 1, 3, 2]) == 2.5",
            "assert median([7]) == 7",
            "assert (lambda items: (median(items), items))([2, 1]) == (1.5, [2, 1])",
        ),
        solution="""
if not numbers:
    return None
ordered, middle = sorted(numbers), len(numbers) // 2
return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
""",
    ),
    Exercise(
        name="group_by_length",
        signature="def group_by_length(words: list[str]) -> dict[int, list[str]]",
        text="Return the words by their length; the words of one length in alphabetical order, without duplicates.",
        shown=('assert group_by_length(["b", "a", "cc"]) == {1: ["a", "b"], 2: ["cc"]}',),
        hidden=(
            "assert group_by_length([]) == {}",
            'assert group_by_length(["x", "x"]) == {1: ["x"]}',
            'assert group_by_length(["", "ab", "aa"]) == {0: [""], 2: ["aa", "ab"]}',
        ),
        solution="""
groups = {}
for word in sorted(set(words)):
    groups.setdefault(len(word), []).append(word)
return groups
""",
    ),
)
"""Exercises with an edge case or two to think of."""
