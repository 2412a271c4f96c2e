"""The executable list of an adapter's duties."""

from __future__ import annotations

import pytest

_PARTS = (
    "base",
    "endings",
    "intervene",
    "isolation",
    "lifecycle",
    "payloads",
    "prompts",
    "recovery",
    "replay",
    "restore",
    "safety",
    "steps",
)
pytest.register_assert_rewrite(*(f"tracer_hooks.testing._contract_{part}" for part in _PARTS))

# The parts are imported after that, so that a failing assertion shows its values.
# ruff: noqa: E402
from tracer_hooks.testing._contract_endings import EndingsContract
from tracer_hooks.testing._contract_intervene import InterveneContract
from tracer_hooks.testing._contract_isolation import IsolationContract
from tracer_hooks.testing._contract_lifecycle import LifecycleContract
from tracer_hooks.testing._contract_payloads import PayloadsContract
from tracer_hooks.testing._contract_prompts import PromptsContract
from tracer_hooks.testing._contract_recovery import RecoveryContract
from tracer_hooks.testing._contract_replay import ReplayContract
from tracer_hooks.testing._contract_restore import RestoreContract
from tracer_hooks.testing._contract_safety import SafetyContract
from tracer_hooks.testing._contract_steps import StepsContract


class AdapterContract(
    RestoreContract,
    SafetyContract,
    StepsContract,
    EndingsContract,
    IsolationContract,
    LifecycleContract,
    PayloadsContract,
    InterveneContract,
    ReplayContract,
    PromptsContract,
    RecoveryContract,
):
    """Everything that an adapter owes its users, as pytest tests; ours pass it, and so should a third party's.

    Subclass it in a test module, and say how the framework's teams are built and run::

        from tracer_hooks.testing import AdapterContract, ContractTeams

        class Teams(ContractTeams):
            adapter = "myframework"              # the name of your entry point in the group "tracer_hooks.adapters"

            def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100): ...
            def pipeline(self, llm, *, tools=(lookup,), prompts=None): ...
            ...

        class TestMyFramework(AdapterContract):
            teams = Teams()

    :class:`~tracer_hooks.testing.ContractTeams` says what each builder has to give. What the framework cannot do is
    skipped with the reason that the teams give; what the adapter cannot do, by the capabilities that it declares.
    No test needs a network or a key: the models are scripted, on the loopback interface. Needs pytest, and OpenAI's
    client with its httpx.

    After every observed run, whatever the test is about, these must hold: the run and every span are ended,
    OpenTelemetry logged no failed detach, and the caller's current span is what it was.
    """
