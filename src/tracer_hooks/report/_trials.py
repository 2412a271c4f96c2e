"""Trials of repairs: what a page and a terminal say of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracer_hooks.repair import PastTrial, Repair, RepairLog, RepairTarget
from tracer_hooks.report._run import ReportRun
from tracer_hooks.report._wording import View, clean, excerpt, in_seconds, one_line, prompt_diff, styled
from tracer_hooks.schema import RunOutcome, Trajectory, Usage

if TYPE_CHECKING:
    from rich.console import RenderableType

_AGENT = 60
_WHY = 600
_STRATEGIES = {
    "from_scratch": "trying again",
    "resample": "asking again",
    "feedback_in_task": "feedback in the task",
    "feedback_in_message": "feedback in the agent's next message",
    "guidance": "guidance written by a model",
    "instructions": "rewriting the instructions",
}


def was_run(trial: PastTrial) -> bool:
    """Tell whether the team was run: a text that tells the expected answer is a failed trial that is not."""
    return trial.attempt is not None


def what_was_done(repair: Repair) -> str:
    """Return what a trial changed: ``"told calculator"``, ``"tried again"``."""
    agent = one_line(repair.agent or "an agent", _AGENT)
    return {
        RepairTarget.NOTHING: "tried again",
        RepairTarget.TASK: "told the team, with the task",
        RepairTarget.MESSAGE: f"told {agent}, with its next message",
        RepairTarget.INSTRUCTIONS: f"gave {agent} other instructions",
        RepairTarget.REPLY: f"replaced what {agent} says",
    }[repair.target]


def repair_reason(repair: Repair) -> str:
    """Return why this was tried, without the names that strategies have in code; empty where no reason was given."""
    said = one_line(repair.reason, _WHY)
    for name, words in _STRATEGIES.items():
        said = said.replace(repr(name), words)
    return sentence(said)


def from_where(repair: Repair, agent: str = "", how: str = "resumed at") -> str:
    """Return which part of the run was new: ``"from scratch"``, ``"resumed at step 2 (calculator)"``."""
    if repair.resume_from is None:
        return "from scratch"
    return f"{how} step {repair.resume_from}" + (f" ({agent})" if agent else "")


def outcome_word(trial: PastTrial) -> str:
    """Return how a trial ended."""
    if not was_run(trial):
        return "not run"
    return {RunOutcome.SUCCEEDED: "passed", RunOutcome.FAILED: "failed"}.get(trial.outcome, "not known")


def price_words(trial: PastTrial) -> list[str]:
    """Return what a trial took, and how good it was: ``["score 0.5", "310 tokens", "1.2 s"]``."""
    parts = [] if trial.score is None else [f"score {trial.score:.2g}"]
    if trial.usage != Usage():
        written = trial.repair.usage.total
        parts.append(f"{trial.usage.total:,} tokens" + (f", {written:,} of them to write the text" if written else ""))
    if trial.seconds:
        parts.append(in_seconds(trial.seconds))
    return parts


def total_price_words(log: RepairLog) -> str:
    """Return what all trials took together, and what kept steps spared; empty where nothing was run."""
    parts = []
    if log.usage != Usage():
        parts.append(f"{log.usage.total:,} tokens")
    if log.seconds:
        parts.append(in_seconds(log.seconds))
    said = " and ".join(part for part in parts if part)
    saved = log.kept_usage.total
    if not saved:
        return said
    spared = f"{saved:,} tokens were saved, since kept steps came from the record"
    return f"{said}; {spared}" if said else spared


def result_words(log: RepairLog) -> str:
    """Return what came of it all, in one sentence."""
    count = len(log.trials)
    if not count:
        return "Nothing was tried."
    if log.recovered:
        last = log.trials[-1]
        which = "the first trial" if count == 1 else f"trial {count}, after {count - 1} that did not help"
        return f"The run was recovered by {which}: {what_was_done(last.repair)}, {from_where(last.repair)}."
    if log.trials[-1].outcome is RunOutcome.UNKNOWN:
        return f"None of the {count} trials passed." if count > 1 else "The one trial did not pass."
    return f"None of the {count} trials helped." if count > 1 else "The one trial did not help."


def what_it_shows(log: RepairLog) -> str:
    """Return what a recovery says about the step at fault, no surer than its number; empty without a recovery."""
    if not log.recovered:
        return ""
    last = log.trials[-1]
    step = last.repair.resume_from
    if step is None:
        return "A run from scratch that passes does not say where the failed one went wrong."
    if last.left_record:
        return "The run that passed did not keep to the record before the step it resumed at: it verifies no step."
    there = [trial for trial in log.trials if trial.repair.resume_from == step and was_run(trial)]
    passes = sum(trial.passed for trial in there)
    often = "once" if passes == len(there) == 1 else f"{passes} of {len(there)} times"
    kept = [trial for trial in log.trials[:-1] if trial.repair.resume_from is not None and not trial.left_record]
    why = "so few runs show no step" if kept else "nothing was run beside it to compare with"
    return f"Passed when resumed at step {step}, {often}. That may be luck: {why}."


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning and a stop at its end; empty where it is."""
    shown = capital(text)
    return shown if not shown or shown[-1] in ".!?…" else f"{shown}."


def capital(text: str) -> str:
    """``text`` with a capital at its beginning."""
    shown = clean(text).strip()
    return shown[:1].upper() + shown[1:]


_TOLD = 160
_LONGEST_NOTE = 300
_MOST_LINES_OF_REPAIR = 20
_STYLES = {"passed": "green", "failed": "red", "not run": "yellow", "not known": "yellow"}


def repair_text(log: RepairLog, trajectory: Trajectory | None = None) -> RenderableType:
    """Return what :func:`rich.print` shows of the repairs of one call.

    Text from the run is never read as markup, so brackets in it are shown as they are.
    """
    from rich.console import Group

    return Group(*_lines(log, trajectory))


def repair_line(repair: Repair, trajectory: Trajectory | None = None) -> str:
    """One repair in a few words: ``"told the team, with the task, resumed at step 2 (calculator)"``."""
    return f"{what_was_done(repair)}, {from_where(repair, _agent_at(trajectory, repair.resume_from, _AGENT))}"


def _lines(log: RepairLog, trajectory: Trajectory | None) -> Iterator[RenderableType]:
    yield styled(("What was tried  ", "bold"), (result_words(log), "green" if log.recovered else "yellow"))
    trials = log.trials[:_MOST_LINES_OF_REPAIR]
    # Few words: a line is to fit into 80 columns.
    agents = [_agent_at(trajectory, each.repair.resume_from, 40) for each in trials]
    cells = [
        (outcome_word(each), what_was_done(each.repair), from_where(each.repair, agent, "from"))
        for each, agent in zip(trials, agents, strict=True)
    ]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, (trial, (word, done, where)) in enumerate(zip(trials, cells, strict=True), start=1):
        yield styled(
            (f"  {number:>2}  ", "dim"), (f"{word:<{wide[0]}}  ", _STYLES[word]), (f"{done:<{wide[1]}}  {where}", "")
        )
        if paid := price_words(trial):
            yield _below((", ".join(paid), "dim"))
        if trial.repair.text and was_run(trial) and trial.repair.target is not RepairTarget.INSTRUCTIONS:
            yield _below((f"“{one_line(trial.repair.text, _TOLD)}”", "italic"))
        if trial.note:
            yield _below((sentence(one_line(trial.note, _LONGEST_NOTE)), "dim"))
    if len(log.trials) > _MOST_LINES_OF_REPAIR:
        yield styled((f"  and {len(log.trials) - _MOST_LINES_OF_REPAIR} more", "dim"))
    for title, said in _ends(log):
        if said:
            yield styled((f"{title:<14}  ", "bold"), (said, ""))


def _ends(log: RepairLog) -> tuple[tuple[str, str], ...]:
    return (
        ("Why it stopped", sentence(one_line(log.stopped, _WHY))),
        ("What it shows", what_it_shows(log)),
        ("What it cost", sentence(total_price_words(log))),
    )


def _below(*parts: tuple[str, str]) -> RenderableType:
    """A line that belongs to the one above it, as its continuations do."""
    from rich.padding import Padding

    return Padding(styled(*parts), (0, 0, 0, 6), expand=False)


_TEXT = 8_000
_FOLD_FROM = 400
_LONGEST_TRIAL_NOTE = 600
_MOST_TRIALS = 100
"""Rows in the page; nobody reads more."""
_MOST_VERDICTS = 3


def tree_view(run: ReportRun, attempts: Sequence[View]) -> View | None:
    """Attempts, trials and forks for the template; None for a run that has nothing but itself.

    Args:
        run: The call.
        attempts: Its attempts as the page shows them.
    """
    log = run.repair
    if log is None and len(attempts) < 2 and run.parent is None and not run.forks:
        return None
    keys = {attempt["number"]: attempt["key"] for attempt in attempts}
    trials = log.trials[:_MOST_TRIALS] if log is not None else ()
    rows = [_trial_view(trial, keys.get(trial.attempt or 0, ""), run) for trial in trials]
    told, shown = {row["key"] for row in rows}, run.forks[-_MOST_TRIALS:]
    left_out = max(0, len(log.trials) - _MOST_TRIALS) if log is not None else 0
    return dict(
        parent=run.parent,
        trials=rows,
        others=[attempt for attempt in attempts[1:] if attempt["key"] not in told and not left_out],
        forks=[(keys.get(fork.attempt, "a1"), fork) for fork in shown],
        left_out=left_out + len(run.forks) - len(shown),
        result="" if log is None else result_words(log),
        ends=() if log is None else _ends(log)[::2],
    )


def evidence_of_replays(run: ReportRun) -> Iterator[str]:
    """What runs with a change say of the step at fault, with their counts."""
    if run.repair is not None and run.repair.recovered:
        yield f"Repair: {what_it_shows(run.repair)}"
    for fork in run.forks[-_MOST_VERDICTS:]:
        if fork.verdict:
            yield f"Fork at step {fork.step}: {sentence(one_line(fork.verdict, _WHY))}"


def _trial_view(trial: PastTrial, key: str, run: ReportRun) -> View:
    repair, first = trial.repair, run.attempts[0].trajectory
    made = next((each.trajectory for each in run.attempts if each.number == trial.attempt), None)
    step, facts = repair.resume_from, price_words(trial)
    if step is not None and made is not None and trial.usage != Usage():
        # Tokens of the steps that the trial kept: they stand in its run, and were not spent.
        saved = made.usage.total - (trial.usage.total - repair.usage.total)
        facts += [f"{saved:,} tokens saved"] if saved > 0 else []
    is_diff = repair.target is RepairTarget.INSTRUCTIONS and was_run(trial)
    text = repair.text if was_run(trial) and not is_diff else ""  # what was not run told the answer
    return dict(
        key=key,
        attempt=trial.attempt,
        done=capital(what_was_done(repair)),
        step=step,
        agent=_agent_at(made or first, step, _AGENT),
        outcome=trial.outcome.value if was_run(trial) else "unknown",
        outcome_word=capital(outcome_word(trial)),
        facts=facts,
        text=excerpt(text, limit=_TEXT, fold_from=_FOLD_FROM) if text else None,
        diff=prompt_diff(first.instructions_of(repair.agent) or "", repair.text) if is_diff else None,
        why=repair_reason(repair),
        note=sentence(one_line(trial.note, _LONGEST_TRIAL_NOTE)),
    )


def _agent_at(run: Trajectory | None, step: int | None, limit: int) -> str:
    if run is None or step is None or step >= len(run.steps):
        return ""
    return one_line(run.steps[step].agent, limit)
