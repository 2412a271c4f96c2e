"""Duties: lessons reach the models of a team that is hooked for them, as a message and not in the system prompt."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tracer_hooks
from tracer_hooks._api.conducting import _lessons
from tracer_hooks.improvement import kind_of
from tracer_hooks.store import LessonDraft, LessonStore, fingerprint
from tracer_hooks.testing._contract_base import ContractBase, every_way
from tracer_hooks.testing._scenarios import TASK, Scenario

_WAIT_S = 30.0
_LESSON = "Compare the number with the table once more."


class _Given:
    """Stands for a random generator by which every lesson is given."""

    @staticmethod
    def random() -> float:
        return 0.0


class LessonsContract(ContractBase):
    """``hook(lessons="learned")``. These go through :func:`tracer_hooks.hook`, as users do."""

    @every_way
    def test_lessons_reach_the_model_as_a_message_and_not_in_the_system_prompt(self, way: str) -> None:
        self.monkeypatch.setattr(_lessons, "_RANDOM", _Given())
        llm = self.llm(Scenario.PIPELINE)
        team = self.build("pipeline", llm)
        with self.observe(team) as observer:
            self.run(team)
        seen, since = observer.trajectory, len(llm.requests)
        name = fingerprint(seen.framework, seen.team)
        with tempfile.TemporaryDirectory() as folder, LessonStore(Path(folder) / "runs.sqlite") as store:
            draft = LessonDraft(
                agent="writer", text=_LESSON, kind=kind_of([TASK]), runs=("failed",), team_name=seen.team
            )
            assert store.propose(name, draft) is not None
            hooked: Any = tracer_hooks.hook(
                team, lessons="learned", check=lambda result: True, diagnose="inline", store=store.path
            )
            try:
                assert self.conduct(way, team, TASK)
                run = tracer_hooks.last_run(team)
                assert run is not None
                run.wait(_WAIT_S)
            finally:
                tracer_hooks.unhook(hooked)
            lesson = store.get(name, 1)
        asked = llm.requests[since:]
        told = [one for one in asked if _LESSON in one.text]
        assert told
        assert all(one.is_from("writer") for one in told)
        assert len(told) == len([one for one in asked if one.is_from("writer")])
        assert not [one for one in asked if _LESSON in one.system]
        assert [(one.number, one.agent, one.given) for one in run.lessons] == [(1, "writer", True)]
        assert (lesson.with_runs, lesson.with_passes) == (1, 1)
        assert _LESSON in str(run.tape.model_dump())  # the record shows what the model was asked
        assert _LESSON not in str(run.trajectory.instructions_of("writer"))
        self.run(team)  # unhooked, the team is as it was
        assert not [one for one in llm.requests[since + len(asked) :] if _LESSON in one.text]
