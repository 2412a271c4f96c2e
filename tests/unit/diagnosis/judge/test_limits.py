"""The cache, the budget and the log of calls."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import diagnose_each
from tracer_hooks.errors import AttributionError, ConfigError, OutputParseError
from tracer_hooks.schema import Attribution, Candidate
from tracer_hooks.testing import Reply, ScriptedLLM, ScriptedRequest

from ._runs import budget, judge, long_run, shop_run, verdict

CANDIDATES = (
    Candidate(agent="Calculator", step=3, score=0.7),
    Candidate(agent="Planner", step=4, score=0.1),
    Candidate(agent="Planner", step=6, score=0.1),
)


def answer_of(attribution: Attribution) -> dict[str, Any]:
    """An attribution without what differs from call to call."""
    return attribution.model_dump(exclude={"elapsed_s", "usage"})


# --- the cache


def test_the_same_question_is_not_asked_twice(tmp_path: Path) -> None:
    with ScriptedLLM([verdict()]) as llm:
        first = judge(llm, cache_dir=tmp_path).attribute(shop_run())
        second = judge(llm, cache_dir=tmp_path).attribute(shop_run())  # another process would read the same files
        assert llm.calls == 1
    assert answer_of(first) == answer_of(second)
    assert first.usage is not None
    assert first.usage.input_tokens > 0
    assert second.usage is not None
    assert second.usage.input_tokens == second.usage.output_tokens == 0


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"temperature": 0.5}, {"reply_tokens": 900}, {"extra_body": {"top_k": 1}}, {"step_chars": 100}],
)
def test_whatever_changes_the_reply_asks_anew(tmp_path: Path, change: dict[str, Any]) -> None:
    run = shop_run()
    steps = (*run.steps[:-1], run.steps[-1].model_copy(update={"content": "36 euros. " * 90}))
    with ScriptedLLM(default=verdict()) as llm:
        judge(llm, cache_dir=tmp_path).attribute(run.model_copy(update={"steps": steps}))
        judge(llm, cache_dir=tmp_path, **change).attribute(run.model_copy(update={"steps": steps}))
        assert llm.calls == 2


def test_another_endpoint_asks_anew(tmp_path: Path) -> None:
    with ScriptedLLM(default=verdict()) as one, ScriptedLLM(default=verdict(step=5)) as other:
        assert judge(one, cache_dir=tmp_path).attribute(shop_run()).step == 3
        assert judge(other, cache_dir=tmp_path).attribute(shop_run()).step == 5


def test_a_reply_that_could_not_be_used_is_not_kept_and_a_repaired_one_is(tmp_path: Path) -> None:
    with ScriptedLLM(["no idea", "still none", "no idea", verdict()]) as llm:
        with pytest.raises(OutputParseError):
            judge(llm, cache_dir=tmp_path).attribute(shop_run())
        assert judge(llm, cache_dir=tmp_path).attribute(shop_run()).step == 3
        assert judge(llm, cache_dir=tmp_path).attribute(shop_run()).step == 3
        assert llm.calls == 4


def test_log_probabilities_are_kept_too(tmp_path: Path) -> None:
    def reply(request: ScriptedRequest) -> str:
        return '{"choice": "A"}' if "A) " in request.last else '{"error_mode": null}'

    candidates = [Candidate(agent="Calculator", step=3, score=0.5), Candidate(agent="Planner", step=4, score=0.4)]
    with ScriptedLLM(default=reply) as llm:
        asked = judge(llm, cache_dir=tmp_path, protocol="shortlist")
        first = asked.attribute(shop_run(), candidates=candidates)
        calls = llm.calls
        second = asked.attribute(shop_run(), candidates=candidates)
        assert llm.calls == calls
    assert answer_of(first) == answer_of(second)


def test_a_damaged_file_counts_as_absent(tmp_path: Path) -> None:
    with ScriptedLLM(default=verdict()) as llm:
        judge(llm, cache_dir=tmp_path).attribute(shop_run())
        (kept,) = tmp_path.rglob("*.json")
        for damage in ("", "{", "[]", '{"text": "x"}'):
            kept.write_text(damage, encoding="utf-8")
            assert judge(llm, cache_dir=tmp_path).attribute(shop_run()).step == 3
        assert llm.calls == 5


def test_a_cache_that_cannot_be_written_costs_a_log_line_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with ScriptedLLM(default=verdict()) as llm, caplog.at_level(logging.WARNING):
        asked = judge(llm, cache_dir=tmp_path / "file" / "cache")
        assert asked.attribute(shop_run()).step == 3
        assert asked.attribute(shop_run()).step == 3
    assert len([record for record in caplog.records if "keeps no replies" in record.message]) == 1


# --- the budget


def test_a_budget_that_is_spent_before_any_answer_is_an_abstention_that_says_so() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        answer = judge(llm, budget=budget(tokens=100)).attribute(shop_run())
        assert judge(llm, budget=budget(tokens=100)).score(shop_run()) is None
        assert llm.calls == 0
    assert answer.abstained
    assert answer.abstained_reason == "judge budget spent: 0 of 100 tokens, more are needed"
    assert (answer.agent, answer.step) == (None, None)


def test_the_best_answer_so_far_is_given_and_marked() -> None:
    def reply(request: ScriptedRequest) -> str:
        chance = 0.6 if "up to step 3" in request.last else 0.1
        return json.dumps({"is_decisive": False, "probability": chance})

    with ScriptedLLM(default=reply) as llm:
        answer = judge(llm, protocol="step-by-step", budget=budget(calls=4)).attribute(shop_run())
        assert llm.calls == 4
    assert (answer.agent, answer.step) == ("Calculator", 3)
    assert "judge budget spent: 4 calls; the best answer so far" in answer.evidence[0].why


@pytest.mark.parametrize(
    ("protocol", "reply"),
    [("binary-search", '{"half": "first", "probability": 0.9}'), ("shortlist", '{"choice": "A"}')],
)
def test_every_protocol_has_a_best_answer_after_its_first_reply(protocol: str, reply: str) -> None:
    candidates = CANDIDATES if protocol == "shortlist" else ()
    with ScriptedLLM(default=reply) as llm:
        answer = judge(llm, protocol=protocol, budget=budget(calls=1)).attribute(shop_run(), candidates=candidates)
    assert not answer.abstained
    assert answer.step in (1, 3)
    assert "best answer so far" in answer.evidence[0].why


def test_windows_have_a_best_answer_after_the_first_one() -> None:
    reply = '{"findings": [{"step": 3, "kind": "error", "text": "makes it up", "suspicion": 0.8}]}'
    settings: dict[str, Any] = {"protocol": "auto", "context_tokens": 8_192, "reply_tokens": 512}
    with ScriptedLLM(default=reply) as llm:
        answer = judge(llm, budget=budget(calls=1), **settings).attribute(long_run())
    assert (answer.abstained, answer.step) == (False, 3)
    assert "best answer so far" in answer.evidence[0].why


def test_a_choice_that_breaks_off_counts_what_it_has() -> None:
    def reply(request: ScriptedRequest) -> str:
        line = next(line for line in request.last.splitlines() if line[1:].startswith(") step 3, by Calculator"))
        return json.dumps({"choice": line[0]})

    candidates = [candidate.model_copy(update={"score": 0.3}) for candidate in CANDIDATES]
    with ScriptedLLM(default=reply) as llm:
        asked = judge(llm, protocol="shortlist", budget=budget(calls=2))
        answer = asked.attribute(shop_run(), candidates=candidates)
        assert llm.calls == 2
    assert answer.agent == "Calculator"


def test_tokens_of_all_calls_are_summed_and_limited() -> None:
    def reply(request: ScriptedRequest) -> Reply:
        return Reply(json.dumps({"is_decisive": False, "probability": 0.1}), usage=(1_000, 10))

    with ScriptedLLM(default=reply) as llm:
        answer = judge(llm, protocol="step-by-step", budget=budget(tokens=3_000)).attribute(shop_run())
        assert llm.calls == 2  # a third prompt would go beyond
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2_000, 20)


def test_the_repair_counts_too() -> None:
    with ScriptedLLM(["no idea", verdict()]) as llm:
        answer = judge(llm, budget=budget(calls=1)).attribute(shop_run())
        assert llm.calls == 1
    assert answer.abstained_reason == "judge budget spent: 1 calls"


def test_seconds_end_a_call_that_is_under_way() -> None:
    with ScriptedLLM(default=Reply(verdict(), delay_s=20)) as llm:
        answer = judge(llm, budget=budget(seconds=0.3)).attribute(shop_run())
    assert answer.abstained_reason == "judge budget spent: 0.3 seconds"
    assert answer.elapsed_s < 10


@pytest.mark.parametrize("name", ["calls", "tokens", "seconds"])
def test_a_budget_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"JudgeBudget\\({name}=0\\)"):
        budget(**{name: 0})


# --- the log of calls


def test_every_call_is_written_to_the_log_with_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "calls.jsonl"
    with ScriptedLLM(["no idea", verdict()]) as llm:
        judge(llm, call_log=path, cache_dir=tmp_path / "cache").attribute(shop_run())
        judge(llm, call_log=path, cache_dir=tmp_path / "cache").attribute(shop_run())
        key = llm.api_key
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["reply"], line["cached"]) for line in lines] == [
        ("no idea", False),
        (verdict(), False),
        (verdict(), True),
    ]
    assert all(line["run_id"] == "shop-1" and line["question"] == "all_at_once" for line in lines)
    assert lines[0]["messages"][0]["role"] == "system"
    assert lines[0]["usage"]["input_tokens"] > 0
    assert "no JSON object" in lines[1]["problem"]
    assert key not in path.read_text(encoding="utf-8")


def test_a_failed_call_is_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with ScriptedLLM() as llm, pytest.raises(AttributionError):
        judge(llm, call_log=path).attribute(shop_run())
    (line,) = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert line["reply"] is None
    assert "400" in line["problem"]


def test_a_log_that_cannot_be_written_is_an_error_before_any_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with ScriptedLLM(default=verdict()) as llm, pytest.raises(ConfigError, match="call_log="):
        judge(llm, call_log=tmp_path / "file" / "calls.jsonl")


def test_long_runs_written_at_the_same_time_give_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with ScriptedLLM(default=verdict(agent="Writer", step=17)) as llm:
        runs = [long_run().model_copy(update={"run_id": f"r{number}"}) for number in range(8)]
        list(diagnose_each(((run, None) for run in runs), attributor=judge(llm, call_log=path, concurrency=8)))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {line["run_id"] for line in lines} == {f"r{number}" for number in range(8)}
