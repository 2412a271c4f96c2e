"""Programming exercises with tests and right solutions: one to four lines, and a loop or two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A function to write, with its tests."""

    name: str
    """The function's name."""
    signature: str
    """Its first line, without the colon."""
    text: str
    """What it has to do."""
    shown: tuple[str, ...]
    """Tests that the team sees, as ``assert EXPRESSION == LITERAL``."""
    hidden: tuple[str, ...]
    """Tests that only the grader has."""
    solution: str
    """The body of a right solution, without the first line, not indented."""

    @property
    def code(self) -> str:
        """A right solution."""
        body = "\n".join(f"    {line}" if line else "" for line in self.solution.strip().splitlines())
        return f"{self.signature}:\n{body}\n"


EASY: Final = (
    Exercise(
        name="total_price",
        signature="def total_price(prices: list[int], fee: int) -> int",
        text="Return the sum of the prices plus the fee. The fee is charged only if there is at least one price.",
        shown=("assert total_price([10, 5], 2) == 17",),
        hidden=(
            "assert total_price([], 2) == 0",
            "assert total_price([7], 0) == 7",
            "assert total_price([1, 2, 3], 4) == 10",
        ),
        solution="return sum(prices) + fee if prices else 0",
    ),
    Exercise(
        name="count_even",
        signature="def count_even(numbers: list[int]) -> int",
        text="Return how many of the numbers are even. Zero is even.",
        shown=("assert count_even([1, 2, 4]) == 2",),
        hidden=(
            "assert count_even([]) == 0",
            "assert count_even([0, -2, 3, 5]) == 2",
            "assert count_even([7, 9]) == 0",
        ),
        solution="return sum(number % 2 == 0 for number in numbers)",
    ),
    Exercise(
        name="initials",
        signature="def initials(name: str) -> str",
        text="Return the first letters of the words in the name, as capitals and with a full stop after each.",
        shown=('assert initials("ada lovelace") == "A.L."',),
        hidden=(
            'assert initials("Grace") == "G."',
            'assert initials("john  ronald reuel") == "J.R.R."',
            'assert initials("") == ""',
        ),
        solution='return "".join(word[0].upper() + "." for word in name.split())',
    ),
    Exercise(
        name="clamp",
        signature="def clamp(value: int, low: int, high: int) -> int",
        text="Return the value, or low if the value is smaller than low, or high if it is larger than high.",
        shown=("assert clamp(5, 0, 3) == 3", "assert clamp(-1, 0, 3) == 0"),
        hidden=(
            "assert clamp(2, 0, 3) == 2",
            "assert clamp(3, 0, 3) == 3",
            "assert clamp(-7, -5, -5) == -5",
        ),
        solution="return max(low, min(value, high))",
    ),
    Exercise(
        name="second_largest",
        signature="def second_largest(numbers: list[int]) -> int | None",
        text="Return the second largest different number, or None if there are fewer than two different numbers.",
        shown=("assert second_largest([3, 1, 2]) == 2",),
        hidden=(
            "assert second_largest([5, 5, 4]) == 4",
            "assert second_largest([5, 5]) == None",
            "assert second_largest([]) == None",
            "assert second_largest([-1, -3]) == -3",
        ),
        solution="different = sorted(set(numbers))\nreturn different[-2] if len(different) > 1 else None",
    ),
    Exercise(
        name="is_palindrome",
        signature="def is_palindrome(text: str) -> bool",
        text="Return whether the text reads the same backward. Ignore case and everything that is not a letter.",
        shown=('assert is_palindrome("Anna") == True',),
        hidden=(
            'assert is_palindrome("Madam, I\'m Adam!") == True',
            'assert is_palindrome("Anne") == False',
            'assert is_palindrome("") == True',
        ),
        solution="letters = [letter.lower() for letter in text if letter.isalpha()]\nreturn letters == letters[::-1]",
    ),
    Exercise(
        name="fahrenheit",
        signature="def fahrenheit(celsius: float) -> float",
        text="Convert a temperature from Celsius to Fahrenheit and round it to one decimal place.",
        shown=("assert fahrenheit(100) == 212.0",),
        hidden=(
            "assert fahrenheit(0) == 32.0",
            "assert fahrenheit(-40) == -40.0",
            "assert fahrenheit(36.6) == 97.9",
        ),
        solution="return round(celsius * 9 / 5 + 32, 1)",
    ),
    Exercise(
        name="longest_word",
        signature="def longest_word(text: str) -> str",
        text="Return the longest word of the text, the first one if several are equally long. Words are separated "
        "by spaces. Return an empty string if there is no word.",
        shown=('assert longest_word("a bird sings") == "sings"',),
        hidden=(
            'assert longest_word("one two") == "one"',
            'assert longest_word("") == ""',
            'assert longest_word("  spaced   out  ") == "spaced"',
        ),
        solution='return max(text.split(), key=len, default="")',
    ),
    Exercise(
        name="without_duplicates",
        signature="def without_duplicates(items: list[int]) -> list[int]",
        text="Return the items in their order, each only the first time it occurs. Do not change the given list.",
        shown=("assert without_duplicates([1, 2, 1]) == [1, 2]",),
        hidden=(
            "assert without_duplicates([]) == []",
            "assert without_duplicates([3, 3, 2, 3, 1]) == [3, 2, 1]",
            "assert (lambda items: (without_duplicates(items), items))([1, 1]) == ([1], [1, 1])",
        ),
        solution="return list(dict.fromkeys(items))",
    ),
    Exercise(
        name="leap_year",
        signature="def leap_year(year: int) -> bool",
        text="Return whether the year is a leap year: one that 4 divides, except for centuries that 400 does not "
        "divide.",
        shown=("assert leap_year(2024) == True", "assert leap_year(2023) == False"),
        hidden=(
            "assert leap_year(1900) == False",
            "assert leap_year(2000) == True",
            "assert leap_year(2100) == False",
            "assert leap_year(4) == True",
        ),
        solution="return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
    ),
    Exercise(
        name="mean_of_positive",
        signature="def mean_of_positive(numbers: list[int]) -> float",
        text="Return the mean of the numbers greater than zero, or 0.0 if there are none.",
        shown=("assert mean_of_positive([2, 4, -6]) == 3.0",),
        hidden=(
            "assert mean_of_positive([]) == 0.0",
            "assert mean_of_positive([0, -1]) == 0.0",
            "assert mean_of_positive([1, 2, 0]) == 1.5",
        ),
        solution="positive = [number for number in numbers if number > 0]\n"
        "return sum(positive) / len(positive) if positive else 0.0",
    ),
    Exercise(
        name="swap_ends",
        signature="def swap_ends(text: str) -> str",
        text="Return the text with its first and last character exchanged.",
        shown=('assert swap_ends("code") == "eodc"',),
        hidden=('assert swap_ends("a") == "a"', 'assert swap_ends("") == ""', 'assert swap_ends("ab") == "ba"'),
        solution="return text if len(text) < 2 else text[-1] + text[1:-1] + text[0]",
    ),
    Exercise(
        name="minutes",
        signature="def minutes(clock: str) -> int",
        text='Return the minutes since midnight of a time written as "hours:minutes".',
        shown=('assert minutes("01:30") == 90',),
        hidden=('assert minutes("00:00") == 0', 'assert minutes("23:59") == 1439', 'assert minutes("7:05") == 425'),
        solution='hours, rest = clock.split(":")\nreturn int(hours) * 60 + int(rest)',
    ),
    Exercise(
        name="vowels",
        signature="def vowels(text: str) -> int",
        text="Return how many of the letters a, e, i, o, u are in the text; capital letters count, too.",
        shown=('assert vowels("Queue") == 4',),
        hidden=('assert vowels("") == 0', 'assert vowels("rhythm") == 0', 'assert vowels("AEIOU aeiou") == 10'),
        solution='return sum(letter in "aeiou" for letter in text.lower())',
    ),
)
"""Exercises for small models."""
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
