"""Exercises of one to four lines."""

from __future__ import annotations

from typing import Final

from tracer_hooks.suites._exercises._exercise import Exercise

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
