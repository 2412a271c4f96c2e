"""Features that compare steps with each other, worked out pair by pair: slow, plain, and what the fast ones must be."""

from __future__ import annotations

import numpy as np

from tracer_hooks.diagnosis.ranking._view import View


def cosines(view: View) -> np.ndarray:
    """Likeness of every two steps."""
    vocabulary: dict[str, int] = {}
    for text in view.texts:
        for word in text.words:
            vocabulary.setdefault(word, len(vocabulary))
    matrix = np.zeros((view.count, max(1, len(vocabulary))), dtype=np.float32)
    for row, text in enumerate(view.texts):
        for word, times in text.words.items():
            matrix[row, vocabulary[word]] = 1.0 + np.log(times)
    rare = np.log((1 + view.count) / (1 + (matrix > 0).sum(axis=0))) + 0.3
    matrix *= rare.astype(np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1.0)
    return np.asarray(matrix @ matrix.T, dtype=np.float64)


def plain_features(view: View) -> dict[str, list[float]]:
    """By name, one number for each step."""
    return {**_likeness(view), **_neighbours(view), **_turns(view), **_later(view)}


def _largest(values: list[float]) -> float:
    return max(values, default=0.0)


def _likeness(view: View) -> dict[str, list[float]]:
    alike, steps, who = cosines(view), range(view.count), view.agents
    return {
        "flow: taken up by a later step": [_largest([alike[i, j] for j in steps if j > i]) for i in steps],
        "flow: taken up by the next step": [alike[i, i + 1] if i + 1 < view.count else 0.0 for i in steps],
        "flow: takes up the step before": [alike[i, i - 1] if i else 0.0 for i in steps],
        "repetition: like an earlier step": [_largest([alike[i, j] for j in steps if j < i]) for i in steps],
        "repetition: like the agent's own earlier steps": [
            _largest([alike[i, j] for j in steps if j < i and who[j] == who[i]]) for i in steps
        ],
        "repetition: like another agent's earlier steps": [
            _largest([alike[i, j] for j in steps if j < i and who[j] != who[i]]) for i in steps
        ],
        "repetition: the agent says it again later": [
            _largest([alike[i, j] for j in steps if j > i and who[j] == who[i]]) for i in steps
        ],
        "repetition: log near copies in the run": [
            float(np.log1p(sum(alike[i, j] > 0.9 for j in steps if j != i))) for i in steps
        ],
        "agreement: like the rest of the run": [
            float(alike[i].sum() - alike[i, i]) / max(1, view.count - 1) for i in steps
        ],
    }


def _neighbours(view: View) -> dict[str, list[float]]:
    alike, peers, longer = cosines(view), [], []
    lengths = [float(np.log1p(len(text.said))) for text in view.texts]
    for i in range(view.count):
        near = [j for j in range(view.count) if 0 < abs(i - j) <= 3 and view.agents[j] != view.agents[i]]
        peers.append(float(np.mean(alike[i, near])) if near else 0.0)
        longer.append(lengths[i] - float(np.mean([lengths[j] for j in near])) if near else 0.0)
    return {"agreement: like its neighbours": peers, "agreement: longer than its neighbours": longer}


def _turns(view: View) -> dict[str, list[float]]:
    who, steps = view.agents, range(view.count)
    logs = np.log1p([float(len(view.steps[i].content)) + len(view.texts[i].shown) for i in steps])
    own = [[j for j in steps if who[j] == who[i]] for i in steps]
    return {
        "turns: agents so far": [len(set(who[: i + 1])) / len(set(who)) for i in steps],
        "shape: length against the agent's own": [float(logs[i] - logs[own[i]].mean()) for i in steps],
        "flow: agents that read it": [
            float(len({later.agent for later in view.steps[i + 1 :] if i in {one.step for one in later.inputs}}))
            for i in steps
        ],
    }


def _later(view: View) -> dict[str, list[float]]:
    known, reused = set(view.run.task_numbers), []
    for i, text in enumerate(view.texts):
        fresh = text.numbers - known
        later = {number for other in view.texts[i + 1 :] for number in other.numbers}
        reused.append(len(fresh & later) / max(1, len(fresh)))
        known |= text.numbers
    alike = cosines(view)
    asked = [i for i in range(view.count) if view.steps[i].recipient is not None and not view.is_routing[i]]
    again = [0.0] * view.count
    for here in asked:
        following = [later for later in asked if later > here]
        if following:
            again[here] = float(alike[here, following[0]])
    return {"survival: share of its new numbers used later": reused, "work: request that is made again": again}
