"""Repetition, agreement and disagreement between steps and agents."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracer_hooks.attribution._features._marks import first_of, lowest
from tracer_hooks.attribution._features._view import Column, View

_SAME = 0.9
_NEAR = 0.6


def repetition(view: View) -> dict[str, Column]:
    """How much a step says again what was said."""
    count, alike = view.count, view.similarity
    earlier = np.array([alike[i, :i].max(initial=0.0) for i in range(count)])
    own = np.array(
        [_largest(alike, i, [j for j in range(i) if view.agents[j] == view.agents[i]]) for i in range(count)]
    )
    others = np.array(
        [_largest(alike, i, [j for j in range(i) if view.agents[j] != view.agents[i]]) for i in range(count)]
    )
    own_later = np.array(
        [_largest(alike, i, [j for j in range(i + 1, count) if view.agents[j] == view.agents[i]]) for i in range(count)]
    )
    return {
        "repetition: like an earlier step": earlier,
        "repetition: like the agent's own earlier steps": own,
        "repetition: like another agent's earlier steps": others,
        "repetition: the agent says it again later": own_later,
        "repetition: the same again": (earlier > _SAME).astype(float),
        "repetition: first of a loop": first_of((own_later > _SAME) & (own < _NEAR)),
        "repetition: log near copies in the run": np.log1p(((alike > _SAME).sum(axis=1) - 1).clip(0)),
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
    count, alike = view.count, view.similarity
    off_diagonal = (alike.sum(axis=1) - np.diag(alike)) / max(1, count - 1)
    peers = view.column()
    peer_length = view.column()
    for index in range(count):
        near = [j for j in range(max(0, index - 3), min(count, index + 4)) if view.agents[j] != view.agents[index]]
        peers[index] = float(np.mean(alike[index, near])) if near else 0.0
        lengths = [np.log1p(len(view.texts[j].said)) for j in near]
        peer_length[index] = np.log1p(len(view.texts[index].said)) - float(np.mean(lengths)) if lengths else 0.0
    return {
        "agreement: like the rest of the run": off_diagonal,
        "agreement: like its neighbours": peers,
        "agreement: longer than its neighbours": peer_length,
        "agreement: least like the rest": lowest(off_diagonal),
    }


def _largest(alike: np.ndarray, row: int, columns: list[int]) -> float:
    return float(alike[row, columns].max()) if columns else 0.0
