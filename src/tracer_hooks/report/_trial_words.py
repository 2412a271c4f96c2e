"""Repairs in plain words, for the page and for the terminal."""

from __future__ import annotations

from tracer_hooks.repairs import PastTrial, Repair, RepairLog, RepairTarget
from tracer_hooks.report._wording import clean, in_seconds, one_line
from tracer_hooks.schema import RunOutcome, Usage

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
    """Whether the team was run: a text that tells the expected answer is a failed trial that is not."""
    return trial.attempt is not None


def what_was_done(repair: Repair) -> str:
    """What a trial changed: ``"told calculator"``, ``"tried again"``."""
    agent = one_line(repair.agent or "an agent", _AGENT)
    return {
        RepairTarget.NOTHING: "tried again",
        RepairTarget.TASK: "told the team, with the task",
        RepairTarget.MESSAGE: f"told {agent}, with its next message",
        RepairTarget.INSTRUCTIONS: f"gave {agent} other instructions",
        RepairTarget.REPLY: f"replaced what {agent} says",
    }[repair.target]


def repair_reason(repair: Repair) -> str:
    """Why this was tried, without the names that strategies have in code; empty where no reason was given."""
    said = one_line(repair.reason, _WHY)
    for name, words in _STRATEGIES.items():
        said = said.replace(repr(name), words)
    return sentence(said)


def from_where(repair: Repair, agent: str = "") -> str:
    """Which part of the run was new: ``"from scratch"``, ``"resumed at step 2 (calculator)"``."""
    if repair.resume_from is None:
        return "from scratch"
    return f"resumed at step {repair.resume_from}" + (f" ({one_line(agent, _AGENT)})" if agent else "")


def outcome_word(trial: PastTrial) -> str:
    """How a trial ended."""
    if not was_run(trial):
        return "not run"
    return {RunOutcome.SUCCEEDED: "passed", RunOutcome.FAILED: "failed"}.get(trial.outcome, "not known")


def price(trial: PastTrial) -> list[str]:
    """What a trial took, and how good it was: ``["score 0.5", "310 tokens", "1.2 s"]``."""
    parts = [] if trial.score is None else [f"score {trial.score:.2g}"]
    if trial.usage != Usage():
        written = trial.repair.usage.total
        parts.append(f"{trial.usage.total:,} tokens" + (f", {written:,} of them to write the text" if written else ""))
    if trial.seconds:
        parts.append(in_seconds(trial.seconds))
    return parts


def whole_price(log: RepairLog) -> str:
    """What all trials took together, and what kept steps spared; empty where nothing was run."""
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


def result(log: RepairLog) -> str:
    """What came of it all, in one sentence."""
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


def why_it_stopped(log: RepairLog) -> str:
    """Why there were no more trials; empty where that is not recorded."""
    return one_line(log.stopped, _WHY)


def what_it_shows(log: RepairLog) -> str:
    """What a recovery says about the step at fault, no surer than its number; empty without a recovery."""
    if not log.recovered:
        return ""
    step = log.verified
    last = log.trials[-1]
    if step is None:
        if last.repair.resume_from is None:
            return "No step is verified: a run from scratch that passes does not say where the failed one went wrong."
        return "No step is verified: the run that passed did not keep to the record before the step it resumed at."
    agent = one_line(step.agent, _AGENT)
    said = f"The run passed when it was resumed at step {step.step} ({agent}), with all before it as it was: "
    said += _how_often(log, step.step)
    if last.repair.target is not RepairTarget.NOTHING:
        said += f" {_what_else(last.repair)}, or asking again: either may have helped."
    later = sum(1 for trial in log.trials if _failed_at_or_after(trial, step.step + 1))
    if later:
        said += f" Resumed later it failed {_times(later)}, as it would with an error in between."
    return said


def _what_else(repair: Repair) -> str:
    """What was new beside asking again."""
    agent = one_line(repair.agent or "the agent", _AGENT)
    if repair.target is RepairTarget.INSTRUCTIONS:
        return f"The other instructions of {agent}"
    return f"What {'the team' if repair.target is RepairTarget.TASK else agent} was told"


def _how_often(log: RepairLog, step: int) -> str:
    """One pass is one pass: a model that answers differently each time may have been lucky."""
    there = [trial for trial in log.trials if trial.repair.resume_from == step and was_run(trial)]
    passes = sum(trial.passed for trial in there)
    if len(there) == 1:
        return "once, of one trial from there. That may be luck."
    return f"{_times(passes)}, of {len(there)} trials from there. That may be luck."


def _failed_at_or_after(trial: PastTrial, step: int) -> bool:
    return trial.outcome is RunOutcome.FAILED and was_run(trial) and (trial.repair.resume_from or 0) >= step


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning and a stop at its end; empty where it is."""
    shown = capital(text)
    return shown if not shown or shown[-1] in ".!?…" else f"{shown}."


def capital(text: str) -> str:
    """``text`` with a capital at its beginning."""
    shown = clean(text).strip()
    return shown[:1].upper() + shown[1:]
