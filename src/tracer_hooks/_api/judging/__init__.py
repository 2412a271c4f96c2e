"""What a run was worth: reading its result, asking the check, and the outcome that follows."""

from tracer_hooks._api.judging._awaiting import loop_is_running, one_loop, run_awaitable
from tracer_hooks._api.judging._outcome import Judged, judge_error, judge_result
from tracer_hooks._api.judging._results import SafeCollector, read_result
from tracer_hooks._api.judging._verdict import (
    Check,
    Expected,
    Ruling,
    Undecided,
    ask_check,
    ask_check_async,
    compare,
    expected_answer,
    known_answer,
    verdict_of,
)

__all__ = [
    "Check",
    "Expected",
    "Judged",
    "Ruling",
    "SafeCollector",
    "Undecided",
    "ask_check",
    "ask_check_async",
    "compare",
    "expected_answer",
    "judge_error",
    "judge_result",
    "known_answer",
    "loop_is_running",
    "one_loop",
    "read_result",
    "run_awaitable",
    "verdict_of",
]
