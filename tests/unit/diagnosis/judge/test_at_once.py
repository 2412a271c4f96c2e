"""Many questions to the judge at the same time: none twice, answers as if one were asked after the other."""

from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks._flight import REQUESTS
from tracer_hooks.diagnosis import diagnose_each
from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeOptions
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Attribution
from tracer_hooks.testing import ErrorReply, Reply, ScriptedLLM, ScriptedRequest

from ._runs import budget, judge, shop_run, verdict


def answers_of(asked: JudgeAttributor, count: int = 12) -> list[dict[str, Any]]:
    runs = [shop_run(run_id=f"run-{number}", final_output=f"They cost {number} euros.") for number in range(count)]
    found = list(diagnose_each(((run, None) for run in runs), attributor=asked))
    assert all(isinstance(one, Attribution) for one in found), found
    return [one.model_dump(exclude={"elapsed_s"}) for one in found if isinstance(one, Attribution)]


def reply_by_question(request: ScriptedRequest) -> Reply:
    """A reply that depends on the question alone, later for the first ones."""
    number = int(request.text.partition("They cost ")[2].partition(" ")[0])
    return Reply(verdict(probability=0.3 + number / 20), delay_s=0.05 * (number % 3))


def test_answers_and_their_order_do_not_depend_on_how_many_are_asked_at_once() -> None:
    with ScriptedLLM(default=reply_by_question) as llm:
        one, many = (answers_of(judge(llm, concurrency=at_once)) for at_once in (1, 8))
    assert one == many
    assert [answer["run_id"] for answer in many] == [f"run-{number}" for number in range(12)]
    assert len({answer["confidence"] for answer in many}) > 6


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_same_question_of_several_threads_is_asked_once(tmp_path: Path, is_kept: bool) -> None:
    with ScriptedLLM(default=Reply(verdict(), delay_s=0.3, usage=(600, 60))) as llm:
        asked = judge(llm, cache_dir=tmp_path if is_kept else None, concurrency=6)
        found = list(diagnose_each(((shop_run(), None) for _ in range(6)), attributor=asked))
        assert llm.calls == 1
        assert {one.step for one in found if isinstance(one, Attribution)} == {3}
        assert sorted(one.usage.total for one in found if isinstance(one, Attribution) and one.usage) == [0] * 5 + [660]
        asked.attribute(shop_run())
        assert llm.calls == (1 if is_kept else 2)
    assert not asked._resources.cache._turns, "nothing is left of the questions"


def test_who_waited_asks_when_the_first_got_no_answer() -> None:
    first = threading.Event()

    def reply(request: ScriptedRequest) -> Any:
        if not first.is_set():
            first.set()
            return ErrorReply(401, message="bad key", delay_s=0.3)
        return verdict()

    with ScriptedLLM(default=reply) as llm:
        found = list(diagnose_each(((shop_run(), None) for _ in range(3)), attributor=judge(llm, concurrency=3)))
        assert llm.calls == 2
    assert sorted(type(one).__name__ for one in found) == ["Attribution", "Attribution", "AttributionError"]


def test_who_waits_for_the_same_question_waits_no_longer_than_the_budget_allows() -> None:
    answered = threading.Event()

    def reply(request: ScriptedRequest) -> Any:
        answered.wait(60)
        return verdict()

    with ScriptedLLM(default=reply) as llm:
        slow = judge(llm)
        quick = JudgeAttributor(JudgeOptions(**{**vars(slow.options), "budget": budget(seconds=0.3)}))
        object.__setattr__(quick, "_resources", slow._resources)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(slow.attribute, shop_run())
            while not llm.calls:
                time.sleep(0.01)
            answer = quick.attribute(shop_run())
            assert not first.done()
            answered.set()
            assert first.result(20).step == 3
    assert answer.abstained_reason == "judge budget spent: 0.3 seconds"


def test_the_number_of_requests_may_be_said_for_all_that_ask() -> None:
    def requests() -> tuple[int, int | None]:
        asked = JudgeAttributor(JudgeOptions(model="m", base_url="http://127.0.0.1:9/v1", cache_dir=None))
        assert asked._resources.model._client._most == asked.concurrency  # type: ignore[attr-defined]
        return asked.concurrency, Endpoint.from_env().concurrency

    assert requests() == (4, None)
    token = REQUESTS.set(9)
    try:
        assert requests() == (9, 9)
    finally:
        REQUESTS.reset(token)
    with pytest.raises(ConfigError, match="concurrency=0 of the attributor 'judge'"):
        JudgeOptions(concurrency=0)


def test_a_judge_can_be_sent_to_a_worker_and_asks_there() -> None:
    with ScriptedLLM(default=Reply(verdict())) as llm:
        sent = pickle.loads(pickle.dumps(judge(llm, concurrency=3)))
        assert sent.concurrency == 3
        assert sent.attribute(shop_run()).step == 3


def test_a_judge_that_is_refused_for_its_rate_answers_all_runs_all_the_same() -> None:
    taken: list[float] = []
    lock = threading.Lock()

    def reply(request: ScriptedRequest) -> Any:
        with lock:
            now = time.monotonic()
            taken[:] = [moment for moment in taken if moment > now - 0.3]
            if len(taken) >= 4:
                return ErrorReply(429, retry_after=0.3)
            taken.append(now)
        return reply_by_question(request)

    with ScriptedLLM(default=reply) as llm:
        assert len(answers_of(judge(llm, concurrency=12, attempts=2))) == 12
        assert llm.calls < 40


def test_an_endpoint_that_only_refuses_is_an_error_for_each_run() -> None:
    with ScriptedLLM(default=ErrorReply(429, message="slow down", retry_after=0.01)) as llm:
        found = list(
            diagnose_each(((shop_run(run_id=name), None) for name in "abc"), attributor=judge(llm, concurrency=3))
        )
    assert [type(one) for one in found] == [AttributionError] * 3
