"""The experiments on repairs go on where they stopped, keep what they promise of each arm, and count rightly."""

import json
import lzma
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.endpoint import Endpoint
from tracer_hooks_lab.suites import run_python
from tracer_hooks_lab.teams import plain

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
PLACE = Endpoint(base_url="http://127.0.0.1:1/v1", model="scripted")


class Model:
    """A planner that writes a wrong plan every second time; the others carry on what they are shown."""

    def __init__(self) -> None:
        self.seen: list[list[dict[str, Any]]] = []
        self._plans = 0

    def complete(self, messages: Any, tools: Any = ()) -> dict[str, Any]:
        self.seen.append([dict(one) for one in messages])
        told, shown = messages[0]["content"], messages[1]["content"]
        return {"role": "assistant", "content": self._said(told, shown), "usage": USAGE}

    def _said(self, told: str, shown: str) -> str:
        if "You are the planner" in told:
            self._plans += 1
            return "1 + 1" if self._plans % 2 else "6 * 7"
        if "You are the solver" in told:
            return "6 * 7 = 42" if "6 * 7" in shown else "1 + 1 = 2"
        return "ANSWER: 42" if "= 42" in shown else "ANSWER: 2"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    scripted = Model()
    monkeypatch.setattr(plain.ChatClient, "complete", lambda self, messages, tools=(): scripted.complete(messages))
    return scripted


def experiment(load: Any, count: int = 6) -> Any:
    teams, run = load("_self_correction_tasks"), load("_self_correction_run")
    made = [
        teams.SuiteTask(id=f"sum-{number}", text=f"Ada has 6 boxes of 7 pens, {number}. How many pens?", reference="42")
        for number in range(count)
    ]
    return run.Experiment(teams.WORD_SUMS, teams.plan_for(teams.WORD_SUMS, PLACE), made, teams.asker(PLACE))


def run_all(load: Any, path: Path, wanted: int = 2, workers: int = 1) -> Any:
    run, journal = load("_self_correction_run"), load("_self_correction_journal").Journal(path)
    queue = run.Queue()
    phases = (
        run.Phase(0, ("plain", "resume", "feedback_in_task", "resume_oracle")),
        run.Phase(5, ("plain",), rounds=3),
    )
    run.Schedule(journal, queue).add(experiment(load), 1.0, wanted, 1, phases)
    run.work_off(queue, workers, 60.0, lambda: "")
    journal.close()
    return journal


def test_a_second_start_asks_for_nothing_but_what_a_crash_cut_off(load: Any, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = run_all(load, path)
    assert len(first.failures("word_sums")) == 2
    asked, text = len(model.seen), path.read_text()
    again = run_all(load, path)
    assert (len(model.seen), path.read_text(), again.trials) == (asked, text, first.trials)
    lines = text.splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    mended = run_all(load, path)
    assert (set(mended.trials), mended.finished) == (set(first.trials), first.finished)
    assert all(json.loads(line) for line in path.read_text().splitlines() if line != lines[-1][:20])


def test_later_retries_are_made_only_after_failed_ones(load: Any, model: Model, tmp_path: Path) -> None:
    journal = run_all(load, tmp_path / "journal.jsonl", wanted=3)
    outcomes = load("_self_correction_journal")
    for failure in journal.failures("word_sums"):
        draws = [journal.trials[key]["passed"] for key in sorted(journal.trials) if key[:2] == (failure["id"], "plain")]
        assert 1 <= len(draws) <= 3
        assert not any(draws[:-1])
        course = outcomes.course(journal, failure, lambda failure, round_: "plain", 3)
        assert course.solved == (len(draws) - 1 if draws[-1] else None)


def test_a_resumed_run_asks_only_from_its_step_on(load: Any, model: Model, tmp_path: Path) -> None:
    run, actions = load("_self_correction_run"), load("_self_correction_journal")
    one = experiment(load)
    failure = run.first_attempt(one, one.tasks[0], 0)
    assert not failure["passed"]
    assert failure["truth"] == 0
    model.seen.clear()
    row = run.trial(one, failure, actions.resume(2), 0)
    assert len(model.seen) == 1
    assert "1 + 1 = 2" in model.seen[0][1]["content"]
    assert (row["tokens_in"], row["tokens_out"]) == (100, 10)
    assert actions.resume(0) == actions.PLAIN


def test_a_retry_asks_word_for_word_what_the_recorded_run_asked(load: Any, model: Model) -> None:
    teams, one = load("_self_correction_tasks"), experiment(load)
    load("_self_correction_run").first_attempt(one, one.tasks[0], 0)
    recorded = list(model.seen)
    model._plans = 0
    model.seen.clear()
    teams.play(one.plan, one.ask, one.tasks[0].text, teams.Changes())
    assert model.seen == recorded


def test_feedback_reaches_whom_it_is_for_and_never_tells_the_answer(load: Any, model: Model) -> None:
    run = load("_self_correction_run")
    one = experiment(load)
    failure = run.first_attempt(one, one.tasks[0], 0)
    assert "'2'" in failure["feedback"]
    for action, reached in (("task", [True, True, True]), ("message:solver", [False, True, False])):
        model.seen.clear()
        run.trial(one, failure, action, 0)
        assert [failure["feedback"] in request[1]["content"] for request in model.seen] == reached
        assert not any("42" in request[1]["content"].partition("wrote")[0] for request in model.seen)


@pytest.mark.parametrize(
    ("turns", "step"),
    [
        (("6 + 7", "6 + 7 = 13", "ANSWER: 13"), 0),
        (("6 * 7", "6 * 7 = 43", "ANSWER: 43"), 1),
        (("6 * 7", "6 * 7 = 42", "It is correct."), 2),
        (("6 + 7", "6 * 7 = 42", "ANSWER: 13"), 2),
        (("6 boxes x 7 pens/box", "48", "48"), 1),
        (("Multiply the boxes.", "6 * 7 = 43", "43"), 1),
        (("Multiply the boxes.", "6 + 7 = 13", "13"), 0),
    ],
)
def test_the_first_wrong_step_is_found_by_arithmetic(load: Any, turns: tuple[str, ...], step: int) -> None:
    tasks = load("_self_correction_tasks")
    task = tasks.SuiteTask(id="one", text="6 boxes of 7 pens", reference="42")
    said = [tasks.Turn(agent, text) for agent, text in zip(("planner", "solver", "checker"), turns, strict=True)]
    assert tasks.decisive_step("word_sums", task, said) == step


def test_feedback_on_code_hides_what_was_expected_and_the_tasks_can_be_solved(load: Any) -> None:
    tasks = load("_self_correction_tasks")
    data = {"function": "f", "tests": ["assert f(2) == 4", "assert f(7) == 14"]}
    task = tasks.SuiteTask(id="double", suite="code", text="Double", data=data)
    said = tasks.judge("code", task, "```python\ndef f(x):\n    return x * x\n```")
    assert (said.passed, said.score) == (False, 0.5)
    assert "f(7) == [hidden]" in said.feedback
    assert "49" in said.feedback
    assert "14" not in said.feedback
    converted = tasks.human_eval_tasks()
    assert len(converted) == 155
    for task in converted[::31]:
        assert run_python(str(task.reference), tests=[str(test) for test in task.data["tests"]]).passed
    assert all("== " in str(test) and "candidate" not in str(test) for one in converted for test in one.data["tests"])


def test_the_intervals_and_the_difference_are_paired_and_by_task(load: Any) -> None:
    statistics, outcomes = load("_self_correction_report"), load("_self_correction_journal")
    chance = random.Random(3)

    def courses(passes: list[bool]) -> dict[str, Any]:
        return {
            str(at): outcomes.Course(str(at), f"task {at // 2}", True, [50], [5], 0 if passed else None, 100)
            for at, passed in enumerate(passes)
        }

    plain = [chance.random() < 0.4 for _ in range(200)]
    better = [passed or chance.random() < 0.3 for passed in plain]
    row = statistics.compared(courses(better), courses(plain), 1)
    won = sum(new and not old for new, old in zip(better, plain, strict=True))
    assert (row["n"], row["tasks"], row["won"], row["lost"]) == (200, 100, won, 0)
    middle, low, high = row["difference"]
    assert middle == pytest.approx(won / 200)
    assert 0 < low < middle < high
    same = statistics.compared(courses(plain), courses(plain), 1)
    assert same["difference"] == (0.0, 0.0, 0.0)
    twins = statistics.interval([float(at // 100) for at in range(200)], [str(at // 100) for at in range(200)])
    assert twins[2] - twins[1] == 1.0  # two tasks only: nothing is known, however many failures there are
    cheap = {"a": outcomes.Course("a", "t", True, [40, 40], [1, 1], 1, 100)}
    dear = {"a": outcomes.Course("a", "t", True, [100], [1], 0, 100)}
    for budget, gained in ((0.8, 1.0), (1.0, 0.0)):
        assert statistics.at_equal_tokens(cheap, dear, budget)["difference"][0] == gained
    assert statistics.failures_needed(0.38, 0.1) == 296


def test_later_rounds_count_only_where_all_of_them_were_run(load: Any, tmp_path: Path) -> None:
    outcomes = load("_self_correction_journal")
    journal = outcomes.Journal(tmp_path / "j.jsonl")
    blame = {"step": 0, "agent": "planner", "confidence": 0.5}
    failures = [
        {"id": name, "task": name, "blame": blame, "truth": 0, "tokens_in": 90, "tokens_out": 10, "turns": []}
        for name in "abc"
    ]
    for name, passed in (("a", True), ("b", False), ("c", True)):
        row = {"kind": "trial", "failure": name, "action": "plain", "draw": 0, "passed": passed}
        journal.add(row | {"tokens_in": 1, "tokens_out": 1, "suite": "word_sums"})
    assert list(outcomes.courses(journal, failures, "plain", 1)) == ["a", "b", "c"]
    assert not outcomes.courses(journal, failures, "plain", 2)
    journal.add({"kind": "finished", "failure": "a", "arms": ["plain"], "rounds": 3})
    assert list(outcomes.courses(journal, failures, "plain", 2)) == ["a"]
    journal.close()


def adds(client: Any, messages: Any, tools: Any = ()) -> dict[str, Any]:
    """Do each sum of the chain rightly, but for one agent's until it is told that it was wrong."""
    told, shown = messages[0]["content"], messages[1]["content"]
    sign, by = re.search(r"Example: 120 (.) (\d+)", told).groups()
    number = int(re.search(r"\d+", shown)[0])
    result = {"+": number + int(by), "-": number - int(by), "*": number * int(by)}[sign]
    errs = by == "286" and "earlier attempt" not in shown
    return {"role": "assistant", "content": f"{number} {sign} {by} = {result + 10 * errs}", "usage": USAGE}


def test_the_ladder_resumes_a_chain_where_its_first_error_is(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chains, teams, run = load("_self_correction_chains"), load("_self_correction_tasks"), load("_self_correction_run")
    monkeypatch.setattr(plain.ChatClient, "complete", adds)
    suite = chains.SUM_CHAIN
    one = run.Experiment(suite, teams.plan_for(suite, PLACE), chains.chain_tasks(suite, 1), teams.asker(PLACE))
    journal, queue = load("_self_correction_journal").Journal(tmp_path / "journal.jsonl"), run.Queue()
    arms = ("plain", "resume_oracle", "ladder", "ladder_named", "finding", "first_finding")
    run.Schedule(journal, queue).add(one, 1.0, 1, 1, (run.Phase(0, arms),))
    run.work_off(queue, 1, 60.0, lambda: "")
    (failure,) = journal.failures(suite)
    assert (failure["truth"], failure["wrong_steps"], failure["blame"]["step"]) == (3, [3], 3)
    chosen = [(arm, of[failure["id"]]) for arm, of in journal.chosen.items()]
    tried = {arm: (row["rung"], journal.trials[failure["id"], row["actions"][0], 0]["passed"]) for arm, row in chosen}
    assert tried == {
        "ladder": ("from_scratch", False),
        "ladder_named": ("reason_to_agent", True),
        "finding": ("resume_at_finding", True),
        "first_finding": ("resume_at_finding", True),
    }
    row = load("_self_correction_report").suite_report(journal, suite, [failure])
    assert row["steps"]["right"] == [1, 1, 1, 0, 1, 1, 1, 1]
    journal.close()


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (("Orla bought {name}, {item}, {parcel}", "| {name} | {item} | {parcel} |", "{name} {item} {parcel}"), []),
        (("{name}, {item}, {parcel}", "| {name} | {parcel} |", "{name} {parcel}"), [1]),
        (("{item}, {parcel}", "| {item} |", "{item}"), [0, 1]),
    ],
)
def test_a_step_of_the_look_ups_is_wrong_where_it_loses_a_value(load: Any, said: Any, wrong: list[int]) -> None:
    chains = load("_self_correction_chains")
    task = chains.chain_tasks(chains.LOOK_UPS, 1)[0]
    record = json.loads(chains.look_up(chains.number_of(task.text)))
    texts = [text.format(**record) for text in said]
    assert chains.wrong_steps(chains.LOOK_UPS, task, texts) == wrong
    assert chains.is_right(chains.LOOK_UPS, task, texts[-1]) is not bool(wrong)


def test_saved_outcomes_hold_no_text_and_give_the_same_report(load: Any, model: Model, tmp_path: Path) -> None:
    run_all(load, tmp_path / "journal.jsonl", wanted=3)
    journal, report = load("_self_correction_journal"), load("_self_correction_report")
    whole = journal.Journal(tmp_path / "journal.jsonl")
    whole.save_outcomes(tmp_path / "outcomes.jsonl.xz")
    bare = journal.Journal(tmp_path / "outcomes.jsonl.xz")
    documents = [report.suite_report(one, "word_sums", one.failures("word_sums")) for one in (whole, bare)]
    assert documents[0] == documents[1]
    assert documents[0]["rounds"]["1"]["plain"]["n"] == 3
    assert "6 * 7" not in lzma.decompress((tmp_path / "outcomes.jsonl.xz").read_bytes()).decode()


def test_arms_that_want_the_same_trial_at_once_share_one_run(load: Any, model: Model, tmp_path: Path) -> None:
    run, journal = load("_self_correction_run"), load("_self_correction_journal").Journal(tmp_path / "journal.jsonl")
    one = experiment(load)
    failure = run.first_attempt(one, one.tasks[0], 0)
    model.seen.clear()
    schedule, together = run.Schedule(journal, run.Queue()), threading.Barrier(8)

    def wanted(_: int) -> Any:
        together.wait(10)
        return schedule.once(one, failure, "plain", 0)

    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(wanted, range(8)))
    assert all(row is rows[0] for row in rows)
    assert len(model.seen) == 3
    journal.close()
