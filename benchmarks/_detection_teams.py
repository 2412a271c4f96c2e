"""Scripted teams in plain Python that pass, and their twins that fail, recorded through the hooks.

They are the second kind of run, beside tau2-bench, that is known to have passed. On purpose the passing ones hold the
harmless form of what the detector looks for: errors that were overcome, objections that were answered, searches that
came back empty once, loops that wait for something, assumptions that the task asks for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tracer_hooks.frameworks.plain import PlainTeam, agent, tool
from tracer_hooks.schema import Trajectory
from tracer_hooks.testing import observed


@dataclass(frozen=True)
class Call:
    """A tool call of a turn; it raises when ``fails``."""

    tool: str
    argument: str
    result: str
    fails: bool = False


@dataclass(frozen=True)
class Turn:
    """What one agent does when it is its turn."""

    agent: str
    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Play:
    """One run of one team."""

    family: str
    task: str
    turns: tuple[Turn, ...]
    failed: bool


Act = tuple[str, str] | tuple[str, str, tuple[Call, ...]]


def record(play: Play, *, keeps_output: bool) -> Trajectory:
    """Run the play as a hooked team; its outcome and, unless ``keeps_output``, its answer are left out."""

    def team(task: str) -> str:
        said = task
        for turn in play.turns:
            said = agent(name=turn.agent)(partial(_act, turn))(said)
        return said

    plain = PlainTeam(team, play.family)
    with observed(plain) as seen:
        plain.run(play.task)
    kept = {} if keeps_output else {"final_output": None}
    return seen.trajectory.model_copy(update=kept)


def _act(turn: Turn, said: str) -> str:
    for call in turn.calls:
        function = _tool(call)
        try:
            function(call.argument)
        except RuntimeError:
            continue  # the agent goes on, as frameworks do after a failed call
    return turn.text


def _tool(call: Call) -> Callable[[str], str]:
    def function(query: str) -> str:
        if call.fails:
            raise RuntimeError(call.result)
        return call.result

    function.__name__ = call.tool
    return tool(function)


def plays(per_family: int, seed: int) -> Iterator[Play]:
    """``per_family`` passing and as many failing runs of every family."""
    for family, write in FAMILIES.items():
        for number in range(per_family):
            rng = random.Random(f"{seed} {family} {number}")
            task, good, bad = write(rng)
            yield Play(family, task, _turns(good), failed=False)
            yield Play(family, task, _turns(bad), failed=True)


def _turns(acts: list[Act]) -> tuple[Turn, ...]:
    return tuple(Turn(*one) for one in acts)


Written = tuple[str, list[Act], list[Act]]


def ticket_office(rng: random.Random) -> Written:
    price, count = rng.randrange(12, 60), rng.randrange(2, 7)
    total, found = price * count * 1.1, f"A ticket costs {price}.00 EUR, plus a booking fee of 10 % on the whole order."
    task = f"What do {count} train tickets from Lisbon to Porto cost, booking fee included? Give the total in EUR."
    looked = (Call("ticket_price", "Lisbon, Porto", found),)
    failed = (Call("ticket_price", "Lisbon, Porto", "KeyError: no such route 'Lisbon, Porto'", fails=True),)
    good: list[Act] = [
        ("researcher", f"One ticket costs {price}.00 EUR and a booking fee of 10 % is added.", looked),
        ("calculator", f"{count} x {price}.00 EUR = {count * price}.00 EUR; with the fee, {total:.2f} EUR in total."),
        ("writer", f"Your {count} tickets from Lisbon to Porto cost {total:.2f} EUR."),
    ]
    bad: list[Act] = [
        ("researcher", "The lookup failed, so let's assume a typical price of 20.00 EUR for one ticket.", failed),
        ("calculator", f"Based on general knowledge the total is about {count * 20}.00 EUR."),
        ("writer", f"Your {count} tickets cost some {count * 20}.00 EUR. This is an estimate, please verify it."),
    ]
    return task, good, bad


def coders(rng: random.Random) -> Written:
    low, high = rng.randrange(10, 90), rng.randrange(100, 400)
    answer = sum(number for number in range(low, high) if number % 7 == 0)
    task = f"What is the sum of all multiples of 7 from {low} up to, but not including, {high}?"
    first = f"```python\nprint(sum(n for n in range({low}, {high}) if n % 7 = 0))\n```"
    fixed = f"```python\nprint(sum(n for n in range({low}, {high}) if n % 7 == 0))\n```"
    error = "exitcode: 1 (execution failed)\nCode output: SyntaxError: expression cannot contain assignment"
    good: list[Act] = [
        ("coder", f"Let's add them up in Python.\n{first}"),
        ("computer_terminal", error),
        ("coder", f"The comparison needs two equals signs; that was my mistake. Fixed:\n{fixed}"),
        ("computer_terminal", f"exitcode: 0 (execution succeeded)\nCode output: {answer}"),
        ("checker", f"I have looked at the range and at the condition: both are right, and {answer} follows."),
        ("coder", f"The sum of the multiples is {answer}. TERMINATE"),
    ]
    bad: list[Act] = [*good[:2], ("coder", f"Let me try another way.\n{first}"), ("computer_terminal", error)]
    bad += [("coder", f"Next, we will rewrite the script and run it again.\n{first}")] if rng.random() < 0.5 else []
    return task, good, bad


def debate(rng: random.Random) -> Written:
    left, right = rng.randrange(12, 60), rng.randrange(3, 9)
    answer, wrong = left * right + 4, left * (right + 4)
    task = f"Work out {left} times {right} plus 4, and say how you got there."
    opening: list[Act] = [
        ("solver_a", f"Multiplication comes first: {left * right}. Adding 4, the answer is {answer}."),
        ("solver_b", f"I add first and multiply then, so the answer is {wrong}."),
        ("solver_c", f"{left} times {right} is {left * right}; with 4 more the result is {answer}."),
    ]
    good = [
        *opening,
        ("solver_b", f"The others are right, I was wrong about the order. The answer is {answer}."),
        ("solver_a", f"We agree now: the answer is {answer}."),
        ("judge", f"All three come to the same number. Final answer: {answer}"),
    ]
    bad = [
        *opening,
        ("solver_b", f"No, that is incorrect: the sum is inside the product. The answer is {wrong}."),
        ("solver_a", f"That contradicts the order of operations and is wrong. The answer is {answer}."),
        ("solver_b", f"I disagree with solver_a; the reasoning is flawed. The answer is {wrong}."),
    ]
    return task, good, bad


def researchers(rng: random.Random) -> Written:
    year, club = rng.randrange(1950, 2010), rng.choice(["Aurora", "Fortuna", "Concordia", "Victoria"])
    task = f"In which year was the rowing club {club} of Eastport founded?"
    hit = (Call("web_search", f"{club} Eastport history", f"The rowing club {club} was founded in {year}."),)
    miss = (Call("web_search", f"{club} rowing", "No results found."),)
    good: list[Act] = [
        ("orchestrator", f"WebSurfer, please look up when the rowing club {club} was founded."),
        ("WebSurfer", "The first search found no results.", miss),
        ("orchestrator", "WebSurfer, please try the history page of the club."),
        ("WebSurfer", f"The history page says: founded in {year}.", hit),
        ("orchestrator", f"FINAL ANSWER: {year}"),
    ]
    lost: list[Act] = [
        ("orchestrator", "No progress is being made; we are stuck in a loop. New plan: search again."),
        ("WebSurfer", "I could not find any relevant information on the page.", miss),
    ]
    bad = [*good[:3], *(lost * rng.choice([1, 2, 3])), ("orchestrator", "WebSurfer, please visit the next page.")]
    return task, good, bad


def writers(rng: random.Random) -> Written:
    price, product = rng.randrange(20, 400), rng.choice(["kettle", "lamp", "desk", "tent"])
    task = f"Write one sentence that offers our {product} for {price} EUR, and have it reviewed."
    good: list[Act] = [
        ("writer", f"Our {product} is yours for {price + 10} EUR."),
        ("reviewer", f"Not correct: the price should be {price} EUR, not {price + 10}. Please fix it."),
        ("writer", f"Our {product} is yours for {price} EUR."),
        ("reviewer", f"Approved: the price of {price} EUR is right now, no issues found."),
    ]
    bad = [
        *good[:2],
        ("writer", f"Our lovely {product} is yours for {price + 10} EUR."),
        ("reviewer", f"Still wrong: it says {price + 10} EUR. It ignores the correction and needs to be fixed."),
    ]
    return task, good, bad


def waiters(rng: random.Random) -> Written:
    job, times = rng.randrange(1000, 9999), rng.randrange(2, 5)
    task = f"Wait until export job {job} is done and report its number of rows."
    pending: Act = ("operator", f"Job {job} is still running, as expected.", (Call("status", str(job), "pending"),))
    rows = rng.randrange(200, 9000)
    done: Act = ("operator", f"Job {job} is done.", (Call("status", str(job), f"done, {rows} rows"),))
    good: list[Act] = [pending] * times + [done, ("reporter", f"Export job {job} finished with {rows} rows.")]
    stuck: Act = (
        "operator",
        "I am unable to complete the export.",
        (Call("status", str(job), "job crashed", fails=True),),
    )
    bad: list[Act] = [pending] * (times + 3) + [stuck]
    return task, good, bad


def retriers(rng: random.Random) -> Written:
    city, warm = rng.choice(["Bergen", "Graz", "Porto", "Ghent"]), rng.randrange(5, 32)
    task = f"What is the temperature in {city} now, and does one need a coat below 15 degrees?"
    broken = Call("weather", city, "TimeoutError: the weather service did not answer", fails=True)
    works = Call("weather", city, f"{warm} degrees")
    coat = "so take a coat" if warm < 15 else "so no coat is needed"
    good: list[Act] = [
        ("forecaster", "The service timed out once; the second try went well.", (broken, works)),
        ("forecaster", f"It is {warm} degrees in {city}."),
        ("adviser", f"It is {warm} degrees in {city}, {coat}."),
    ]
    bad: list[Act] = [
        ("forecaster", "The weather service cannot be reached.", (broken, broken)),
        ("adviser", "I'm sorry, I could not determine the temperature without access to the service."),
    ]
    if rng.random() < 0.5:
        bad[-1] = ("adviser", f"From memory, {city} is typically around 18 degrees, so probably no coat is needed.")
    return task, good, bad


def planners(rng: random.Random) -> Written:
    guests, per_head = rng.randrange(8, 60), rng.randrange(12, 40)
    task = f"Assume {per_head} EUR for each of {guests} guests. Plan the budget of the party and name the total."
    good: list[Act] = [
        ("manager", "First the planner lists the costs, then the accountant adds them up."),
        ("planner", f"Assuming the {per_head} EUR that the task gives, food for {guests} guests is the only cost."),
        ("accountant", f"{guests} * {per_head} = {guests * per_head}. The total is {guests * per_head} EUR."),
        ("manager", f"The budget of the party is {guests * per_head} EUR. All is done."),
    ]
    bad: list[Act] = [
        *good[:2],
        ("accountant", f"{guests} * {per_head} = {guests * per_head + 30}. The total is {guests * per_head + 30} EUR."),
        ("manager", "I have verified the budget. Next, I will ask the caterer; the quote is still missing."),
    ]
    return task, good, bad


FAMILIES: dict[str, Callable[[random.Random], Written]] = {
    "ticket office": ticket_office,
    "coders": coders,
    "debate": debate,
    "researchers": researchers,
    "writers": writers,
    "waiters": waiters,
    "retriers": retriers,
    "planners": planners,
}
"""What writes the task, the passing acts and the failing acts of a run, by family."""
