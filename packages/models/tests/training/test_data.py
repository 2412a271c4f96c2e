import json

import pytest

from tracer_hooks.errors import TrainingError
from tracer_hooks.schema import (
    AgentFault,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
    save_jsonl,
)
from tracer_hooks_models.teaching import read_choice, read_verdict
from tracer_hooks_models.training.data import (
    Candidates,
    JudgeTaskOptions,
    SFTRow,
    SplitOptions,
    bags_of,
    pairs_of,
    prompt_rows,
    read_labeled,
    sft_rows,
    split_rows,
)

MODE = ErrorMode.FM_2_3


def run(number=0, *, steps=4, text="looks for figure", team="shop", task=None, outcome=RunOutcome.FAILED, run_id=None):
    agents = ["Planner", "Coder"]
    said = tuple(
        Step(index=k, agent=agents[k % 2], content=f"{agents[k % 2]} {text} {number} {k} {number * k}")
        for k in range(steps)
    )
    return Trajectory(
        run_id=run_id or f"run-{number}", team=team, task=task or f"add up column {number}", steps=said, outcome=outcome
    )


def labeled(number=0, *, agent="Coder", step=1, faults=(), question=None, verification=None, **more):
    return LabeledTrajectory(
        trajectory=run(number, **more),
        decisive=None if step is None else DecisiveStep(agent=agent, step=step, error_mode=MODE),
        faults=faults,
        label_source=LabelSource.HUMAN,
        question_id=question or f"q{number}",
        verification=verification or {},
    )


@pytest.fixture
def file_of(tmp_path):
    def made(*items):
        path = tmp_path / "labels.jsonl"
        save_jsonl(path, items)
        return path

    return made


def words(text):
    return len(text.split())


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (labeled(step=4), r"labels.jsonl:2: the label's step 4 is out of range: the run has the steps 0 to 3"),
        (labeled(agent="Tester"), r"labels.jsonl:2: the labelled agent 'Tester' is not in the log"),
        (labeled(step=None, faults=(AgentFault(agent="Tester"),)), r"labels.jsonl:2: the labelled agent 'Tester'"),
        (labeled(step=None), r"labels.jsonl:2: the trajectory has no label"),
        (labeled(steps=0), r"labels.jsonl:2: the trajectory has no step"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_or_counted(file_of, item, message):
    path = file_of(labeled(1), item)
    with pytest.raises(TrainingError, match=message):
        read_labeled([path])
    found = read_labeled([path], bad_rows="skip")
    assert len(found.rows) == 1
    assert found.left_out.total() == 1


def test_files_without_any_label_are_refused(file_of, tmp_path):
    with pytest.raises(TrainingError, match="nowhere"):
        read_labeled([tmp_path / "nowhere"])
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(TrainingError, match="the file is empty"):
        read_labeled([tmp_path / "empty.jsonl"])
    path = file_of(labeled(1))
    path.write_text(path.read_text() + "{broken\n")
    with pytest.raises(TrainingError, match=r"labels.jsonl:2: "):
        read_labeled([path])
    assert read_labeled([path], bad_rows="skip").left_out == {"cannot be read": 1}
    with pytest.raises(TrainingError, match=r"no labelled trajectory with a fault.*1 x no label"):
        read_labeled([file_of(labeled(step=None))], bad_rows="skip")


def test_no_question_stands_on_two_sides(file_of):
    items = [labeled(k, question=f"q{k % 5}") for k in range(20)]
    splits = split_rows(read_labeled([file_of(*items)]), SplitOptions(valid_share=0.4, similarity=1.0))
    train = {row.labeled.question_id for row in splits.train}
    valid = {row.labeled.question_id for row in splits.valid}
    assert train
    assert valid
    assert not train & valid
    assert len(splits.train) + len(splits.valid) == 20


def test_teams_that_are_left_out_are_not_trained_on(file_of):
    items = [labeled(k, team="shop" if k % 2 else "bank") for k in range(8)]
    found = read_labeled([file_of(*items)])
    splits = split_rows(found, SplitOptions(valid_share=0, leave_out_teams=("bank",), similarity=1.0))
    assert {row.team for row in splits.train} == {"shop"}
    assert {row.team for row in splits.left_out} == {"bank"}
    with pytest.raises(TrainingError, match="'swarm', expected one of 'bank', 'shop'"):
        split_rows(found, SplitOptions(leave_out_teams=("swarm",)))
    with pytest.raises(TrainingError, match="left to train on"):
        split_rows(found, SplitOptions(leave_out_teams=("bank", "shop")))
    one = read_labeled([file_of(labeled(0), labeled(1, question="q0", task="add up column 0"))])
    with pytest.raises(TrainingError, match="valid_share = 0"):
        split_rows(one, SplitOptions())


def test_runs_that_another_side_nearly_has_are_taken_out_of_training_and_counted(file_of):
    """Two runs of different questions whose words are all but the same."""
    alike = " ".join(f"word{k} of{k % 7} story{k}" for k in range(60))
    items = [labeled(k, text=f"has {k} {k} {k} things of kind {k}", team="a", task=f"task {k} {k}") for k in range(4)]
    twins = [labeled(k, text=alike, team=team, task=f"job {k}") for k, team in ((8, "a"), (9, "b"))]
    splits = split_rows(
        read_labeled([file_of(*items, *twins)]), SplitOptions(valid_share=0, leave_out_teams=("b",), similarity=0.5)
    )
    assert splits.near_duplicates == 1
    assert [row.trajectory.run_id for row in splits.train] == [f"run-{k}" for k in range(4)]


def test_the_reply_that_is_taught_is_one_that_the_judge_accepts(file_of):
    other = AgentFault(agent="Planner", error_mode=ErrorMode.FM_1_1)
    rows = read_labeled([file_of(labeled(faults=(other,)))]).rows
    made = sft_rows(rows, JudgeTaskOptions(), words).rows
    assert len(made) == 1
    answer = read_verdict(made[0].completion, rows[0].trajectory)
    assert (answer.agent, answer.step) == ("Coder", 1)
    assert set(answer.pairs) == set(rows[0].gold.pairs)
    reply = json.loads(made[0].completion)
    assert list(reply)[:5] == ["reason", "verdict", "agent", "step", "error_mode"]
    for quoted in reply["evidence"]:
        assert quoted["quote"] in rows[0].trajectory.steps[quoted["step"]].content
    assert "add up column 0" in made[0].messages[-1].content
    assert MODE.definition in made[0].messages[0].content


def test_a_label_without_a_step_gets_one_and_that_is_counted(file_of):
    rows = read_labeled([file_of(labeled(step=None, faults=(AgentFault(agent="Coder", error_mode=MODE),)))]).rows
    made = sft_rows(rows, JudgeTaskOptions(), words)
    assert made.left_out == {"step of the label guessed": 1}
    reply = json.loads(made.rows[0].completion)
    assert reply["agent"] == "Coder"
    assert rows[0].trajectory.steps[reply["step"]].agent == "Coder"


def test_of_three_candidates_each_order_gives_a_row_whose_label_means_the_gold_step(file_of):
    rows = read_labeled([file_of(*(labeled(k, step=1 + 2 * (k % 2)) for k in range(6)))]).rows
    made = sft_rows(rows, JudgeTaskOptions(task="shortlist"), words)
    by_run: dict[str, list[SFTRow]] = {}
    for row in made.rows:
        by_run.setdefault(row.source, []).append(row)
    assert made.left_out.total() + len(by_run) == 6
    for group in by_run.values():
        assert len(group) == 3
        assert len({row.options for row in group}) == 3
        assert len({row.completion for row in group}) == 3  # the right one has every label once
    for asked in prompt_rows(rows, JudgeTaskOptions(task="shortlist"), words).rows:
        label = "ABC"[asked.options.index(asked.gold.step)]
        assert read_choice(json.dumps({"choice": label}), asked.options, asked.trajectory).step == asked.gold.step


def test_a_long_run_is_cut_around_the_candidates_of_structural(file_of):
    """Neither the label nor luck decides what is shown: a labelled step that is left out gives no row."""
    options = JudgeTaskOptions(context_tokens=3072)
    long = {"steps": 120, "text": "says a lot of words that take room in a prompt " * 6}
    first = Candidates(run(**long)).first(options.top_k)
    inside = labeled(step=max(first, key=lambda step: first[step]), **long)
    rows = read_labeled([file_of(inside)]).rows
    found = prompt_rows(rows, options, words).rows
    text = found[0].messages[-1].content
    assert all(f"=== step {step} |" in text for step in first)
    assert "left out]" in text
    assert sum(words(message.content) for message in found[0].messages) <= options.context_tokens
    shown = {int(line.split()[2]) for line in text.splitlines() if line.startswith("=== step ")}
    outside = next(step for step in range(120) if step not in shown)
    rows = read_labeled([file_of(labeled(step=outside, **long))]).rows
    assert prompt_rows(rows, options, words).left_out == {"the labelled step is not in the window": 1}
    assert sft_rows(rows, options, words).left_out == {"the labelled step is not in the window": 1}


@pytest.mark.parametrize("build", [sft_rows, prompt_rows])
def test_a_row_whose_question_is_too_long_is_named_or_left_out_and_counted(file_of, build):
    rows = read_labeled([file_of(labeled(), labeled(run_id="long", task="words " * 9000))]).rows
    options = JudgeTaskOptions(context_tokens=6500, reply_tokens=500)
    with pytest.raises(TrainingError, match=r"labels.jsonl:2: .*bad_rows = 'skip'"):
        build(rows, options, len)
    with pytest.raises(TrainingError, match=r"labels.jsonl.*1024 tokens is too small.*Set context_tokens higher"):
        build(rows, JudgeTaskOptions(context_tokens=1024, reply_tokens=500), len)
    found = build(rows, options, len, bad_rows="skip")
    assert {row.source for row in found.rows} == {rows[0].source}
    assert found.left_out == {"the question alone is too long": 1}


def test_pairs_name_the_passing_run_of_a_bag(file_of):
    clean = LabeledTrajectory(
        trajectory=run(0, outcome=RunOutcome.SUCCEEDED, run_id="passed"), label_source=LabelSource.INJECTED
    )
    found = read_labeled([file_of(labeled(0, verification={"clean_run_id": "passed"}), labeled(1), clean)])
    bags = bags_of(found.rows)
    pairs = pairs_of(bags, found.clean)
    assert len(bags) == 2
    assert [(pair.bag.source, pair.clean.run_id) for pair in pairs] == [(bags[0].source, "passed")]


def test_a_label_is_given_in_the_spelling_of_the_log_and_the_fuller_of_two_counts(file_of) -> None:
    faults = (AgentFault(agent="coder", error_mode=None), AgentFault(agent="CODER", error_mode=MODE))
    twice = labeled(step=None, faults=faults)
    both = labeled(agent="CODER", faults=(AgentFault(agent="planner", error_mode=MODE),))
    first, second = (read_labeled([file_of(one)]).rows[0].gold for one in (twice, both))
    assert first.pairs == (("Coder", MODE),)
    assert (second.agent, second.step) == ("Coder", 1)
    assert second.pairs == (("Coder", MODE), ("Planner", MODE))


def test_a_label_that_does_not_fit_its_run_is_refused_or_left_out(file_of) -> None:
    silent = labeled(step=None, faults=(AgentFault(agent="Ghost", error_mode=MODE),))
    for one, said in ((labeled(step=9), "step 9"), (silent, "'Ghost'")):
        with pytest.raises(TrainingError, match=said):
            read_labeled([file_of(one)])
    faults = (AgentFault(agent="Tester"), AgentFault(agent="Coder", error_mode=MODE))
    found = read_labeled([file_of(labeled(step=None, faults=faults))], bad_rows="skip")
    assert found.rows[0].gold.pairs == (("Coder", MODE),)
    assert found.left_out == {"label of an agent that never acts": 1}
