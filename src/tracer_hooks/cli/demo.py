"""``tracer-hooks demo``: a team that fails, its diagnosis, and the search for a repair that it passes with."""

from __future__ import annotations

import json
import logging
import os
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import tracer_hooks
from tracer_hooks._guard import is_strict
from tracer_hooks.cli.console import FAILED, writing_page
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.config import store_path
from tracer_hooks.errors import ConfigError

if TYPE_CHECKING:  # at run time with the work: help needs no team
    from tracer_hooks.testing.ticket_office import Endpoint

    Build = Callable[[Endpoint, Mapping[str, str] | None], Any]

GROUP = "tracer_hooks.demos"
_WITHOUT_FEE = "75.00"
_TIMEOUT_S = 120
_WIDTH = 110
_MOST_TRIES, _SEED = 3, 24
"""Seeded, so that every demo tries the same."""

# The frameworks phone home, print panels and trace on their own unless told otherwise; a demo should not.
_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
}
_TOOL = {
    "type": "function",
    "function": {
        "name": "ticket_price",
        "description": "Look up what one train ticket costs.",
        "parameters": {
            "type": "object",
            "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
            "required": ["origin", "destination"],
        },
    },
}


def demo_command(
    base_url: Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", help="A real OpenAI-compatible endpoint.")] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="Its model.")] = "",
    framework: Annotated[list[str], typer.Option(help="Only this framework; may be repeated.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("tracer-hooks-demo"),
) -> None:
    """Hook a team that fails in each installed framework, diagnose it, repair it, and write a report."""
    from tracer_hooks.testing import ScriptedLLM
    from tracer_hooks.testing.ticket_office import Endpoint, script

    for key, value in _QUIET.items():
        os.environ.setdefault(key, value)
    logging.getLogger("crewai").setLevel(logging.ERROR)  # it warns at every call that it does not know the model
    logging.getLogger("autogen_core").setLevel(logging.CRITICAL)  # it logs a failed run's traceback for every agent
    builders = _builders(framework)
    is_scripted = not (base_url or model or os.environ.get("OPENAI_API_KEY"))
    with ExitStack() as stack:
        if is_scripted:
            llm = stack.enter_context(ScriptedLLM(rules=script()))
            endpoint = Endpoint(base_url=llm.base_url, model=llm.model, api_key=llm.api_key)
        else:
            endpoint = Endpoint.from_env(base_url=base_url, model=model)
        _introduce(endpoint, is_scripted)
        passed = [_show(name, load, endpoint, out) for name, load in builders.items()]
    _conclude(passed, list(builders), is_scripted)
    if is_scripted and not all(passed):
        raise typer.Exit(FAILED)


def judge(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
    """The demo's check: the right total stands in the answer."""
    from tracer_hooks.testing.ticket_office import ANSWER, FEEDBACK

    if ANSWER in result.text:
        return tracer_hooks.Verdict(passed=True)
    feedback = FEEDBACK if _WITHOUT_FEE in result.text else "the total does not follow from the price and the fee"
    reason = f"expected {ANSWER} EUR, got {result.text[:200]!r}"
    return tracer_hooks.Verdict(passed=False, reason=reason, feedback=feedback)


def _builders(wanted: Sequence[str]) -> dict[str, Callable[[], Build]]:
    from importlib.metadata import entry_points

    found: dict[str, Callable[[], Build]] = {"python": lambda: build_team}
    found |= {point.name: point.load for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise ConfigError(
            f"--framework is {unknown[0]!r}, expected one of: {', '.join(found)}. "
            f"For more: pip install 'tracer-hooks[{unknown[0]}]'"
        )
    return {name: load for name, load in found.items() if name in wanted or not wanted}


def _introduce(endpoint: Endpoint, is_scripted: bool) -> None:
    from tracer_hooks.testing.ticket_office import TASK

    console = out_console()
    console.print(Text("tracer-hooks demo", style="bold"))
    console.print(Text(f"task: {TASK}"))
    scripted = (
        "a scripted server on this machine; no language model is called. Give --base-url and --model for a real one."
    )
    named = scripted if is_scripted else f"{endpoint.model} at {endpoint.base_url}"
    console.print(Text(f"model: {named}", style="dim"))


def _show(name: str, load: Callable[[], Build], endpoint: Endpoint, folder: Path) -> bool:
    console = out_console()
    console.print()
    console.rule(Text(name, style="bold"), align="left")
    try:
        with console.status(f"importing {name}"):
            build = load()
    except ImportError as error:
        console.print(Text(f"skipped: {error}. Run: pip install 'tracer-hooks[{name}]'", style="yellow"))
        return False
    started = time.perf_counter()
    try:
        run = _run(build, endpoint)
    except Exception as error:  # one framework that cannot be shown must not keep the others from it
        if is_strict():
            raise
        console.print(Text(f"cannot be shown: {type(error).__name__}: {error}. Run: tracer-hooks doctor", style="red"))
        return False
    _show_recovery(run)
    path = folder / f"{name}.html"
    with writing_page(path, option="--out", kind=ConfigError):
        run.report(path)
    passed = run.outcome is tracer_hooks.RunOutcome.SUCCEEDED
    mark = Text("SUCCEEDED" if passed else str(run.outcome).upper(), style="bold green" if passed else "bold red")
    seconds = time.perf_counter() - started
    console.print(Text.assemble(mark, f" after {len(run.attempts)} attempt(s), {seconds:.1f} s; report: {path}"))
    return passed


def _run(build: Build, endpoint: Endpoint) -> tracer_hooks.TeamRun:
    from tracer_hooks.repair import RetryPolicy
    from tracer_hooks.runtime import Archive
    from tracer_hooks.testing.ticket_office import TASK

    def build_this(prompts: Mapping[str, str] | None = None) -> Any:
        return build(endpoint, prompts)

    run = tracer_hooks.run(
        build_this,
        TASK,
        check=judge,
        retries=RetryPolicy(max_retries=_MOST_TRIES, seed=_SEED),
        attributor=ShowingAttributor(),
        on_attempt=_show_attempt,
        capture="full",
        store="off",
    )
    # Kept afterwards, without what the search learned: what a script heeds must not count for a team of the same name.
    Archive(store_path(None)).save(run)
    return run


class ShowingAttributor:
    """Shows the diagnosis of the failed run when it is made, before anything is tried; those of failed trials not."""

    name = "auto"

    def __init__(self) -> None:
        from tracer_hooks.diagnosis import get_attributor

        self._attributor = get_attributor("auto")
        self._has_shown = False

    def attribute(
        self, trajectory: tracer_hooks.Trajectory, *, reference: str | None = None
    ) -> tracer_hooks.Attribution:
        """Diagnose, and show the first diagnosis."""
        from rich.panel import Panel

        from tracer_hooks.report import diagnosis_text

        found = self._attributor.attribute(trajectory, reference=reference)
        if not self._has_shown:
            self._has_shown = True
            _show_steps(trajectory)
            out_console().print(Panel(diagnosis_text(trajectory, found), title="diagnosis", title_align="left"))
        return found


def _show_attempt(attempt: tracer_hooks.Attempt) -> None:
    """The steps of each attempt but the failed run, which comes with its diagnosis; of a trial what it changed."""
    from tracer_hooks.report import repair_line, repair_reason

    repair = attempt.repair
    passed = attempt.outcome is tracer_hooks.RunOutcome.SUCCEEDED
    if repair is not None or passed:
        _show_steps(attempt.trajectory)
    if repair is None:
        return
    line = repair_line(repair, attempt.trajectory)
    ended = Text("it passed" if passed else "it did not help", style="green" if passed else "yellow")
    out_console().print(Text.assemble((f"trial {attempt.number - 1}: ", "bold"), f"{line}: ", ended))
    if repair.text:
        out_console().print(Text(f"  “{repair.text}”", style="italic"))
    if why := repair_reason(repair):
        out_console().print(Text(f"  {why}", style="dim"))


def _show_recovery(run: tracer_hooks.TeamRun) -> None:
    log = run.repair
    if log is None:
        return
    spent = f"{log.usage.total:,} tokens"
    saved = f"{log.kept_usage.total:,} saved by the steps that were kept"
    if log.passed_from is not None:
        where = f"at step {log.passed_from}"
        out_console().print(Text(f"recovered {where}, {spent} for all trials, {saved}", style="green"))
    elif log.recovered:
        out_console().print(Text(f"recovered from scratch, {spent} for all trials", style="green"))
    else:
        out_console().print(Text(f"not recovered: {log.stopped}; {spent} for all trials", style="yellow"))


def _conclude(passed: Sequence[bool], names: Sequence[str], is_scripted: bool) -> None:
    console = out_console()
    console.print()
    console.rule(align="left")
    good = [name for name, ok in zip(names, passed, strict=True) if ok]
    console.print(Text(f"{len(good)} of {len(names)} teams were repaired or passed: {', '.join(good) or 'none'}"))
    console.print(Text("next: tracer-hooks runs list | tracer-hooks runs show RUN | tracer-hooks doctor", style="dim"))
    if not is_scripted and len(good) < len(names):
        console.print(Text("a real model may fail in other ways than the script; see the reports", style="dim"))


def _show_steps(run: tracer_hooks.Trajectory) -> None:
    """A line for each step."""
    for step in run.steps:
        calls = "; ".join(f"{call.name} -> {call.error or call.result or ''}" for call in step.tool_calls)
        words = " ".join((step.error or calls or step.content).split())[:_WIDTH]
        line = Text.assemble((f"  {step.index:>3} {step.agent:<12} ", "cyan"), (words, "red" if step.error else ""))
        out_console().print(line, overflow="ellipsis", no_wrap=True)


def build_team(endpoint: Endpoint, prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """A function that takes the task; its agents, model and tool are marked for tracer-hooks."""
    from tracer_hooks.testing.ticket_office import instructions, ticket_price

    written = instructions(prompts)
    price = tracer_hooks.tool(ticket_price)

    @tracer_hooks.model(name=endpoint.model)
    def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        body = {"model": endpoint.model, "messages": messages, **({"tools": tools} if tools else {})}
        request = urllib.request.Request(
            f"{endpoint.base_url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {endpoint.api_key}"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            reply = json.load(response)
        message: dict[str, Any] = reply["choices"][0]["message"]
        return {**message, "usage": reply.get("usage")}

    def opening(name: str, content: str) -> list[dict[str, Any]]:
        system = tracer_hooks.instructions(name, written[name])
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    @tracer_hooks.agent(instructions=written["researcher"], tools=["ticket_price"])
    def researcher(task: str) -> str:
        messages = opening("researcher", task)
        reply = complete(messages, [_TOOL])
        while calls := reply.get("tool_calls"):
            messages.append({"role": "assistant", "content": reply.get("content"), "tool_calls": calls})
            for call in calls:
                result = price(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            reply = complete(messages, [_TOOL])
        return str(reply["content"])

    @tracer_hooks.agent(instructions=written["calculator"])
    def calculator(task: str, findings: str) -> str:
        return str(complete(opening("calculator", f"{task}\n\n{findings}"))["content"])

    @tracer_hooks.agent(instructions=written["writer"])
    def writer(task: str, calculation: str) -> str:
        return str(complete(opening("writer", f"{task}\n\n{calculation}"))["content"])

    def ticket_office(task: str) -> str:
        return writer(task, calculator(task, researcher(task)))

    return ticket_office
