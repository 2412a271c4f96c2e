"""How often each agent and mode is to blame in teams with the same members: the best predictor that reads no text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracer_hooks.evaluation._architecture import architecture_of
from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._fault_scores import FaultGuess
from tracer_hooks.evaluation._names import resolve, speakers_of
from tracer_hooks.schema import ErrorMode

_ENOUGH = 20
"""Runs of other questions that a roster needs; below that its architecture's runs are counted."""

_Label = tuple[str | None, ErrorMode | None]
"""An agent, a mode, or both as a pair."""


@dataclass(slots=True)
class _Tally:
    runs: int = 0
    labels: Counter[_Label] = field(default_factory=Counter)


@dataclass(slots=True)
class _Kind:
    """The labels of all runs of one kind of team, and of each question's."""

    whole: _Tally = field(default_factory=_Tally)
    by_question: defaultdict[str, _Tally] = field(default_factory=lambda: defaultdict(_Tally))

    def add(self, question: str, labels: frozenset[_Label]) -> None:
        for tally in (self.whole, self.by_question[question]):
            tally.runs += 1
            tally.labels.update(labels)

    def runs_without(self, question: str) -> int:
        return self.whole.runs - self.by_question[question].runs

    def shares_without(self, question: str) -> dict[_Label, float]:
        """How often each label is given in the runs of other questions."""
        own, runs = self.by_question[question].labels, self.runs_without(question)
        return {label: (count - own[label]) / runs for label, count in self.whole.labels.items()} if runs else {}


def roster_prior(cases: Sequence[Case]) -> list[FaultGuess]:
    """Blames every agent, pair and mode that is labelled often enough in runs of other questions with the same roster.

    A roster is the set of those who speak; one with fewer than 20 other runs is replaced by its architecture. What is
    often enough is, for each architecture, one threshold for agents, one for pairs and one for modes, chosen for the
    best micro-F1 *on these very runs*: as generous as it can be. Agents are ranked by how often they are labelled.
    """
    labels, teams = [_labels(case) for case in cases], [architecture_of(case.trajectory) for case in cases]
    shares = _shares(cases, labels, teams)
    least = {team: _thresholds(shares, labels, [one == team for one in teams]) for team in set(teams)}
    return [
        _guess({label: share for label, share in one.items() if share > 0}, least[team], speakers_of(case.trajectory))
        for case, one, team in zip(cases, shares, teams, strict=True)
    ]


def _labels(case: Case) -> frozenset[_Label]:
    faults = case.faults or ()
    modes = [one.error_mode for one in faults if one.error_mode is not None]
    pairs = [(one.agent, one.error_mode) for one in faults if one.error_mode is not None]
    return frozenset([*((one.agent, None) for one in faults), *pairs, *((None, mode) for mode in modes)])


def _shares(
    cases: Sequence[Case], labels: Sequence[frozenset[_Label]], teams: Sequence[str]
) -> list[dict[_Label, float]]:
    by_roster: defaultdict[frozenset[str], _Kind] = defaultdict(_Kind)
    by_team: defaultdict[str, _Kind] = defaultdict(_Kind)
    rosters = [frozenset(speakers_of(case.trajectory)) for case in cases]
    for case, roster, team, found in zip(cases, rosters, teams, labels, strict=True):
        by_roster[roster].add(case.question, found)
        by_team[team].add(case.question, found)
    shares = []
    for case, roster, team in zip(cases, rosters, teams, strict=True):
        same = by_roster[roster]
        kind = same if same.runs_without(case.question) >= _ENOUGH else by_team[team]
        shares.append(kind.shares_without(case.question))
    return shares


def _kind(label: _Label) -> str:
    agent, mode = label
    return "pair" if agent is not None and mode is not None else "agent" if mode is None else "mode"


def _thresholds(
    shares: Sequence[Mapping[_Label, float]], labels: Sequence[frozenset[_Label]], taken: Sequence[bool]
) -> dict[str, float]:
    mine = [place for place, one in enumerate(taken) if one]
    chosen, gold = [shares[place] for place in mine], [labels[place] for place in mine]
    return {kind: _best_threshold(chosen, gold, kind) for kind in ("agent", "pair", "mode")}


def _best_threshold(shares: Sequence[Mapping[_Label, float]], labels: Sequence[frozenset[_Label]], kind: str) -> float:
    """The share from which on to blame, for the best micro-F1 over all runs."""
    found = [
        (share, label in gold)
        for one, gold in zip(shares, labels, strict=True)
        for label, share in one.items()
        if share > 0 and _kind(label) == kind
    ]
    if not found:
        return 1.0
    amounts = np.array([share for share, _ in found])
    order = np.argsort(-amounts, kind="stable")
    right = np.cumsum(np.array([hit for _, hit in found], dtype=np.float64)[order])
    wanted = sum(_kind(label) == kind for gold in labels for label in gold)
    f1 = 2 * right / (np.arange(1, len(found) + 1) + wanted)
    is_last_of_its_share = np.append(np.diff(amounts[order]) != 0, True)
    return float(amounts[order][int(np.argmax(np.where(is_last_of_its_share, f1, -1.0)))])


def _guess(shares: Mapping[_Label, float], least: Mapping[str, float], speakers: Sequence[str]) -> FaultGuess:
    blamed = [label for label, share in shares.items() if share >= least[_kind(label)]]
    ranks: dict[str, tuple[float, ...]] = {}
    for (agent, mode), share in shares.items():
        if agent is not None and mode is None:
            name = resolve(agent, speakers)
            ranks[name] = max(ranks.get(name, (0.0,)), (share,))
    return FaultGuess(
        agents=frozenset(agent for agent, mode in blamed if agent is not None and mode is None),
        pairs=frozenset((agent, mode) for agent, mode in blamed if agent is not None and mode is not None),
        modes=frozenset(mode for agent, mode in blamed if agent is None and mode is not None),
        ranks=ranks,
    )
