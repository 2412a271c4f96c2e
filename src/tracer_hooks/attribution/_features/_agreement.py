"""Repetition, agreement and disagreement between steps and agents."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracer_hooks.attribution._features._likeness import BESIDE, SAME
from tracer_hooks.attribution._features._marks import first_of, lowest
from tracer_hooks.attribution._features._view import Column, View

_NEAR = 0.6


def repetition(view: View) -> dict[str, Column]:
    """How much a step says again what was said."""
    alike = view.likeness
    return {
        "repetition: like an earlier step": alike.earlier,
        "repetition: like the agent's own earlier steps": alike.own_earlier,
        "repetition: like another agent's earlier steps": alike.others_earlier,
        "repetition: the agent says it again later": alike.own_later,
        "repetition: the same again": (alike.earlier > SAME).astype(float),
        "repetition: first of a loop": first_of((alike.own_later > SAME) & (alike.own_earlier < _NEAR)),
        "repetition: log near copies in the run": np.log1p(alike.copies),
    }


def agreement(view: View) -> dict[str, Column]:
    """Stated answers against those of the others, and steps against the common ground of the run."""
    answers = [text.answer for text in view.texts]
    stated = Counter(answer for answer in answers if answer is not None)
    final = next((answer for answer in reversed(answers) if answer is not None), None)
    commonest = stated.most_common(1)[0] if stated else (None, 0)
    own_last: dict[str, str] = {}
    changed, odd, lone, against_final = view.column(), view.column(), view.column(), view.column()
    introduces = view.column()
    seen: set[str] = set()
    for index, answer in enumerate(answers):
        if answer is None:
            continue
        agent = view.agents[index]
        changed[index] = float(own_last.get(agent, answer) != answer)
        own_last[agent] = answer
        odd[index] = float(commonest[1] > 1 and answer != commonest[0])
        lone[index] = float(stated[answer] == 1 and len(stated) > 1)
        against_final[index] = float(answer != final)
        introduces[index] = float(answer == final and answer not in seen)
        seen.add(answer)
    return {
        "agreement: changes its own answer": changed,
        "agreement: answer that the majority does not share": odd,
        "agreement: answer that nobody shares": lone,
        "agreement: answer other than the last one": against_final,
        "agreement: first to state the last answer": introduces,
        **_common_ground(view),
    }


def _common_ground(view: View) -> dict[str, Column]:
    """How far a step is from the centre of the run, of its neighbours in time, and of others in the same place."""
    overall, peers, lengths = view.likeness.overall, view.column(), view.column()
    said = [float(np.log1p(len(text.said))) for text in view.texts]
    for index, agent in enumerate(view.agents):
        first = max(0, index - BESIDE)
        near = [j for j in range(first, min(view.count, index + BESIDE + 1)) if view.agents[j] != agent]
        if near:
            peers[index] = sum(view.likeness.beside[index, j - index + BESIDE] for j in near) / len(near)
            lengths[index] = said[index] - sum(said[j] for j in near) / len(near)
    return {
        "agreement: like the rest of the run": overall,
        "agreement: like its neighbours": peers,
        "agreement: longer than its neighbours": lengths,
        "agreement: least like the rest": lowest(overall),
    }
