from typing import Any

import pytest

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults import FaultSpec, FaultStrategy


def spec(**fields: Any) -> FaultSpec:
    return FaultSpec(**{"strategy": FaultStrategy.RESPONSE_CORRUPTION, "mode": ErrorMode.FM_2_6, "step": 1, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": None}, "'response_corruption' needs a mode"),
        ({"step": -1}, "step is -1, expected 0 or more"),
        ({"strategy": "tool", "kind": "explodes"}, "expected one of time_out, error, wrong_result"),
        ({"strategy": "channel", "kind": "time_out"}, "expected one of dropped, duplicated, reordered, truncated"),
        ({"strategy": "tool", "writer": "llm"}, "no text to write"),
        ({"strategy": "prompt_injection", "kind": "other_conclusion"}, "does not go with prompt_injection"),
        ({"writer": "llm", "kind": "other_conclusion"}, "which writer='llm' does not use"),
        ({"mode": "FM-9.9"}, "mode = 'FM-9.9'"),
        ({"writer": "me"}, "writer = 'me'"),
        ({"severity": 3}, "severity = 3"),
    ],
)
def test_fields_that_do_not_go_together_are_refused_clearly(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(FaultError) as error:
        spec(**fields)
    assert message in str(error.value)


def test_the_identifier_is_the_same_in_every_process_and_differs_with_every_field() -> None:
    assert spec().fault_id == "bbd1af581c3e"
    others = [
        spec(mode=ErrorMode.FM_1_1), spec(step=0), spec(step=None), spec(agent="a"), spec(seed=1),
        spec(kind="other_conclusion"), spec(writer="llm"), spec(strategy=FaultStrategy.PROMPT_INJECTION),
    ]  # fmt: skip
    assert len({spec().fault_id, *(other.fault_id for other in others)}) == 9
    assert FaultSpec.model_validate_json(spec(agent="a").model_dump_json()) == spec(agent="a")
    for strategy in (FaultStrategy.TOOL, FaultStrategy.CHANNEL):
        assert spec(strategy=strategy, mode=None).mode is None
