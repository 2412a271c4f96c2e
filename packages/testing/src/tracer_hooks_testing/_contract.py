"""The executable list of an adapter's duties."""

from __future__ import annotations

import sys

import pytest

_MODULES = ("_base", "_endings", "_intervene", "_isolation", "_lifecycle", "_recovery", "_replay", "_steps")
_NAMES = (f"tracer_hooks_testing.{module}" for module in _MODULES)
pytest.register_assert_rewrite(*(name for name in _NAMES if name not in sys.modules))  # too late for those: it warns
# Imported after that, so that a failing assertion shows its values.
from tracer_hooks_testing._endings import EndingsContract, SafetyContract  # noqa: E402
from tracer_hooks_testing._intervene import InterveneContract  # noqa: E402
from tracer_hooks_testing._isolation import IsolationContract, RestoreContract  # noqa: E402
from tracer_hooks_testing._lifecycle import LifecycleContract  # noqa: E402
from tracer_hooks_testing._recovery import PromptsContract, RecoveryContract  # noqa: E402
from tracer_hooks_testing._replay import ReplayContract  # noqa: E402
from tracer_hooks_testing._steps import PayloadsContract, StepsContract  # noqa: E402


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
