"""The demo's team on a real language model. Skipped unless an endpoint is given::

TRACER_HOOKS_TEST_BASE_URL=http://127.0.0.1:8088/v1 TRACER_HOOKS_TEST_MODEL=qwen pytest -m real_llm
"""

import importlib
import os
from collections.abc import Mapping
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.schema import RunOutcome, StepKind
from tracer_hooks.testing.ticket_office import ANSWER, TASK, Endpoint

BASE_URL = os.environ.get("TRACER_HOOKS_TEST_BASE_URL", "")
MODULES = {
    "python": "tracer_hooks.cli.demo",
    "autogen": "tracer_hooks_autogen.demo",
    "crewai": "tracer_hooks_crewai.demo",
    "langgraph": "tracer_hooks_langgraph.demo",
}

pytestmark = [
    pytest.mark.real_llm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not BASE_URL, reason="no TRACER_HOOKS_TEST_BASE_URL is given"),
]


@pytest.mark.parametrize("framework", MODULES)
def test_a_real_run_is_observed_judged_and_diagnosed(framework: str) -> None:
    build = importlib.import_module(MODULES[framework]).build_team
    endpoint = Endpoint(base_url=BASE_URL, model=os.environ.get("TRACER_HOOKS_TEST_MODEL", "qwen"))

    def team(prompts: Mapping[str, str] | None = None) -> Any:
        return build(endpoint, prompts)

    run = tracer_hooks.run(team, TASK, check=lambda result: ANSWER in result.text, retries=1, store="off")
    first = run.attempts[0].trajectory
    assert run.error is None, run.error
    assert {"researcher", "calculator", "writer"} <= {step.agent for step in first.steps}
    assert first.usage.output_tokens > 0
    assert all(step.content or step.tool_calls for step in first.steps if step.kind is not StepKind.ERROR)
    if run.attempts[0].outcome is RunOutcome.FAILED:
        attribution = run.attempts[0].attribution
        assert attribution.abstained or first.steps[attribution.step or 0].agent == attribution.agent
