"""The order desk: its tools, and what its grader holds against a run."""

import inspect
import json
import typing
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import Difficulty, Environment, check_of, get_suite

ORDERS = get_suite("orders")


def task_of(*kinds: str, refused: bool = False, difficulty: Difficulty = "easy") -> SuiteTask:
    """The first task with these requests."""
    for task in ORDERS.tasks(200, seed=1, difficulty=difficulty):
        if task.data["requests"] == [*kinds] and bool(task.data["solution"]) is not refused:
            return task
    raise AssertionError(f"no task of {kinds}")


def tool(environment: Environment, name: str) -> Callable[..., str]:
    return next(tool for tool in environment.tools if tool.__name__ == name)


def solve(task: SuiteTask, environment: Environment) -> None:
    for name, arguments in typing.cast(list[tuple[str, dict[str, Any]]], task.data["solution"]):
        tool(environment, name)(**arguments)


def verdict(task: SuiteTask, environment: Environment, answer: str | None = None) -> Verdict:
    text = f"ANSWER: {task.reference if answer is None else answer}"
    return check_of(task, environment)(RunResult(text=text, native=None), task.text)


@pytest.mark.parametrize("kind", ["move", "cancel", "broken", "voucher", "again"])
def test_the_right_writes_pass_and_missing_doubled_or_further_ones_fail(kind: str) -> None:
    task = task_of(kind)
    untouched = ORDERS.environment(task)
    assert not verdict(task, untouched).passed
    environment = ORDERS.environment(task)
    solve(task, environment)
    assert verdict(task, environment) == Verdict(passed=True, score=1.0)
    wrong = verdict(task, environment, "I do not know")
    assert (wrong.passed, wrong.score) == (False, 0.5)
    assert "is not the right amount" in str(wrong.reason)
    tool(environment, "refund")("O-102", 1)
    extra = verdict(task, environment)
    assert (extra.passed, extra.score) == (False, 0.0)
    assert "1 EUR of O-102" in str(extra.reason)
    against_the_policy = task_of(kind, refused=True)
    assert against_the_policy.reference == "0"
    environment = ORDERS.environment(against_the_policy)
    assert verdict(against_the_policy, environment).passed
    tool(environment, "change_address")("O-101", "1 Elsewhere")
    said = verdict(against_the_policy, environment).reason
    assert "address of O-101 is '1 Elsewhere', which is wrong" in str(said)


def test_a_wrong_write_is_named_and_the_right_one_is_not_given_away() -> None:
    task = task_of("cancel")
    environment = ORDERS.environment(task)
    (_, arguments), (_, money) = typing.cast(list[tuple[str, dict[str, Any]]], task.data["solution"])
    tool(environment, "cancel_order")(**arguments)
    tool(environment, "refund")(arguments["order_id"], money["amount"] + 1)
    assert verdict(task, environment).reason == (
        f"paid back: {money['amount'] + 1} EUR of {arguments['order_id']}, which is wrong"
    )
    without = ORDERS.environment(task)
    tool(without, "cancel_order")(**arguments)
    assert verdict(task, without).reason == "paid back: nothing, which is wrong"


def test_every_request_is_met_and_refused_about_as_often_as_it_should() -> None:
    tasks = ORDERS.tasks(200, seed=0)
    kinds = Counter(str(task.data["requests"]) for task in tasks)
    assert len(kinds) == 5
    assert min(kinds.values()) >= 15
    refused = sum(not task.data["solution"] for task in tasks)
    assert 40 <= refused <= 90
    hard = ORDERS.tasks(40, seed=2, difficulty="hard")
    assert all(len(typing.cast(list[str], task.data["requests"])) == 2 for task in hard)
    assert any(len(typing.cast(list[Any], task.data["solution"])) >= 3 for task in hard)
    for task in hard:
        environment = ORDERS.environment(task)
        solve(task, environment)
        assert verdict(task, environment).passed, "its amounts add up"


def test_larger_worlds_have_two_customers_of_one_name_told_apart_by_their_city() -> None:
    for task in ORDERS.tasks(10, difficulty="medium"):
        customers = typing.cast(dict[str, Any], task.data["world"])["customers"]
        names = [row["name"] for row in customers.values()]
        assert names[0] == names[1]
        environment = ORDERS.environment(task)
        found = json.loads(tool(environment, "find_customers")(names[0].split()[0].lower()))
        assert len({row["city"] for row in found}) == 2
        assert sum(f"{row['name']} from {row['city']} writes" in task.text for row in found) == 1


def test_each_run_has_an_environment_of_its_own_and_the_same_calls_give_the_same_in_each() -> None:
    task = task_of("move")
    one, other = ORDERS.environment(task), ORDERS.environment(task)
    solve(task, one)
    assert verdict(task, one).passed
    assert not verdict(task, other).passed
    assert one.state.writes
    assert other.state.writes == []
    assert ORDERS.environment(task).state.world == task.data["world"]
    solve(task, other)
    assert tool(one, "get_order")("O-101") == tool(other, "get_order")("O-101")
    assert (one.state.world, one.state.writes) == (other.state.world, other.state.writes)


def test_frameworks_can_build_schemas_from_the_tools() -> None:
    environment = ORDERS.environment(task_of("move"))
    assert len(environment.tools) == 10
    for one in environment.tools:
        hints = typing.get_type_hints(one)
        assert inspect.isfunction(one)
        assert hints.pop("return") is str
        assert set(hints) == set(inspect.signature(one).parameters)
        assert set(hints.values()) <= {str, int}
        assert all(f"    {name}: " in str(inspect.getdoc(one)) for name in hints)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get_order", ("O-999",), "error: there is no order 'O-999'"),
        ("list_orders", ("nobody",), "error: there is no customer 'nobody'"),
        ("get_product", ("unicorn",), "error: there is no product 'unicorn'"),
        ("get_voucher", ("FREE",), "error: there is no voucher 'FREE'"),
        ("change_address", ("O-101", " "), "error: the address is empty"),
        ("refund", ("O-101", -5), "error: the amount has to be above 0"),
        ("refund", ("O-101", "a lot"), "error: expected a whole number, got 'a lot'"),
        ("refund", ("O-101", "inf"), "error: expected a whole number, got 'inf'"),
        ("refund", ("O-101", 2.5), "error: expected a whole number, got 2.5"),
        ("place_order", ("C-1", "P-1", 1000), "error: 1000 of P-1 cannot be ordered"),
        ("place_order", ("C-1", "P-1", 0), "error: 0 of P-1 cannot be ordered"),
        ("apply_voucher", ("O-101", "FREE"), "error: there is no voucher 'FREE'"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(name: str, arguments: tuple[Any, ...], message: str) -> None:
    task = task_of("move")
    environment = ORDERS.environment(task)
    assert tool(environment, name)(*arguments).startswith(message)
    assert environment.state.world == task.data["world"]
    assert environment.state.writes == []


def test_what_was_done_is_not_done_twice_and_a_customer_s_orders_are_listed() -> None:
    environment = ORDERS.environment(task_of("voucher"))
    world = environment.state.world
    order = next(key for key, row in world["orders"].items() if not row["voucher"])
    code = next(iter(world["vouchers"]))
    assert tool(environment, "apply_voucher")(order, code).startswith(f"{order} costs ")
    assert tool(environment, "apply_voucher")(order, code) == f"error: {order} has the voucher {code!r} already"
    product = world["orders"][order]["product"]
    world["orders"][order]["status"] = "open"
    tool(environment, "cancel_order")(order)
    stock = world["products"][product]["stock"]
    assert tool(environment, "cancel_order")(order) == f"error: {order} is cancelled already"
    assert world["products"][product]["stock"] == stock
    for amount in (5, 5.0, "5", "5.0"):  # as models write whole numbers
        assert tool(environment, "refund")("O-101", amount) == "5 EUR of O-101 are paid back"
    customer = world["orders"][order]["customer"]
    listed = json.loads(tool(environment, "list_orders")(customer))
    assert [row["id"] for row in listed] == [key for key, row in world["orders"].items() if row["customer"] == customer]
    assert len(listed) < len(world["orders"]), "nobody else's"


def test_a_task_without_its_world_or_environment_is_refused() -> None:
    task = task_of("move")
    with pytest.raises(ConfigError, match="pass the one that the team worked on"):
        ORDERS.check(task, RunResult(text="ANSWER: 0", native=None))
    with pytest.raises(ConfigError, match="have no 'world'"):
        ORDERS.environment(SuiteTask(id="1", suite="orders", text="?"))
