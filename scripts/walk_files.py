"""Count the files and functions of ours that a run enters, as a newcomer has to open them.

Usage: python scripts/walk_files.py [--list]

Three walks, each after a warm-up and in this process: a hooked AutoGen round robin of two agents that succeeds, the
same that fails, is diagnosed and recovered (``retries=1``), and ``improve`` on it. Counted with ``sys.setprofile`` are
files below ``src`` and ``adapters``; the packages for tests (the scripted model) are left out.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROOMS = tuple(str(path) + os.sep for path in (ROOT / "src", *ROOT.glob("adapters/*/src")))
TESTING = (f"{os.sep}tracer_hooks{os.sep}testing{os.sep}",)
TASK = "What is six times seven?"
PROMPTS = {"solver": "Work it out.", "checker": "Check it. End with DONE."}


class Walk:
    """Files and functions of ours that were entered while it was on."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, int]] = set()

    @property
    def files(self) -> set[str]:
        """Paths below the root."""
        return {str(Path(name).relative_to(ROOT)) for name, _ in self.functions}

    def __enter__(self) -> "Walk":
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _seen(self, frame: Any, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOMS) and not any(part in name for part in TESTING):
            self.functions.add((name, frame.f_code.co_firstlineno))


def team_of(llm: Any) -> Callable[..., Any]:
    """A factory of the round robin, its model behind the scripted server."""

    def build_team(prompts: Mapping[str, str] | None = None) -> Any:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
        from autogen_agentchat.teams import RoundRobinGroupChat
        from autogen_ext.models.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(
            model="gpt-4o",
            base_url=llm.base_url,
            api_key="none",
            model_info=MODEL_INFO,  # type: ignore[arg-type]
        )
        told = {**PROMPTS, **(prompts or {})}
        agents = [AssistantAgent(name, model_client=client, system_message=text) for name, text in told.items()]
        ends = TextMentionTermination("DONE") | MaxMessageTermination(5)
        return RoundRobinGroupChat(agents, termination_condition=ends)

    return build_team


MODEL_INFO = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown"}


def check(result: Any) -> bool:
    """Whether the right product stands in the answer."""
    return "42" in result.text


def run(build_team: Callable[..., Any], store: Path) -> Any:
    """One hooked run with one retry; the record of it."""
    import tracer_hooks

    team = tracer_hooks.hook(check=check, retries=1, store=store)(build_team)()
    asyncio.run(team.run(task=TASK))
    return tracer_hooks.last_run(team)


def walks(folder: Path) -> dict[str, Walk]:
    """The three walks by name."""
    from tracer_hooks import ImproveOptions, improve
    from tracer_hooks.schema import RunOutcome
    from tracer_hooks.tasks import SuiteTask
    from tracer_hooks.testing import ScriptedLLM, When

    good, bad = ["42", "42 is right. DONE"], ["41", "41 is right. DONE"]
    found: dict[str, Walk] = {}
    store = folder / "runs.sqlite"
    with ScriptedLLM(good * 2) as llm:
        run(team_of(llm), store)
        with Walk() as found["success"]:
            done = run(team_of(llm), store)
    assert done.outcome is RunOutcome.SUCCEEDED, done
    with ScriptedLLM((bad + good) * 2) as llm:
        run(team_of(llm), store)
        with Walk() as found["failure and repair"]:
            done = run(team_of(llm), store)
    assert done.outcome is RunOutcome.SUCCEEDED, done
    assert len(done.attempts) == 2, done
    tasks = [SuiteTask(id=str(k), text=f"What is 6 times {k}?", reference=str(6 * k)) for k in range(2, 26)]

    def answer(k: int) -> Any:
        return When(contains=rf"times {k}\b").then(str(6 * k))

    def rewritten(messages: object) -> str:
        return "Work it out step by step."

    # One in three is wrong, so that there are failures to learn from.
    wrong = When(contains=r"times (?:[369]|12|15|18|21|24)\b").then("41")
    rules = [When(system="Check").then("That is it. DONE"), wrong, *(answer(k) for k in range(2, 26))]
    with ScriptedLLM(rules=rules) as llm, Walk() as found["improve"]:
        options = ImproveOptions(metric_calls=60)
        improve(team_of(llm), tasks, chat=rewritten, folder=folder / "improvement", store=store, options=options)
    return found


def main() -> int:
    """Print the table; with ``--list`` the files, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the files of each walk")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.unraisablehook = lambda _: None  # clients that outlive their event loop say so
        os.environ.update(CREWAI_DISABLE_TELEMETRY="true", AUTOGEN_DISABLE_RUNTIME_TRACING="true")
        found = walks(Path(folder))
    for name, walk in found.items():
        print(f"{name}: {len(walk.files)} files, {len(walk.functions)} functions")
        print("".join(f"  {file}\n" for file in sorted(walk.files)) if asked.list else "", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
