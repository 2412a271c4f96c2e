"""The cases of the provenance benchmark have the right form, and nothing of the held-out half is written anywhere."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracer_hooks.schema import Attribution, Step, StepKind, ToolCall, Trajectory

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
DATA = BENCHMARKS / "data" / "provenance"
CASE_FILES = sorted(path for path in DATA.glob("*.jsonl") if not path.stem.startswith("sums_"))
SUM_FILES = sorted(DATA.glob("sums_*.jsonl"))
FAULTS = {"wrong_sum", "misread_tool", "dropped_item", "miscopied_answer", "swapped_operand", "date_off_by_one"}

# Failures name ids only: whoever works on the diagnosis may not read the half that is held out.


class BlamesTheFirst:
    """An attributor that is never right here."""

    name = "first"

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        return Attribution(run_id=trajectory.run_id, agent=trajectory.steps[0].agent, step=0)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def names(case: dict[str, Any]) -> list[str]:
    return [agent["name"] for agent in case["agents"]]


@pytest.mark.parametrize("path", CASE_FILES, ids=lambda path: path.stem)
def test_every_case_is_a_pipeline_with_one_guilty_agent_whose_wrong_value_reaches_the_answer(path: Path) -> None:
    wrong = []
    for case in rows(path):
        order, changed, place = names(case), set(case["clean"]), names(case).index(case["guilty"])
        step, clean = case["steps"][place], case["clean"].get(case["guilty"], {})
        part = "calls" if case["guilty_act"] == "call" else "says"
        rules = {
            "3 to 8 agents": 3 <= len(set(order)) <= 8,
            "each acts once in order": [one["agent"] for one in case["steps"]] == order,
            "the guilty one is not the first": place > 0,
            "its step differs in the clean run": clean.get(part, step[part]) != step[part],
            "nobody before it says anything else there": not changed & set(order[:place]) and changed <= set(order),
            "the wrong value reaches the answer": case["wrong"] in case["steps"][-1]["says"],
        }
        wrong += [f"{case['id']}: {rule}" for rule, holds in rules.items() if not holds]
    assert wrong == []


@pytest.mark.parametrize("path", CASE_FILES, ids=lambda path: path.stem)
def test_every_fault_has_seven_wordings_or_more(path: Path) -> None:
    counts = Counter(case["fault"] for case in rows(path))
    assert set(counts) == FAULTS
    assert min(counts.values()) >= 7


def test_ids_and_texts_are_unique_over_all_files() -> None:
    cases = [case for path in CASE_FILES for case in rows(path)]
    lines = [line["text"] for path in SUM_FILES for line in rows(path)]
    assert len({case["id"] for case in cases}) == len(cases)
    assert len({json.dumps([case["task"], case["steps"]]) for case in cases}) == len(cases)
    for path in SUM_FILES:
        texts = [line["text"] for line in rows(path)]
        assert len(set(texts)) == len(texts), path.stem
    assert lines


@pytest.mark.parametrize("path", SUM_FILES, ids=lambda path: path.stem)
def test_single_calculations_are_wrong_and_right_ones(path: Path) -> None:
    held = Counter(line["holds"] for line in rows(path))
    assert held[False] >= 40
    assert held[True] >= 100
    assert all(set(line) == {"text", "holds", "note"} for line in rows(path))


def test_the_guilty_step_is_that_of_the_words_or_of_the_call(load: Any) -> None:
    guilty_step = load("_provenance_runs").guilty_step
    steps = (
        Step(index=0, agent="scout", content="Ask."),
        Step(index=1, agent="clerk", kind=StepKind.TOOL_CALL, tool_calls=(ToolCall(name="convert", result="9"),)),
        Step(index=2, agent="clerk", content="It is 9."),
    )
    run = Trajectory(run_id="run", steps=steps)
    part = SimpleNamespace(says="It is 9.")
    call = SimpleNamespace(tool="convert", result="9")
    says = SimpleNamespace(guilty="clerk", act="says", guilty_part=part, wrong_calls=(), id="x")
    calls = SimpleNamespace(guilty="clerk", act="call", guilty_part=part, wrong_calls=(call,), id="x")
    assert guilty_step(says, run) == 2
    assert guilty_step(calls, run) == 1


def test_arguments_that_no_function_can_have_get_another_name(load: Any) -> None:
    cases, tools = load("_provenance_cases"), load("_provenance_teams")
    call = cases.Call("distance", {"from": "Lyon", "to": "Turin"}, "312 km")
    (function,) = tools.tools_of([call])
    assert function(**tools.arguments_of(call)) == "312 km"
    with pytest.raises(KeyError):
        function(from_="Turin", to="Lyon")


@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_texts_are_shown_of_the_half_that_may_be_read_alone(half: str, load, tmp_path, monkeypatch, capsys) -> None:
    first = (DATA / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    missed = [line for line in first if json.loads(line)["fault"] == "misread_tool"][:2]
    (tmp_path / f"{half}.jsonl").write_text("\n".join(missed), encoding="utf-8")
    (tmp_path / f"sums_{half}.jsonl").write_text(
        json.dumps({"text": "Nine apples, of 3 + 3", "holds": False, "note": "no result at all"}), encoding="utf-8"
    )
    result = tmp_path / "result.json"
    arguments = ["--cases", str(tmp_path / f"{half}.jsonl"), "--sums", str(tmp_path / f"sums_{half}.jsonl")]
    arguments += ["--recorded", str(tmp_path / "runs.jsonl"), "--json", str(result), "--framework", "plain", "--show"]
    benchmark = load("provenance")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    monkeypatch.setattr(benchmark, "get_attributor", lambda name: BlamesTheFirst())
    monkeypatch.setattr(sys, "argv", ["provenance.py", *arguments])
    benchmark.main()
    counts = json.loads(result.read_text())["attribution"]["halves"][half]["faults"]["misread_tool"]["plain"]
    assert (counts["right"], counts["of"]) == (0, 2)
    shown = capsys.readouterr()
    written = shown.out + shown.err + result.read_text()
    texts = [json.loads(line)["id"] for line in missed] + ["Nine apples"]
    assert [text in written for text in texts] == [half == "dev"] * 3
