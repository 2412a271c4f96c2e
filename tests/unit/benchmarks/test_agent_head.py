"""The agent head: which agents are at fault, with which modes; and how the benchmark fits it."""

import importlib
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from tracer_hooks.diagnosis.ranking._table import features_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import AgentFault, ErrorMode, LabeledTrajectory, LabelSource, Step, Trajectory
from tracer_hooks_models.agent_head import AgentScores, FaultModel, LinearAgentHead, LinearScores, rows_of

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
FITTING = importlib.import_module("_agent_head_fit")
sys.path.remove(str(BENCHMARKS))
example_of, fit_head = FITTING.example_of, FITTING.fit_head

GOOD = "The sum of 12 and 30 is 42, as the table shows. I checked it with the formula."
BAD = "I assume that the value is probably 77. Let us pretend the data says so, no need to look."
TEAMS = {
    "duo": ("planner", "solver"),
    "trio": ("writer", "editor", "checker"),
    "crew": ("Alpha", "Beta", "Gamma", "Delta"),
}
OPTIONS = FITTING.AgentFitOptions(words=20)


def run(*turns: tuple[str, str]) -> Trajectory:
    steps = tuple(Step(index=index, agent=agent, content=content) for index, (agent, content) in enumerate(turns))
    return Trajectory(run_id="r", task="Add 12 and 30.", steps=steps)


def told(names: tuple[str, ...], faulty: str, number: int = 0) -> Trajectory:
    turns = [("user", "Add 12 and 30.")]
    turns += [(name, f"{BAD if name == faulty else GOOD} Note {number + place}.") for place, name in enumerate(names)]
    return run(*turns, (names[0], f"Round {number} is over."))


def labeled(trajectory: Trajectory, *faults: tuple[str, ErrorMode | None], question: str = "q") -> LabeledTrajectory:
    return LabeledTrajectory(
        trajectory=trajectory,
        faults=tuple(AgentFault(agent=agent, error_mode=mode) for agent, mode in faults),
        label_source=LabelSource.INJECTED,
        question_id=question,
    )


def examples(*kinds: str) -> list:
    found = []
    for kind in kinds or TEAMS:
        names = TEAMS[kind]
        for number in range(4 * len(names)):
            faulty = names[number % len(names)]
            mode = ErrorMode.FM_1_1 if number % 2 else ErrorMode.FM_3_2
            one = labeled(told(names, faulty, number), (faulty, mode), question=f"{kind} {number}")
            found.append(example_of(one, kind=kind))
    return found


@pytest.fixture(scope="module")
def head() -> LinearAgentHead:
    return fit_head(examples(), OPTIONS)


class TestRows:
    def test_people_terminals_and_the_frame_are_no_agents(self) -> None:
        trajectory = run(
            ("user", "Do it."),
            ("System", "You are a team."),
            ("coder", "```python\nprint(1)\n```"),
            ("Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 1"),
            ("critic", "Fine."),
        )
        assert rows_of(features_of(trajectory), trajectory).names == ("coder", "critic")

    def test_names_that_differ_in_a_sign_are_two_agents(self) -> None:
        trajectory = run(("Node-1", GOOD), ("Node1", BAD), ("Node1", "Done."))
        rows = rows_of(features_of(trajectory), trajectory)
        assert rows.names == ("Node-1", "Node1")
        assert rows.words[1]["assume"] == 1
        assert rows.words[0]["assume"] == 0

    def test_summaries_are_of_the_agents_own_steps(self) -> None:
        trajectory = run(("a", "x" * 10), ("b", "x" * 200), ("a", "x" * 400))
        table = features_of(trajectory)
        rows = rows_of(table, trajectory)
        name = "shape: log length"
        column = table.names.index(name)
        own = table.standardised()[[0, 2], column]
        found = rows.matrix(tuple(f"{kind}: {name}" for kind in ("mean", "highest", "lowest", "level")))
        assert found[0] == pytest.approx([own.mean(), own.max(), own.min(), table.values[[0, 2], column].mean()])

    def test_a_word_is_counted_by_the_log_of_one_more_than_its_occurrences(self) -> None:
        trajectory = run(("a", "guess guess guess"), ("b", "nothing"))
        found = rows_of(features_of(trajectory), trajectory).matrix(("word: guess", "word: never"))
        assert found == pytest.approx(np.array([[np.log(4), 0], [0, 0]]))
        with pytest.raises(AttributionError, match="no such: feature"):
            rows_of(features_of(trajectory), trajectory).matrix(("mean: no such: feature",))

    def test_columns_against_the_run_sum_to_nothing_over_its_agents(self) -> None:
        trajectory = run(("a", "x"), ("b", "y z w v" * 90))
        model = LinearScores(("level: shape: log length",), np.ones((1, 1)), np.zeros(1), against_run=True)
        found = model.matrix(rows_of(features_of(trajectory), trajectory))
        assert found.sum() == pytest.approx(0, abs=1e-9)
        assert found[1, 0] > 0.5


class TestLabels:
    @pytest.mark.parametrize("label", ["Psychologist", "psychologist", "psychologist4", "PSYCHO LOGIST"])
    def test_a_label_in_another_spelling_means_the_agent_that_acts(self, label: str) -> None:
        one = labeled(run(("Psychologist", BAD), ("Economist", GOOD)), (label, ErrorMode.FM_2_1))
        example = example_of(one, kind="k")
        assert example.at_fault.tolist() == [True, False]
        assert example.pairs.sum() == 1

    def test_a_silent_agents_label_is_counted_though_it_cannot_be_found(self) -> None:
        one = labeled(run(("a", BAD), ("b", GOOD)), ("a", ErrorMode.FM_2_1), ("critic", ErrorMode.FM_1_1))
        example = example_of(one, kind="k")
        assert example.labelled == 2
        assert example.pairs.sum() == 1
        example = example_of(labeled(run(("a", BAD), ("b", GOOD)), ("a", None)), kind="k")
        assert example.at_fault.tolist() == [True, False], "a fault without a mode is a fault"
        assert not example.pairs.any()


class TestFit:
    @pytest.mark.parametrize("unseen", TEAMS)
    def test_it_finds_the_faulty_agent_of_a_team_it_has_not_seen(self, unseen) -> None:
        model = FITTING.fit_any_team(examples(*(kind for kind in TEAMS if kind != unseen)), OPTIONS)
        head = LinearAgentHead(model)
        for faulty in TEAMS[unseen]:
            trajectory = told(TEAMS[unseen], faulty, 50)
            scores = head.score(features_of(trajectory), trajectory)
            assert max(scores.agents, key=scores.agents.__getitem__) == faulty

    def test_a_seat_that_is_never_to_blame_is_suspected_less_in_the_team_that_was_learnt_from(self) -> None:
        names = TEAMS["trio"]
        taught = [
            example_of(labeled(told(names, "writer", n), ("writer", ErrorMode.FM_1_1), question=str(n)), kind="trio")
            for n in range(12)
        ]
        head = fit_head([*taught, *examples("duo")], OPTIONS)
        trajectory = told(names, "nobody")
        scores = head.score(features_of(trajectory), trajectory)
        assert scores.team == "trio"
        assert scores.agents["writer"] > scores.agents["editor"] + 1

    def test_few_examples_or_one_kind_of_team_are_too_few(self) -> None:
        with pytest.raises(AttributionError, match="two kinds"):
            fit_head(examples("duo"), OPTIONS)
        with pytest.raises(AttributionError, match="got 4"):
            fit_head([*examples("duo")[:2], *examples("trio")[:2]], OPTIONS)

    def test_the_threshold_is_the_best_one(self) -> None:
        odds = np.array([[3.0, 1.0], [2.0, 0.0]])
        gold = np.array([[True, False], [True, False]])
        assert FITTING.best_threshold(odds, gold, 2) == 2.0
        assert FITTING.best_threshold(odds, np.array([[True, True], [False, False]]), 2) == 1.0
        # three labels of silent agents make it worth naming no more than before: 2·1/(1+4) beats 2·1/(2+4)
        assert FITTING.best_threshold(odds, np.array([[True, False], [False, False]]), 4) == 3.0


class TestSums:
    def test_ridge_without_strength_is_least_squares(self) -> None:
        chance = np.random.default_rng(0)
        x = chance.normal(size=(60, 3)).astype(np.float32)
        y = (x @ np.array([[1.0], [-2.0], [0.0]]) + 0.5).astype(float)
        parts = [FITTING.Sums.of(x[:20], y[:20]), FITTING.Sums.of(x[20:], y[20:])]
        assert FITTING.ridge(FITTING.pooled(parts), 1e-9).ravel() == pytest.approx([1, -2, 0, 0.5], abs=1e-3)
        big, small = np.ones((90, 1), dtype=np.float32), np.zeros((10, 1), dtype=np.float32)
        parts = [FITTING.Sums.of(big, np.ones((90, 1))), FITTING.Sums.of(small, np.zeros((10, 1)))]
        assert FITTING.pooled(parts).y[0] == pytest.approx(0.9)
        assert FITTING.pooled(parts, equal=True).y[0] == pytest.approx(0.5), "groups count the same whatever their size"


class TestHead:
    def test_names_are_those_of_the_trajectory(self, head: LinearAgentHead) -> None:
        trajectory = told(TEAMS["crew"], "Beta")
        scores = head.score(features_of(trajectory), trajectory)
        assert set(scores.agents) == set(TEAMS["crew"])
        assert set(scores.modes) == {(name, mode) for name in TEAMS["crew"] for mode in ErrorMode}
        assert {fault.agent for fault in head.faults(scores)} <= set(TEAMS["crew"])
        nobody = run(("user", "Hello?"))
        scores = head.score(features_of(nobody), nobody)
        assert (scores.agents, scores.modes, head.faults(scores)) == ({}, {}, ())

    def test_a_roster_in_another_case_is_known_and_another_roster_is_not(self, head: LinearAgentHead) -> None:
        known, other = told(("PLANNER", "Solver"), "Solver"), told(("planner", "solver", "helper"), "solver")
        assert head.score(features_of(known), known).team == "duo"
        assert head.score(features_of(other), other).team is None

    def test_pairs_and_agents_are_named_from_their_own_thresholds(self) -> None:
        head = LinearAgentHead(FaultModel(LinearScores((), np.zeros((0, 15)), np.zeros(15)), 0.5, agent_threshold=1.0))
        modes = {("a", ErrorMode.FM_1_1): 0.6, ("a", ErrorMode.FM_1_2): 0.9, ("b", ErrorMode.FM_1_1): 0.4}
        scores = AgentScores(agents={"a": 0.0, "b": 1.0, "c": 0.9}, modes=modes)
        named = [(fault.agent, fault.error_mode) for fault in head.faults(scores)]
        assert named == [("a", ErrorMode.FM_1_2), ("a", ErrorMode.FM_1_1), ("b", None)]
        assert head.faults(scores)[0].score == pytest.approx(0.7109, abs=1e-4)
        head = LinearAgentHead(FaultModel(LinearScores((), np.zeros((0, 15)), np.zeros(15)), 9.0, agent_threshold=9.0))
        named = [(fault.agent, fault.error_mode) for fault in head.faults(scores)]
        assert named == [("a", ErrorMode.FM_1_2)], "somebody is named when nothing passes a threshold"

    def test_json_keeps_the_scores(self, head: LinearAgentHead) -> None:
        again = LinearAgentHead.from_json(json.loads(json.dumps(head.to_json())))
        for trajectory in (told(TEAMS["trio"], "editor"), told(("x", "y", "z"), "y")):
            table = features_of(trajectory)
            before, after = head.score(table, trajectory), again.score(table, trajectory)
            assert after.team == before.team
            assert after.agents == pytest.approx(before.agents, abs=0.05)
            assert after.modes == pytest.approx(before.modes, abs=0.05)

    @pytest.mark.parametrize("broken", [{}, {"any_team": {}}, {"known_teams": None, "any_team": 3}])
    def test_other_json_is_an_error_that_says_what_to_do(self, broken) -> None:
        with pytest.raises(AttributionError, match="--write-weights"):
            LinearAgentHead.from_json(broken)


class TestShipped:
    @pytest.fixture(scope="class")
    def text(self) -> str:
        package = resources.files("tracer_hooks_models")
        return (package / "weights" / "agents.json").read_text(encoding="utf-8")

    def test_the_weights_are_small_and_say_where_they_come_from(self, text: str) -> None:
        assert len(text.encode()) < 400_000
        provenance = LinearAgentHead.from_json(json.loads(text)).provenance
        assert provenance["auc of an architecture left out"]["mean"] >= 0.7
        assert provenance["pair micro-F1 on questions left out"]["normalised"] >= 20
        assert sum(provenance["trajectories"].values()) > 2000

    @pytest.mark.parametrize(
        ("names", "team"), [(("Assistant1", "Assistant2", "Assistant3"), "debate"), (("Ada", "Grace", "Alan"), None)]
    )
    def test_the_one_who_disagrees_with_all_others_is_suspected_most(self, text: str, names, team) -> None:
        head = LinearAgentHead.from_json(json.loads(text))
        right, wrong = "6 * 7 = 42. The answer is 42.", "I think that 6 * 7 = 48. The answer is 48."
        turns = [("User", "What is 6 times 7?")]
        turns += [(name, wrong if name == names[1] else right) for _ in range(2) for name in names]
        trajectory = run(*turns)
        scores = head.score(features_of(trajectory), trajectory)
        assert scores.team == team
        assert max(scores.agents, key=scores.agents.__getitem__) == names[1]

    def test_reading_the_head_loads_neither_scikit_learn_nor_scipy(self) -> None:
        code = (
            "import sys; import tracer_hooks_models.agent_head; "
            "print([name for name in ('sklearn', 'scipy', 'torch') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
