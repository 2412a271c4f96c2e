"""Candidates of other methods, chosen among: the agent first, then a step of that agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracer_hooks.attribution._judge._case import NO_FAULT, NOBODY, UNNAMED, Case
from tracer_hooks.attribution._judge._choice import Option, choose_from_many
from tracer_hooks.attribution._judge._fence import flat
from tracer_hooks.attribution._judge._interview import Interview
from tracer_hooks.attribution._judge._protocols._choice_with_run import choice_with_run, opening_of
from tracer_hooks.attribution._judge._protocols._explain import explained
from tracer_hooks.attribution._judge._verdict import Verdict, plain_verdict

AGENT, STEP = "ranked_agent", "ranked_step"


def ranked(interview: Interview, candidates: Mapping[int, float]) -> Verdict:
    """Choose the agent among those of the candidates, then the step among that agent's candidates.

    Args:
        interview: About the run.
        candidates: Weight of each step that may be the answer, from other methods; empty means every step, and steps
            of people do not count. The weights decide where the judge does not: between options that it holds equally
            likely, and among the steps of agents that it did not choose.
    """
    case = interview.case
    weights = {step: weight for step, weight in candidates.items() if step in case.answerable}
    weights = weights or dict.fromkeys(case.answerable, 1.0)
    by_agent: dict[str, dict[int, float]] = {}
    for step in sorted(weights):
        by_agent.setdefault(case.owner(step), {})[step] = weights[step]
    interview.best = plain_verdict(case, _shared(weights), "the candidate with the highest weight")
    agents, nobody = _choose_agent(interview, list(by_agent), sorted(weights))
    beliefs = {
        step: agents[agent] * share for agent, steps in by_agent.items() for step, share in _shared(steps).items()
    }
    best = max(agents, key=lambda agent: (agents[agent], sum(by_agent[agent].values())))
    if nobody > agents[best]:
        suspect = plain_verdict(case, beliefs, "the most suspicious step, of an agent that need not be at fault")
        return replace(suspect, agents=agents, abstention=NO_FAULT)
    interview.best = plain_verdict(case, _of(best, beliefs, case), f"the judge named {best!r}, and no step of its yet")
    chosen = _choose_step(interview, best, sorted(by_agent[best]))
    beliefs |= {step: agents[best] * share for step, share in chosen.items()}
    step = max(chosen, key=lambda index: (chosen[index], weights[index], -index))
    beliefs = {index: min(belief, beliefs[step]) for index, belief in beliefs.items()}
    found = Verdict(step=step, beliefs=beliefs, agents=agents)
    return explained(interview, found)


def _choose_agent(interview: Interview, agents: Sequence[str], focus: Sequence[int]) -> tuple[dict[str, float], float]:
    """Probability of each agent, and that there is none to be blamed."""
    case = interview.case
    options = [Option(agent, flat(agent) or UNNAMED) for agent in agents]
    if not case.is_failure:
        options.append(Option(None, NOBODY))
    found = choose_from_many(interview, choice_with_run(interview, AGENT, options, focus))
    return {agent: found[agent] for agent in agents}, found.get(None, 0.0)


def _choose_step(interview: Interview, agent: str, steps: Sequence[int]) -> dict[int, float]:
    options = [Option(step, f"step {step}: {opening_of(interview.case, step)}") for step in steps]
    found = choose_from_many(interview, choice_with_run(interview, STEP, options, steps, agent=flat(agent) or UNNAMED))
    return {step: found[step] for step in steps}


def _of(agent: str, beliefs: Mapping[int, float], case: Case) -> dict[int, float]:
    return {step: belief for step, belief in beliefs.items() if case.owner(step) == agent}


def _shared(weights: Mapping[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    return {step: weight / total if total else 1.0 / len(weights) for step, weight in weights.items()}
