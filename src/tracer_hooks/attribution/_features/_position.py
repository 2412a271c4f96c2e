"""Where a step stands: in the run, among the agent's own steps, and next to whom."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracer_hooks.attribution._features._view import Column, View


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
