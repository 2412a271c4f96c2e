"""Cases: a name in the task that every scripted reply repeats, so that runs which are mixed up can be seen."""

import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tracer_hooks.testing import Reply, Rule, ScriptedRequest, ToolCallReply, When

CASE = "<case>"
"""In a scripted reply: stands for the case of the request."""

_NAMED = re.compile(r"case [A-Z]\b")


def task_of(case: str) -> str:
    """The task of every kind, in one case."""
    return f"What is six times seven, in case {case}?"


def cases_in(text: str) -> set[str]:
    """Which cases a text speaks of."""
    return {found.removeprefix("case ") for found in _NAMED.findall(text)}


class Meeting:
    """Holds the first model request of every case back until all have come: the runs are then under way together."""

    def __init__(self, cases: int) -> None:
        self._barrier = threading.Barrier(cases)
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def arrive(self, case: str) -> None:
        """Wait, with the first request of ``case``, for the others."""
        with self._lock:
            is_first = case not in self._seen
            self._seen.add(case)
        if is_first:
            self._barrier.wait(timeout=30)


def scripted(rules: Sequence[Rule], meeting: Meeting | None = None) -> list[Rule]:
    """``rules`` with every ``<case>`` filled in from the request."""
    return [replace(rule, replies=[_filled_in(reply, meeting) for reply in rule.replies]) for rule in rules]


def _filled_in(reply: Any, meeting: Meeting | None) -> Any:
    def answer(request: ScriptedRequest) -> Any:
        found = cases_in(request.text)
        assert len(found) == 1, f"a request that speaks of {len(found)} cases: {request.text}"
        (case,) = found
        if meeting is not None:
            meeting.arrive(case)
        ready = reply(request) if callable(reply) else reply
        return _with_case(ready, f"case {case}")

    return answer


def _with_case(reply: Any, case: str) -> Any:
    if isinstance(reply, str):
        return reply.replace(CASE, case)
    if isinstance(reply, Reply):
        calls = [_call_with_case(call, case) for call in reply.tool_calls]
        return replace(reply, text=reply.text and reply.text.replace(CASE, case), tool_calls=calls)
    return reply


def _call_with_case(call: ToolCallReply, case: str) -> ToolCallReply:
    return replace(call, arguments=call.arguments_json.replace(CASE, case))


def looks_up(agent: str, text: str) -> list[Rule]:
    """The model of ``agent`` calls the tool "lookup", and says ``text`` once it has seen the result."""
    return [
        When(agent=agent, tool_result="according to the table").then(text),
        When(agent=agent).then(Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven, in <case>"})])),
    ]
