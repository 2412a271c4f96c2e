"""Table of the features of one trajectory; kinds of acts, code, places and the rules' findings among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._reading._errors import ERROR_MARKER
from tracer_hooks.diagnosis.ranking._language import assumption, claims, failure, language
from tracer_hooks.diagnosis.ranking._signals import NOTHING_SEEN, Family
from tracer_hooks.diagnosis.ranking._view import BESIDE, Column, View, first_of, last_of, quick
from tracer_hooks.diagnosis.ranking._work import agreement, novelty, repetition, run, work
from tracer_hooks.schema import StepKind, Trajectory

_LIST = re.compile(r"^\s*(?:[-*\u2022]|\d{1,2}[.)])\s", re.MULTILINE)
PLAN = quick(
    r"\b(?:plan|step \d|first,? (?:i|we)|to solve this|approach|outline|strategy|we (?:will|need to"
    r"|should)|next step)\b",
    "plan|step |first|to solve this|approach|outline|strategy|we |next step",
)
LEDGER = quick(r"updated ledger|initial plan|new plan|stalled|replanning|facts? (?:to|we)", "ledger|plan|stall|fact")
_QUESTION = re.compile(r"\?\s*(?:$|\n)")


def shape(view: View) -> dict[str, Column]:
    """Kind and size."""
    steps, texts = view.steps, view.texts
    length = np.array([float(len(one.content)) + len(text.shown) for one, text in zip(steps, texts, strict=True)])
    logs = np.log1p(length)
    code = np.array([len(text.code) / max(1, len(text.said)) for text in texts])
    return {
        "shape: log length": logs,
        "shape: length against the run's": _standard(logs),
        "shape: length against the agent's own": _against_own(view, logs),
        "shape: fewer than 120 characters": (length < 120).astype(float),
        "shape: empty": (length == 0).astype(float),
        "shape: has code": view.flags([bool(text.code) for text in texts]),
        "shape: share of code": code,
        "shape: code is written and only printed": view.flags([_is_printing(text.code) for text in texts]),
        "shape: hand-off": view.flags([step.kind is StepKind.HANDOFF for step in steps]),
        "shape: tool call": view.flags([bool(step.tool_calls) for step in steps]),
        "shape: raised": view.flags([step.kind is StepKind.ERROR or step.error is not None for step in steps]),
        "shape: only routes": view.flags(view.is_routing),
        "shape: hands the task on": view.flags([view.run.is_brief(i) for i in range(view.count)]),
        "shape: list items": np.log1p([float(len(_LIST.findall(text.prose))) for text in texts]),
        "shape: plans": view.flags([PLAN.is_in(text.lower[:3_000]) for text in texts]),
        "shape: keeps a ledger": view.flags([LEDGER.is_in(step.content[:300].lower()) for step in steps]),
        "shape: asks a question": view.flags([_QUESTION.search(text.prose) is not None for text in texts]),
        "shape: share of numbers": np.array([len(t.numbers) / max(1, len(t.words)) for t in texts]),
    }


def flow(view: View) -> dict[str, Column]:
    """The hand-off graph: who was asked, who answered, and who built on it."""
    steps, count = view.steps, view.count
    asked = view.column()
    code_ran = view.column()
    for index in range(count):
        for back in range(index - 1, max(-1, index - 3), -1):
            if steps[back].recipient == steps[index].agent:
                asked[index] = 1.0
                break
            if not view.is_routing[back]:
                break
        code_ran[index] = float(index + 1 < count and view.is_report[index + 1] and bool(view.texts[index].code))
    readers = np.array([float(len({steps[j].agent for j in view.run.consumers(i)})) for i in range(count)])
    alike = view.likeness
    return {
        "flow: answers a hand-off": asked,
        "flow: first answer to a hand-off": first_of(asked),
        "flow: hands work to another": view.flags([step.recipient is not None for step in steps]),
        "flow: first hand-off": first_of(view.flags([step.recipient is not None for step in steps])),
        "flow: its code is run next": code_ran,
        "flow: agents that read it": readers,
        "flow: taken up by a later step": alike.later,
        "flow: taken up by the next step": alike.beside[:, BESIDE + 1],
        "flow: takes up the step before": alike.beside[:, BESIDE - 1],
        "flow: followed by a report": view.flags([i + 1 < count and view.is_report[i + 1] for i in range(count)]),
        "flow: after a report": view.flags([i > 0 and view.is_report[i - 1] for i in range(count)]),
        "flow: after a planner": view.flags([i > 0 and view.agents[i - 1] in view.planners for i in range(count)]),
        "flow: before a planner": view.flags(
            [i + 1 < count and view.agents[i + 1] in view.planners for i in range(count)]
        ),
    }


def _standard(values: Column) -> Column:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _against_own(view: View, values: Column) -> Column:
    out = view.column()
    steps_of: dict[str, list[int]] = {}
    for index, agent in enumerate(view.agents):
        steps_of.setdefault(agent, []).append(index)
    for own in steps_of.values():
        out[own] = values[own] - values[own].mean()
    return out


def _is_printing(code: str) -> bool:
    lines = [line.strip() for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    return 0 < len(lines) <= 3 and any(line.startswith("print(") for line in lines)


FETCHES = re.compile(
    r"requests\.|urlopen|perform_web_search|search\(|fetch|scrape|selenium|api[_.]|http", re.IGNORECASE
)
READS = re.compile(r"read_(?:csv|excel|json)|open\(|load_|Image\.open|PdfReader|extract_", re.IGNORECASE)
CALCULATES = re.compile(r"for .+ in range|random|simulat|sum\(|math\.|np\.|sympy|while |def \w+\(", re.IGNORECASE)
GUARDS = re.compile(r"\btry:|except\b|if not |is None|\.get\(|assert ")
LITERALS = re.compile(r"(?:\[|\{)\s*(?:[\"'\d(\[][^\]\}]{20,})(?:\]|\})")


def code(view: View) -> dict[str, Column]:
    """Marks on the steps that write code."""
    texts, count = view.texts, view.count
    written = view.flags([bool(text.code) and view.is_act[i] for i, text in enumerate(texts)])
    number = np.cumsum(written) * written
    ran, failed = view.column(), view.column()
    for index in range(count - 1):
        if written[index] and view.is_report[index + 1]:
            wrong = ERROR_MARKER.search(texts[index + 1].said) is not None
            failed[index], ran[index] = float(wrong), float(not wrong)
    talk = view.flags([view.is_act[i] and not texts[i].code and not view.is_routing[i] for i in range(count)])
    return {
        "code: first of the run": first_of(written),
        "code: second of the run": (number == 2).astype(float),
        "code: last of the run": last_of(written),
        "code: log number": np.log1p(number),
        "code: ran without an error": ran,
        "code: first that ran without an error": first_of(ran),
        "code: last that ran without an error": last_of(ran),
        "code: last that failed": last_of(failed),
        "code: fetches from outside": _found(view, FETCHES),
        "code: first to fetch from outside": first_of(_found(view, FETCHES)),
        "code: reads a file": _found(view, READS),
        "code: calculates": _found(view, CALCULATES),
        "code: guards against failure": _found(view, GUARDS),
        "code: carries its data inside": _found(view, LITERALS),
        "code: none yet in a run that has some": ((np.cumsum(written) == 0) & (written.sum() > 0)).astype(float),
        "code: none in the whole run": np.full(count, float(written.sum() == 0)),
        "code: first words after the last code": first_of(talk * (np.arange(count) > _last_index(written))),
    }


def brief(view: View) -> dict[str, Column]:
    """The handing over of the task, and the first acts after it."""
    count = view.count
    said = [len(view.task_words & set(text.words)) / max(1, len(view.task_words)) for text in view.texts]
    covered = np.array(said)
    is_brief = view.flags([view.run.is_brief(i) or (i <= 1 and covered[i] > 0.8) for i in range(count)])
    is_brief *= np.array([not view.is_report[i] for i in range(count)], dtype=float)
    opening = np.cumprod(np.maximum(is_brief, 1.0 - np.array(view.is_act, dtype=float)))
    after = np.cumsum((1 - opening) * np.array(view.is_act, dtype=float)) * np.array(view.is_act, dtype=float)
    first = first_of(np.array(view.is_act))
    return {
        "brief: says the task again": is_brief,
        "brief: share of the task said here": covered,
        "brief: the first act leaves part of the task out": first * (1 - covered),
        "brief: first act after it": (after == 1).astype(float),
        "brief: second act after it": (after == 2).astype(float),
        "brief: third act after it": (after == 3).astype(float),
        "brief: code in it": is_brief * view.flags([bool(text.code) for text in view.texts]),
    }


def _found(view: View, pattern: re.Pattern[str]) -> Column:
    return view.flags([pattern.search(text.code) is not None for text in view.texts])


def _last_index(flags: Column) -> int:
    hits = np.flatnonzero(flags)
    return int(hits[-1]) if hits.size else len(flags)  # of a run without code, no step comes after it


def position(view: View) -> dict[str, Column]:
    """Place in the run."""
    count = view.count
    index = np.arange(count, dtype=np.float64)
    acts = np.cumsum(view.is_act).astype(np.float64)
    first_act, last_act = view.acts[0], view.acts[-1]
    return {
        "position: fraction of the run": index / max(1, count - 1),
        "position: log steps from the start": np.log1p(index),
        "position: log steps to the end": np.log1p(count - 1 - index),
        "position: log acts before": np.log1p(acts),
        "position: step 0": (index == 0).astype(float),
        "position: step 1": (index == 1).astype(float),
        "position: step 2": (index == 2).astype(float),
        "position: step 3 or 4": ((index == 3) | (index == 4)).astype(float),
        "position: early tenth of a long run": ((index <= 0.1 * count) & (count > 15)).astype(float),
        "position: first third": (index < count / 3).astype(float),
        "position: last third": (index >= 2 * count / 3).astype(float),
        "position: first act": (index == first_act).astype(float),
        "position: second act": (acts == 2).astype(float) * np.array(view.is_act, dtype=float),
        "position: last act": (index == last_act).astype(float),
        "position: last step": (index == count - 1).astype(float),
    }


def turns(view: View) -> dict[str, Column]:
    """Whose turn it is, and how turns change hands."""
    agents, count = view.agents, view.count
    spoke = Counter(agents[index] for index in view.acts)
    busiest = spoke.most_common(1)[0][0] if spoke else ""
    seen: Counter[str] = Counter()
    nth = view.column()
    firsts = view.column()
    for index, agent in enumerate(agents):
        seen[agent] += 1
        nth[index], firsts[index] = seen[agent], len(seen)
    total = np.array([seen[agent] for agent in agents], dtype=np.float64)
    same_before = view.flags([index > 0 and agents[index - 1] == agents[index] for index in range(count)])
    same_after = view.flags([index + 1 < count and agents[index + 1] == agents[index] for index in range(count)])
    return {
        "turns: the agent's first step": (nth == 1).astype(float),
        "turns: the agent's second step": (nth == 2).astype(float),
        "turns: the agent's last step": (nth == total).astype(float),
        "turns: the agent's only step": (total == 1).astype(float),
        "turns: log of the agent's steps so far": np.log1p(nth),
        "turns: share of the run that is the agent's": total / max(1, count),
        "turns: the busiest agent": view.flags([agent == busiest for agent in agents]),
        "turns: the agent that began": view.flags([agent == agents[view.acts[0]] for agent in agents]),
        "turns: the agent that ended": view.flags([agent == agents[view.acts[-1]] for agent in agents]),
        "turns: agents so far": firsts / max(1, len(set(agents))),
        "turns: same agent before": same_before,
        "turns: same agent after": same_after,
        "turns: one agent alone in the run": np.full(count, float(len(spoke) <= 1)),
    }


def roles(view: View) -> dict[str, Column]:
    """What part the agent plays."""
    agents = view.agents
    apart = view.planners | view.checkers
    is_worker = [view.is_act[i] and agents[i] not in apart for i in range(view.count)]
    return {
        "role: reports what a machine printed": view.flags(view.is_report),
        "role: a person": view.flags(
            [not act and not rep for act, rep in zip(view.is_act, view.is_report, strict=True)]
        ),
        "role: planner": view.flags([agent in view.planners for agent in agents]),
        "role: checker": view.flags([agent in view.checkers for agent in agents]),
        "role: worker": view.flags(is_worker),
        "role: worker beside a planner": view.flags([worker and bool(view.planners) for worker in is_worker]),
        "role: checks and speaks last": view.flags(
            [agents[i] in view.checkers and i == view.acts[-1] for i in range(view.count)]
        ),
    }


RULES_TOGETHER = "rules: log-odds of all rules together"
"""The belief of the rules alone; a model that gives this a weight of 1 and all else 0 ranks steps as the rules do."""


def rules(view: View) -> dict[str, Column]:
    """The strongest word of each family of rules, and their sum."""
    columns = {family: view.column() for family in Family}
    for signal in view.signals:
        column = columns[signal.family]
        column[signal.step] = max(column[signal.step], signal.weight)
    together = np.sum(list(columns.values()), axis=0)
    spoken = together > 0
    own = set(view.run.acts)
    acts = np.array([index in own for index in range(view.count)])
    together = np.where(spoken, together, np.where(acts, NOTHING_SEEN, 2 * NOTHING_SEEN))
    named = {f"rules: {family.value}": column for family, column in columns.items() if family is not Family.POSITION}
    return {RULES_TOGETHER: together, **named}


_GROUPS: dict[str, Callable[[View], dict[str, Column]]] = {
    "position": position,
    "turns": turns,
    "role": roles,
    "shape": shape,
    "flow": flow,
    **dict.fromkeys(("novelty", "survival", "overlap"), novelty),
    "failure": failure,
    "code": code,
    "brief": brief,
    **dict.fromkeys(("language: first to assume or simulate", "language: from memory"), assumption),
    "language": language,
    "claims": claims,
    "repetition": repetition,
    "agreement": agreement,
    "work": work,
    "run": run,
    "rules": rules,
}
"""Readers of features, by the first word of their names, or by the name."""


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Interpretable features of every step of a trajectory."""

    names: tuple[str, ...]
    """Name of each feature, ``"group: what it says"``; the same for every trajectory, in the same order."""
    values: NDArray[np.float64]
    """One row for each step, one column for each feature; finite."""

    def column(self, name: str) -> Column:
        """One feature of every step."""
        return self.values[:, self.names.index(name)]

    def standardised(self) -> NDArray[np.float64]:
        """The values less their mean over the steps of this trajectory, over their spread; constant columns are 0.

        What is compared is then each step with the others of its run, not one team's habits with another's.
        """
        centred = self.values - self.values.mean(axis=0, keepdims=True)
        spread = self.values.std(axis=0, keepdims=True)
        return np.where(spread > 1e-9, centred / np.where(spread > 1e-9, spread, 1.0), 0.0)


def features_of(trajectory: Trajectory, *, reference: str | None = None) -> FeatureTable:
    """Read the features off a trajectory.

    Args:
        trajectory: With at least one step.
        reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.
    """
    return table_of(View(trajectory, reference))


def table_of(view: View) -> FeatureTable:
    """The features of a trajectory that has been made ready."""
    columns: dict[str, Column] = {}
    for group in dict.fromkeys(_GROUPS.values()):
        columns.update(view.columns(group))
    values = np.stack(list(columns.values()), axis=1)
    return FeatureTable(tuple(columns), np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0))


def feature_of(view: View, name: str) -> Column:
    """One feature, without reading those of other groups."""
    return view.columns(_GROUPS.get(name) or _GROUPS[group_of(name)])[name]


def group_of(name: str) -> str:
    """The group that a feature belongs to: the part of its name before the colon."""
    return name.partition(":")[0]
