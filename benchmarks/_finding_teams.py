"""Five small teams in plain Python with tools that really run, and their tasks, for ``record_finding_runs.py``."""

from __future__ import annotations

import datetime
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tool = Callable[..., Any]


@dataclass(frozen=True)
class FindingTask:
    """A task with the world its tools look into, and the check of the answer."""

    text: str
    reference: str
    tools: Mapping[str, Tool]
    check: Callable[[str], str | None]
    """Why the answer is wrong; None where it is right."""


@dataclass(frozen=True)
class Member:
    """An agent: what it is told, and which of the task's tools it has."""

    instructions: str
    tools: tuple[str, ...] = ()


def calculate(expression: str) -> float:
    """Work out an expression of numbers, + - * / and brackets."""
    if not re.fullmatch(r"[\d\s.+*/()-]+", expression):
        raise ValueError(f"not an arithmetic expression: {expression!r}")
    return round(float(eval(expression, {"__builtins__": {}})), 4)


def says_number(wanted: float) -> Callable[[str], str | None]:
    """A check of the last number that an answer says."""

    def check(answer: str) -> str | None:
        found = re.findall(r"(?<![\w-])-?\d[\d,]*(?:\.\d+)?", answer)
        got = float(found[-1].replace(",", "")) if found else None
        return None if got is not None and abs(got - wanted) < 0.005 else f"check: expected {wanted:g}, got {got}"

    return check


def says_all(*wanted: str) -> Callable[[str], str | None]:
    """A check that an answer holds every one of these texts."""

    def check(answer: str) -> str | None:
        missing = [text for text in wanted if text.lower() not in answer.lower()]
        return f"AssertionError: {missing[0]!r} not in answer" if missing else None

    return check


CALLS = "To use a tool, write one line and nothing else, such as"

ORDER_DESK = {
    "record_clerk": Member(
        f"You are the record clerk of a shop. {CALLS} CALL get_order: A-100. When you have the record, list "
        "each article with quantity and unit price, and the shipping fee, in one line. Do not add up.",
        ("get_order",),
    ),
    "accountant": Member(
        "You are the accountant. Work out what the customer has to pay from the clerk's list and the task. "
        f"{CALLS} CALL calculate: 3 * 4.50 + 2 * 10 + 5. When you have the result, say it in one line.",
        ("calculate",),
    ),
    "correspondent": Member("You answer the customer in one sentence that ends with the amount in EUR."),
}
ARTICLES = {"desk lamp": 24.5, "binder": 3.2, "whiteboard": 58.0, "paper box": 21.9, "stapler": 8.75, "chair mat": 37.4}


def order_task(rng: random.Random, easy: bool = False) -> FindingTask:
    """An order of two or three articles with a fee for shipping, and sometimes a voucher on the goods."""
    order = f"{rng.choice('KRTV')}-{rng.randrange(1200, 9800)}"
    chosen = {name: rng.randrange(2, 9) for name in rng.sample(sorted(ARTICLES), 1 if easy else rng.choice([2, 3]))}
    discount, shipping = 0 if easy else rng.choice([0, 0, 10, 20]), rng.choice([4.9, 6.5, 12.0])

    def get_order(order_id: str) -> Any:
        """The record of an order: its lines, and the shipping fee."""
        if order_id != order:
            raise KeyError(f"no order {order_id}")
        lines = [{"name": name, "quantity": count, "unit_price": ARTICLES[name]} for name, count in chosen.items()]
        return {"order_id": order, "placed": "2026-03-17", "lines": lines, "shipping_eur": shipping}

    goods = sum(ARTICLES[name] * count for name, count in chosen.items())
    due = round(goods * (100 - discount) / 100 + shipping, 2)
    reduced = f" The customer has a voucher of {discount} % on the goods, not on shipping." if discount else ""
    text = f"What does the customer have to pay in total for order {order}, shipping included?{reduced}"
    return FindingTask(text, f"{due:.2f}", {"get_order": get_order, "calculate": calculate}, says_number(due))


MEETING = {
    "assistant": Member(
        "You are the assistant. Look up the free times of both persons on the date that the task means, one after the "
        f"other. {CALLS} CALL free_times: Ines, 2026-01-31. When you have both, list the free times of each person.",
        ("free_times",),
    ),
    "planner": Member(
        "You are the planner. Say which times are free for both, and which of these is the earliest that the task "
        "allows. Two lines at most."
    ),
    "secretary": Member(
        "You write the invitation in one sentence, with the date as YYYY-MM-DD and the start as HH:MM. "
        "Example: Ines and Juri meet on 2026-01-31 at 15:00."
    ),
}
PEOPLE = ("Amira", "Bruno", "Chen", "Dalia", "Edvard", "Farah")


def meeting_task(rng: random.Random, easy: bool = False) -> FindingTask:
    """The first common free hour of two people, on a day that is named or told by its distance from today."""
    today = datetime.date(2026, rng.randrange(2, 11), rng.randrange(1, 28))
    ahead = 0 if easy else rng.choice([0, 0, 1, 3])
    day = today + datetime.timedelta(days=ahead)
    people = rng.sample(PEOPLE, 2)
    common = sorted(rng.sample(range(9, 17), 2))
    others = [hour for hour in range(9, 17) if hour not in common]
    rng.shuffle(others)
    free = {people[0]: sorted(common + others[:2]), people[1]: sorted(common + others[2:4])}
    earliest = rng.choice([9, 9, common[0] + 1])
    start = next(hour for hour in common if hour >= earliest)

    def free_times(person: str, date: str) -> Any:
        """The hours at which a person is free on a date (YYYY-MM-DD)."""
        hours = free[person] if date == day.isoformat() else [17]
        return {"person": person, "date": date, "free": [f"{hour:02}:00" for hour in hours]}

    when = {0: f"on {day}", 1: "tomorrow", 3: "in 3 days"}[ahead]
    bound = "" if earliest == 9 else f" It must not start before {earliest:02}:00."
    meeting = f"Find the earliest one-hour meeting of {people[0]} and {people[1]} {when}.{bound}"
    text = f"Today is {today:%A}, {today}. {meeting}"
    return FindingTask(
        text, f"{day} {start:02}:00", {"free_times": free_times}, says_all(day.isoformat(), f"{start:02}:00")
    )


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


CODE = {
    "coder": Member("You write one Python function for the task, in one ```python block, without tests or prints."),
    "runner": Member("Runs the code with the task's example, and says what came out.", ("run_python",)),
    "reviewer": Member(
        "You review the function against every sentence of the task, in two sentences. If the example came out right "
        "and you see no mistake, end with APPROVE; else end with REVISE and what has to change."
    ),
}
FUNCTIONS = json.loads((Path(__file__).parent / "data" / "findings" / "code_tasks.json").read_text(encoding="utf-8"))
"""Each with a task, its example call, and hidden tests."""


def code_task(rng: random.Random, easy: bool = False) -> FindingTask:
    """One of :data:`FUNCTIONS`."""
    chosen = rng.choice([function for function in FUNCTIONS if function["easy"] == easy])

    def run_python(code: str) -> Any:
        """Run the code and the task's example; give back what is printed."""
        return run_code(f"{code}\nprint(repr({chosen['example']}))")

    def check(answer: str) -> str | None:
        for test in chosen["tests"]:
            if (said := run_code(f"{answer}\nassert {test}, {test!r}")).startswith("exit"):
                return f"test failed: {said.splitlines()[-1]}"
        return None

    return FindingTask(chosen["task"], "; ".join(chosen["tests"]), {"run_python": run_python}, check)


def run_code(code: str) -> str:
    """Run code in a process of its own and give back what it says."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        return "exit code 124\nTimeoutError: the code ran longer than 20 s"
    return done.stdout.strip() if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr.strip()}"


REPORT = {
    "extractor": Member(
        "You are the extractor. Copy the expenses of the department that the task names, and of no other, into a "
        "table. Refunds are negative. Example:\n"
        "| item | EUR |\n| pens | 12 |\n| chairs | 230 |\n| bus fare refund | -5 |"
    ),
    "tabulator": Member(
        f"You are the tabulator. Add up the rows of the table. {CALLS} CALL calculate: 12 + 230 - 5. When you have "
        "the result, say it in one line.",
        ("calculate",),
    ),
    "summariser": Member("You answer the task in one sentence from the sum, ending with the amount in EUR."),
}
ITEMS = (
    "train tickets",
    "two monitors",
    "a workshop",
    "catering",
    "printer ink",
    "a licence",
    "hotel nights",
    "a desk",
)


def report_task(rng: random.Random, easy: bool = False) -> FindingTask:
    """Notes of expenses in prose: how much a department spent in all."""
    departments = rng.sample(("Sales", "Design", "Legal", "Support", "Research"), 2)
    lines, total = [], 0
    for place, item in enumerate(rng.sample(ITEMS, rng.choice([2, 3]) if easy else rng.choice([4, 5, 5]))):
        department, amount = departments[0 if easy else place % 2], rng.randrange(35, 480)
        form = "paid" if easy else rng.choice(("paid", "paid", "paid", "paid", "refund", "cancelled"))
        if department == departments[0]:
            total += {"paid": amount, "refund": -amount, "cancelled": 0}[form]
        lines.append(
            {
                "paid": f"{department} paid {amount} EUR for {item}.",
                "refund": f"{department} got {amount} EUR back for {item}.",
                "cancelled": f"{department} had planned {item} for {amount} EUR, but that was cancelled.",
            }[form]
        )
    rng.shuffle(lines)
    text = f"How much did {departments[0]} spend in all, refunds taken off?\nNotes: {' '.join(lines)}"
    return FindingTask(text, f"{total} EUR", {"calculate": calculate}, says_number(total))


TRAVEL = {
    "manager": Member(
        "You are the manager of a travel desk. You do not calculate. Write two lines, RIDE: for the specialist of the "
        "bus ride and CLOCK: for the specialist of times, with the numbers of the task. Example:\n"
        "RIDE: How many minutes are 45 km at 90 km/h?\n"
        "CLOCK: Start at 10:15, add 30 min for the train, add 10 min of waiting, then add the bus ride."
    ),
    "ride_specialist": Member(
        "You work out how many minutes a ride takes, in one line. Example: 45 km / 90 km/h = 0.5 h = 30 min"
    ),
    "clock_specialist": Member(
        "You add lengths of time to a time of day, step by step in one line. Example: 10:15 + 30 min = 10:45, "
        "10:45 + 10 min = 10:55"
    ),
    "desk": Member("You answer the traveller in one sentence that ends with the time of arrival as HH:MM."),
}


def travel_task(rng: random.Random, easy: bool = False) -> FindingTask:
    """A train, a wait and a bus: when does the traveller arrive?"""
    start, train, wait = rng.randrange(7 * 60, 15 * 60, 5), rng.randrange(20, 95, 5), rng.choice([5, 10, 15, 20])
    speed, minutes = rng.choice([(60, 20), (60, 24), (40, 30), (80, 45), (60, 30)])
    train_said = f"{train} min" if train < 60 else f"{train // 60} h {train % 60} min"
    text = (
        f"A train leaves at {_clock(start)} and takes {train_said}. The bus leaves {wait} minutes after the train's "
        f"arrival and drives {speed * minutes // 60} km at {speed} km/h. When does the traveller arrive?"
    )
    arrival = _clock(start + train + wait + minutes)
    return FindingTask(text, arrival, {}, says_all(arrival))


def shown(result: Any) -> str:
    """What a tool gave back, as its caller is shown it."""
    return result if isinstance(result, str) else json.dumps(result)
