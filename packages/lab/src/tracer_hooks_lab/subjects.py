"""Teams that labelled data is built from: a user's own, and the architectures that come with the suites."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from tracer_hooks import rerunner
from tracer_hooks.endpoint import Endpoint, endpoint_chat
from tracer_hooks.errors import ConfigError, EndpointError, MissingExtraError
from tracer_hooks.extension import Check, check_for
from tracer_hooks.frameworks import Intervention
from tracer_hooks.replay import TeamRunner, Trial
from tracer_hooks.schema import Json, RunKind
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import check_of, get_suite
from tracer_hooks_lab.teams import ARCHITECTURES

FRAMEWORKS: Final = ("python", "autogen", "crewai", "langgraph")
"""The frameworks that the architectures are written in."""


@dataclass(frozen=True, kw_only=True)
class OwnTeam:
    """A user's team; a :class:`~tracer_hooks.datasets.Subject`."""

    target: Any
    """The factory, team or function."""
    name: str
    """Identifies the team in the data set."""
    check: Check | None = None
    """Decides whether a run succeeded; default what the team was hooked with, else the grader of the task."""
    architecture: str = ""
    """How the team is organised, if that has a name."""

    def runner(self, task: SuiteTask) -> TeamRunner:
        """Return what runs the team on ``task``.

        Raises:
            ConfigError: Nothing says whether a run succeeded.
            AdapterError: The target is no team, and gave none.
        """
        return rerunner(self.target, task.text, check=self.check_of(task))

    def check_of(self, task: SuiteTask) -> Check | None:
        """Return what decides about runs on ``task``; None where that is what the team was hooked with.

        Raises:
            ConfigError: There is no check, and the task has no reference.
        """
        return check_for(self.target, task, self.check)

    def described(self) -> dict[str, Json]:
        """Return the facts about it that shape the data."""
        return {"architecture": self.architecture} if self.architecture else {}


@dataclass(frozen=True, kw_only=True)
class SuiteTeam:
    """One of the suites' architectures in one framework; a :class:`~tracer_hooks.datasets.Subject`.

    Raises:
        ConfigError: There is no such framework or architecture.
    """

    framework: str
    """One of :data:`FRAMEWORKS`."""
    architecture: str
    """One of :data:`tracer_hooks_lab.teams.ARCHITECTURES`."""
    endpoint: Endpoint
    """Where its model is."""

    def __post_init__(self) -> None:
        for what, given, known in (
            ("framework", self.framework, FRAMEWORKS),
            ("architecture", self.architecture, ARCHITECTURES),
        ):
            if given not in known:
                raise ConfigError(f"unknown {what} {given!r}, expected one of: {', '.join(known)}")

    @property
    def name(self) -> str:
        """``framework/architecture``."""
        return f"{self.framework}/{self.architecture}"

    def described(self) -> dict[str, Json]:
        """Return the facts about it that shape the data; not where the model is, which may move."""
        place = self.endpoint
        return {"model": place.model, "temperature": place.temperature, "max_tokens": place.max_tokens}

    def runner(self, task: SuiteTask) -> TeamRunner:
        """Return what runs the team on ``task``, each time with an environment of its own.

        Raises:
            MissingExtraError: The framework's adapter is not installed.
        """
        return _FreshEnvironments(self, _builder(self.framework), task)

    def build(self, build_team: Callable[..., Any], tools: tuple[Any, ...]) -> Any:
        """A team with these tools."""
        return build_team(self.architecture, self.endpoint, tools=tools)


@dataclass(frozen=True)
class _FreshEnvironments:
    team: SuiteTeam
    build_team: Callable[..., Any]
    suite_task: SuiteTask

    @property
    def task(self) -> str:
        return self.suite_task.text

    def run(self, intervention: Intervention | None = None, *, kind: RunKind = RunKind.REPLAY) -> Trial:
        environment = get_suite(self.suite_task.suite).environment(self.suite_task)

        def build() -> Any:
            return self.team.build(self.build_team, environment.tools)

        check = check_of(self.suite_task, environment)
        return rerunner(build, self.task, check=check).run(intervention, kind=kind)


def probe_endpoint(endpoint: Endpoint, text: str) -> None:
    """Ask the model once, for a single token.

    Args:
        endpoint: Where it is.
        text: What it is asked.

    Raises:
        ConfigError: It cannot be reached, or does not answer.
    """
    chat = endpoint_chat(replace(endpoint, max_tokens=1), needed_by="a team of a suite", attempts=1)
    try:
        chat([{"role": "user", "content": text}])
    except EndpointError as error:
        raise ConfigError(
            f"the model {endpoint.model!r} at {endpoint.base_url!r} gives no answer: it {error.reason}. Expected an "
            "OpenAI-compatible endpoint, up to and including /v1; start it, or name another with --base-url"
        ) from error


def _builder(framework: str) -> Callable[..., Any]:
    home = "tracer_hooks_lab.teams" if framework == "python" else f"tracer_hooks_lab.teams.{framework}"
    try:
        builder: Callable[..., Any] = importlib.import_module(home).build_team
    except ImportError as error:
        raise MissingExtraError(f"the {framework} teams", f"tracer-hooks[{framework}]") from error
    return builder
