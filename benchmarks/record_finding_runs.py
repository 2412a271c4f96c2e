"""Record natural failures and passes of five small teams on a local model, for ``data/findings``.

python benchmarks/local_engine.py MODEL.gguf --port 8137 --slots 64 --dtype bfloat16 --name qwen
python benchmarks/record_finding_runs.py --base-url http://127.0.0.1:8137/v1 --model qwen --out FILE
"""

from __future__ import annotations

import argparse
import json
import random
import re
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import _finding_teams as teams
from _finding_teams import FindingTask, Member

from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory, Usage, to_json

MOST_TOOL_ROUNDS = 5
MOST_REVISIONS = 1
CALL = re.compile(r"CALL (\w+):?(.*)")
"""A tool call as the agents write it; what follows it in the same reply is dropped."""


@dataclass
class Recorder:
    """Asks the model for each agent, runs the tools it calls, and keeps every act as a step."""

    base_url: str
    model: str
    seed: int
    temperature: float
    task: FindingTask
    members: Mapping[str, Member]
    steps: list[Step] = field(default_factory=list)

    def act(self, agent: str, sources: Sequence[int | str]) -> int:
        """Let an agent act on the task (``"user"``) and on earlier steps; the index of its last step.

        A source that is neither is a request in words, from the member who spoke last.
        """
        member = self.members[agent]
        given = tuple(self._input(source) for source in sources)
        shown = "\n\n".join(f"{'Task' if item.source == 'user' else item.source}: {item.text}" for item in given)
        first = f"\n\nWrite the tool call, in one line such as CALL {_form(self.task, member)}" if member.tools else ""
        later = "\nDo the rest of your work now."
        messages = [{"role": "system", "content": member.instructions}, {"role": "user", "content": shown + first}]
        for _ in range(MOST_TOOL_ROUNDS):
            reply, usage = self._ask(messages)
            calls = tuple(self._call(member, *found) for found in CALL.findall(reply)[:1]) if member.tools else ()
            self._keep(agent, CALL.split(reply)[0].strip() if calls else reply, given, calls, usage)
            if not calls:
                break
            given = ()
            back = calls[0].result or f"ERROR {calls[0].error}"
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": f"RESULT: {back}{later}"}]
        return len(self.steps) - 1

    def run_code(self, agent: str, source: int) -> int:
        """Run the code of a step, as an agent that is no model."""
        code = code_of(self.steps[source].content)
        said = self.task.tools["run_python"](code)
        failed = said.startswith("exit code")
        call = ToolCall(
            name="run_python", arguments={"code": code}, result=None if failed else said, error=said if failed else None
        )
        self._keep(agent, f"The example gave:\n{said}", (self._input(source),), (call,), None)
        return len(self.steps) - 1

    def _input(self, source: int | str) -> StepInput:
        if isinstance(source, int):
            return StepInput(source=self.steps[source].agent, step=source, text=self.steps[source].content)
        if source == "user":
            return StepInput(source="user", text=self.task.text)
        return StepInput(source=self.steps[-1].agent, text=source)

    def _keep(
        self, agent: str, text: str, given: tuple[StepInput, ...], calls: tuple[ToolCall, ...], usage: Usage | None
    ) -> None:
        kind = StepKind.TOOL_CALL if calls else StepKind.MESSAGE
        model = None if usage is None else self.model
        self.steps.append(
            Step(
                index=len(self.steps),
                agent=agent,
                kind=kind,
                content=text,
                inputs=given,
                tool_calls=calls,
                model=model,
                usage=usage,
            )
        )

    def _ask(self, messages: Sequence[Mapping[str, str]]) -> tuple[str, Usage]:
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": 160,
            "seed": self.seed + len(self.steps),
        }
        url, headers = f"{self.base_url}/chat/completions", {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=900) as answer:
            data = json.load(answer)
        used = data["usage"]
        return data["choices"][0]["message"]["content"] or "", Usage(
            input_tokens=used["prompt_tokens"], output_tokens=used["completion_tokens"]
        )

    def _call(self, member: Member, name: str, written: str) -> ToolCall:
        given = written.strip().strip("`").rstrip(".")
        try:
            tool = self.task.tools[name]
            names = tool.__code__.co_varnames[: tool.__code__.co_argcount]
            named = dict(zip(names, (part.strip() for part in given.split(",")), strict=True))
            return ToolCall(name=name, arguments=dict(named), result=teams.shown(tool(**named)))
        except Exception as error:  # a tool of a team may raise anything, and the agent is told what
            return ToolCall(name=name, arguments=given, error=f"{type(error).__name__}: {error}")


def _form(task: FindingTask, member: Member) -> str:
    tool = task.tools[member.tools[0]]
    return f"{member.tools[0]}: {', '.join(tool.__code__.co_varnames[: tool.__code__.co_argcount])}"


def code_of(text: str) -> str:
    """The last block of code of a reply; the whole of it where it has none."""
    blocks: list[str] = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    return blocks[-1].strip() if blocks else text.strip()


def in_line(team: Recorder) -> str:
    """Each member once, on the task and on what the members before it said."""
    said: list[int] = []
    for agent in team.members:
        said.append(team.act(agent, ["user", *said]))
    return team.steps[-1].content


def revised(team: Recorder) -> str:
    """Code, its run and a review, until the reviewer approves or its code was revised once."""
    sources: list[int | str] = ["user"]
    for _ in range(MOST_REVISIONS + 1):
        written = team.act("coder", sources)
        ran = team.run_code("runner", written)
        review = team.act("reviewer", ["user", written, ran])
        if "REVISE" not in team.steps[review].content:
            break
        sources = ["user", written, review]
    return code_of(team.steps[written].content)


def delegated(team: Recorder) -> str:
    """A manager's requests, a specialist for each, and the answer; specialists see their request alone."""
    asked = team.act("manager", ["user"])
    requests = dict(re.findall(r"(RIDE|CLOCK):\s*(.+)", team.steps[asked].content))
    ride = team.act("ride_specialist", [requests.get("RIDE", team.steps[asked].content)])
    request = requests.get("CLOCK", team.steps[asked].content)
    times = team.act("clock_specialist", [request, ride])
    team.act("desk", ["user", ride, times])
    return team.steps[-1].content


Kind = tuple[Mapping[str, Member], Callable[[random.Random, bool], FindingTask], Callable[[Recorder], str]]
KINDS: Mapping[str, Kind] = {
    "order_desk": (teams.ORDER_DESK, teams.order_task, in_line),
    "meeting": (teams.MEETING, teams.meeting_task, in_line),
    "code_review": (teams.CODE, teams.code_task, revised),
    "expense_report": (teams.REPORT, teams.report_task, in_line),
    "travel_desk": (teams.TRAVEL, teams.travel_task, delegated),
}


def record(kind: str, number: int, asked: argparse.Namespace) -> Trajectory:
    """One run of one kind of team; every third failure carries no more than that the check said no."""
    members, make_task, flow = KINDS[kind]
    seed = asked.seed + 1000 * list(KINDS).index(kind) + number
    task = make_task(random.Random(seed), asked.easy)
    team = Recorder(asked.base_url, asked.model, 100 * seed, asked.temperature, task, members)
    answer = flow(team)
    reason = task.check(answer)
    if reason is not None and number % 3 == 0:
        reason = "check: returned False"
    return Trajectory(
        run_id=f"natural-{kind}-{number:02}",
        team=kind,
        framework="python",
        task=task.text,
        agents=tuple(AgentSpec(name=name, instructions=m.instructions, tools=m.tools) for name, m in members.items()),
        steps=tuple(team.steps),
        outcome=RunOutcome.SUCCEEDED if reason is None else RunOutcome.FAILED,
        outcome_reason=reason,
        final_output=answer,
        reference=task.reference if number % 2 == 0 else None,
    )


def main() -> None:
    """Record all runs, several at the same time, and append each to the file as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--runs", type=int, default=24, help="of each kind of team")
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--temperature", type=float, default=0.3)
    parser.add_argument("--easy", action="store_true", help="tasks that most runs pass")
    parser.add_argument("--workers", type=int, default=48)
    asked = parser.parse_args()
    jobs = [(kind, number) for number in range(asked.runs) for kind in asked.kinds]
    with ThreadPoolExecutor(asked.workers) as pool, asked.out.open("w", encoding="utf-8") as file:
        for future in as_completed([pool.submit(record, kind, number, asked) for kind, number in jobs]):
            run = future.result()
            file.write(to_json(run) + "\n")
            file.flush()
            print(run.run_id, run.outcome.value, run.outcome_reason or "", flush=True)


if __name__ == "__main__":
    main()
