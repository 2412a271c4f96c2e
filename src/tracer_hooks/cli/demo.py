"""``tracer-hooks demo``: teams that fail, each in its own way, what is found in the run, and what it passes with."""

from __future__ import annotations

import json
import logging
import os
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import tracer_hooks
from tracer_hooks._guard import is_strict
from tracer_hooks.cli.console import FAILED, program, writing_page
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.config import store_place
from tracer_hooks.errors import ADAPTERS, ConfigError, install_line

if TYPE_CHECKING:  # at run time with the work: help needs no team
    from tracer_hooks.testing.ticket_office import Endpoint

    Build = Callable[[Endpoint, Mapping[str, str] | None], Any]

GROUP = "tracer_hooks.demos"
_TIMEOUT_S = 120
_NAME = 10
_MOST_TRIES = 3
"""Seeded, so that every demo tries the same."""
_SLIP_OF = {"autogen": "ignored_error", "crewai": "record_contradicted", "langgraph": "wrong_request"}
"""What goes wrong in each framework's team; in others a calculation."""

# The frameworks phone home, print panels and trace on their own unless told otherwise; a demo should not.
_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "AUTOGEN_DISABLE_RUNTIME_TRACING": "true",
}
_ROUTE = {name: {"type": "string"} for name in ("origin", "destination")}
_PARAMETERS = {"type": "object", "properties": _ROUTE, "required": list(_ROUTE)}
_ABOUT = "Look up what one train ticket costs."
_TOOL = {"type": "function", "function": {"name": "ticket_price", "description": _ABOUT, "parameters": _PARAMETERS}}


def demo_command(
    base_url: Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", help="A real OpenAI-compatible endpoint.")] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="Its model.")] = "",
    framework: Annotated[list[str], typer.Option(help="Only this framework; may be repeated.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("tracer-hooks-demo"),
) -> None:
    """Hook a team that fails in each installed framework, diagnose it, repair it, and write a report."""
    from tracer_hooks.testing.ticket_office import TASK, Endpoint

    for key, value in _QUIET.items():
        os.environ.setdefault(key, value)
    logging.getLogger("crewai").setLevel(logging.ERROR)  # it warns at every call that it does not know the model
    for name in ("autogen_core", "autogen_agentchat"):  # they log a failed tool's or run's traceback
        logging.getLogger(name).setLevel(logging.CRITICAL)
    builders = _builders(framework)
    is_scripted = not (base_url or model or os.environ.get("OPENAI_API_KEY"))
    endpoint = None if is_scripted else Endpoint.from_env(base_url=base_url, model=model)
    console = out_console()
    model_line = "a script, and no sign of what real ones do (--base-url URL --model NAME)"
    if endpoint is not None:
        model_line = f"{endpoint.model} at {endpoint.base_url}"
    console.print(Text("tracer-hooks demo: researcher, calculator and writer, in each framework", style="bold"))
    console.print(f"task: {TASK}\nmodel: {model_line}\n")
    runs = {name: _show(name, load, endpoint, out) for name, load in builders.items()}
    absent = () if framework else [name for name in ADAPTERS if name not in builders]
    if absent:
        console.print(Text(f"not installed: {', '.join(absent)}. See: {program()} doctor", style="yellow"))
    passed = [run for run in runs.values() if run is not None and run.outcome is tracer_hooks.RunOutcome.SUCCEEDED]
    _conclude(runs, len(passed), out, _overview(out))
    if is_scripted and len(passed) < len(runs):
        raise typer.Exit(FAILED)


def judge(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
    """The demo's check: the right total stands in the answer. It does not say what is wrong."""
    from tracer_hooks.testing.ticket_office import ANSWER, REASON

    if ANSWER in result.text:
        return tracer_hooks.Verdict(passed=True)
    return tracer_hooks.Verdict(passed=False, reason=REASON, feedback=REASON)


def _builders(wanted: Sequence[str]) -> dict[str, Callable[[], Build]]:
    from importlib.metadata import entry_points

    found: dict[str, Callable[[], Build]] = {"python": lambda: build_team}
    found |= {point.name: point.load for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    unknown = [name for name in wanted if name not in found]
    if unknown:
        more = f". Run: {install_line(unknown[0])}" if unknown[0] in ADAPTERS else ""
        raise ConfigError(f"--framework is {unknown[0]!r}, expected one of: {', '.join(found)}{more}")
    return {name: load for name, load in found.items() if name in wanted or not wanted}


def _show(name: str, load: Callable[[], Build], endpoint: Endpoint | None, folder: Path) -> tracer_hooks.TeamRun | None:
    """Run a team and say what came of it; None where it cannot be run."""
    console = out_console()
    try:
        with console.status(f"importing {name}"):
            build = load()
        run = _run(build, endpoint, _SLIP_OF.get(name, "wrong_calculation"))
    except ImportError as error:
        _say(name, Text(f"skipped: {error}. Run: {install_line(name)}", style="yellow"))
        return None
    except Exception as error:  # one framework that cannot be shown must not keep the others from it
        if is_strict():
            raise
        said = f"cannot be shown: {type(error).__name__}: {error}. Run: {program()} doctor"
        _say(name, Text(said, style="red"))
        return None
    path = folder / f"{name}.html"
    with writing_page(path, option="--out", kind=ConfigError):
        run.report(path)
    _say(name, *_course(run))
    return run


def _run(build: Build, endpoint: Endpoint | None, slip: str) -> tracer_hooks.TeamRun:
    from tracer_hooks.repair import RetryPolicy
    from tracer_hooks.runtime import Archive
    from tracer_hooks.testing import ScriptedLLM
    from tracer_hooks.testing.ticket_office import TASK, Endpoint, script

    with ExitStack() as stack:
        if endpoint is None:
            llm = stack.enter_context(ScriptedLLM(rules=script(slip)))
            endpoint = Endpoint(base_url=llm.base_url, model=llm.model, api_key=llm.api_key)
        asked = endpoint
        run = tracer_hooks.run(
            lambda prompts=None: build(asked, prompts),
            TASK,
            check=judge,
            retries=RetryPolicy(max_retries=_MOST_TRIES),
            capture="full",
            store="off",
        )
    Archive(store_place(None)).save(run)
    return run


def _say(name: str, *lines: Text) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    table.add_column(width=_NAME)
    table.add_column()
    for at, line in enumerate(lines):
        table.add_row(Text("" if at else name, style="bold"), line)
    out_console().print(table)


def _course(run: tracer_hooks.TeamRun) -> Iterator[Text]:
    """What went wrong, where, and what helped, in two lines."""
    from tracer_hooks.report import repair_line

    found = run.attribution
    if found is None:
        yield Text(f"{run.outcome}, and nothing to diagnose: {run.outcome_reason or 'the answer is right'}")
        return
    heading = next((each for each in found.findings if each.step == found.step), None)
    if heading is None or found.certainty not in ("clear", "likely"):
        places = ", ".join(f"step {each.step} ({each.agent})" for each in found.places)
        yield Text(found.headline + (f" Places to start: {places}." if places else ""))
    else:
        place = f"{found.agent}, step {found.step}  "
        yield Text.assemble((place, "cyan"), f"{heading.kind.value.replace('_', ' ')}: {heading.text}")
    log = run.repair
    if log is None or not log.recovered:
        yield Text(f"-> not recovered: {'no retry' if log is None else log.stopped}", style="yellow")
        return
    done = repair_line(log.trials[-1].repair, run.attempts[0].trajectory)
    which = "" if len(log.trials) == 1 else f" at trial {len(log.trials)}"
    yield Text(f"-> recovered{which}: {done}", style="green")


def _overview(folder: Path) -> Path | None:
    """Write pages on all stored runs beside the demo's; None where runs are not stored."""
    from tracer_hooks.report import RunFilter, write_site
    from tracer_hooks.store import RunStore

    path = store_place(None)
    if path is None:
        return None
    with RunStore(path, read_only=True) as kept, writing_page(folder / "runs", option="--out", kind=ConfigError):
        return write_site(folder / "runs", kept, RunFilter()).index


def _conclude(
    runs: Mapping[str, tracer_hooks.TeamRun | None], passed: int, folder: Path, overview: Path | None
) -> None:
    console = out_console()
    console.print()
    console.print(Text(f"{passed} of {len(runs)} teams passed in the end. A page on each: {folder}/*.html"))
    if overview is not None:
        console.print(Text(f"All stored runs on one page: {overview}"), soft_wrap=True)
        console.print(f"the same live, with labels: {program()} serve", soft_wrap=True)
    if shown := next((run for run in runs.values() if run is not None), None):
        run_id = shown.attempts[0].trajectory.run_id[:12]
        console.print(f"next: {program()} runs list\n      {program()} runs show {run_id}", soft_wrap=True)


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
                try:
                    result = price(**json.loads(call["function"]["arguments"]))
                except LookupError as error:
                    result = f"error: {error}"
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
