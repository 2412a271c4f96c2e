import json
import math
import resource
import sys
from collections import Counter
from pathlib import Path

import pytest

from tracer_hooks.datasets._labeled import LabeledSet, read_parquet, write_parquet
from tracer_hooks.errors import DatasetError, MissingExtraError
from tracer_hooks.journal import write_atomically
from tracer_hooks.schema import LabeledTrajectory, save_jsonl, to_json

from ._labelled_sets import labelled_set


def test_a_saved_set_loads_as_it_was(tmp_path: Path) -> None:
    dataset = labelled_set(6)
    dataset.save(tmp_path / "set")
    loaded = LabeledSet.load(tmp_path / "set")
    assert (loaded.labeled, loaded.clean, loaded.discarded) == (dataset.labeled, dataset.clean, dataset.discarded)
    assert loaded.path == tmp_path / "set"
    names = sorted(path.name for path in (tmp_path / "set").iterdir())
    assert names == ["clean.jsonl", "discarded.jsonl", "labeled.jsonl"]
    save_jsonl(tmp_path / "all.jsonl", [*dataset.clean, *dataset.labeled])
    mixed = LabeledSet.load(tmp_path / "all.jsonl")
    assert (mixed.labeled, mixed.clean) == (dataset.labeled, dataset.clean), "one file gives its clean runs apart"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("labeled.jsonl", "line 2: not valid JSON"),
        ("clean.jsonl", "line 2: run 'run-0000b' must have no decisive step"),
        ("discarded.jsonl", "line 2: expected a JSON object, got int"),
    ],
)
def test_a_line_that_is_damaged_or_of_the_wrong_file_is_named(tmp_path: Path, file: str, message: str) -> None:
    dataset = labelled_set(2)
    dataset.save(tmp_path)
    faulty, clean = to_json(dataset.labeled[0]), to_json(dataset.clean[0])
    second = {"labeled.jsonl": faulty[:200], "clean.jsonl": faulty, "discarded.jsonl": "7"}[file]
    first = {"labeled.jsonl": faulty, "clean.jsonl": clean, "discarded.jsonl": '{"unit": "a"}'}[file]
    (tmp_path / file).write_text(f"{first}\n{second}\n")
    with pytest.raises(DatasetError, match=f"{file}', {message}"):
        LabeledSet.load(tmp_path)


def test_a_place_without_a_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is no labelled set"):
        LabeledSet.load(tmp_path)
    with pytest.raises(DatasetError, match="cannot read"):
        LabeledSet.load(tmp_path / "absent.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_leaves_the_old_files(tmp_path: Path) -> None:
    old = labelled_set(2)
    old.save(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # a file that grows beyond it fails, as on a full disk
    try:
        with pytest.raises(DatasetError, match="The old files are as they were"):
            labelled_set(40).save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert LabeledSet.load(tmp_path).labeled == old.labeled
    assert len(list(tmp_path.iterdir())) == 3
    place = tmp_path / "labeled.jsonl"
    place.chmod(0o640)
    write_atomically({place: b"new"})
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("new", 0o640), "the mode of a file is kept"


def test_pairs_join_a_faulty_run_and_its_passing_one() -> None:
    dataset = labelled_set(3)
    lonely = LabeledSet(labeled=dataset.labeled, clean=dataset.clean[1:])
    assert [(p.faulty.trajectory.run_id, p.clean.trajectory.run_id) for p in lonely.pairs()] == [
        (f"run-00{q}{a}b", f"run-00{q}{a}a") for q in range(3) for a in range(2) if (q, a) != (0, 0)
    ]


def test_a_split_keeps_questions_and_equal_tasks_whole() -> None:
    dataset = labelled_set(40)
    first, second = dataset.labeled[0], dataset.labeled[2]  # of questions q0 and q1
    same_task = second.trajectory.model_copy(update={"task": f"  {first.trajectory.task.upper()} "})
    copied = second.model_copy(update={"trajectory": same_task})
    dataset = LabeledSet(
        labeled=(first, dataset.labeled[1], copied, *dataset.labeled[3:]),
        clean=dataset.clean,
        discarded=dataset.discarded,
    )
    parts = dataset.split({"train": 0.75, "test": 0.25}, seed=3)
    where = {item.trajectory.run_id: name for name, part in parts.items() for item in (*part.labeled, *part.clean)}
    assert len(where) == 160
    assert len({where[run] for run in ("run-0000b", "run-0001b", "run-0010b", "run-0011b", "run-0010a")}) == 1
    questions = {name: {item.question_id for item in part.labeled} for name, part in parts.items()}
    assert not questions["train"] & questions["test"]
    assert len(parts["train"].labeled) == 60
    assert all(len(part.pairs()) == len(part.labeled) for part in parts.values())
    for name, part in parts.items():
        assert all(one["question_id"] in questions[name] for one in part.discarded)
    assert sum(len(part.discarded) for part in parts.values()) == 4


def test_a_split_depends_on_the_seed_alone() -> None:
    dataset, shares = labelled_set(20), {"train": 0.5, "dev": 0.25, "test": 0.25}
    shuffled = LabeledSet(labeled=dataset.labeled[::-1], clean=dataset.clean[::-1])

    def test_runs(one: LabeledSet, seed: int) -> set[str]:
        return {item.trajectory.run_id for item in one.split(shares, seed=seed)["test"].labeled}

    assert test_runs(dataset, 0) == test_runs(shuffled, 0)
    assert test_runs(dataset, 0) != test_runs(dataset, 1)
    few = labelled_set(3).split({"train": 0.9, "dev": 0.05, "test": 0.05})
    assert Counter(len(part.labeled) for part in few.values()) == {2: 3}, "no part is empty"


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": 1.2, "b": -0.2}, {"a": math.nan, "b": 0.5}])
def test_shares_that_are_none_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(DatasetError, match="expected positive shares that sum to 1"):
        labelled_set(4).split(shares)
    with pytest.raises(DatasetError, match="cannot split 1 questions into 2 parts"):
        labelled_set(1).split({"a": 0.5, "b": 0.5})


def test_parquet_round_trip_is_exact(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    dataset = labelled_set(4)
    odd = dataset.labeled[0].model_copy(update={"seed": 2**70, "decisive": None, "verification": {"x": [1.5, None]}})
    items: list[LabeledTrajectory] = [odd, *dataset.labeled[1:], *dataset.clean]
    write_parquet(tmp_path / "set.parquet", items)
    assert read_parquet(tmp_path / "set.parquet") == items
    rows = pq.read_table(tmp_path / "set.parquet").to_pylist()
    second, item = rows[1], items[1]
    assert second["run_id"] == "run-0001b"
    assert (second["agent"], second["step"], second["n_steps"]) == (
        item.decisive.agent,
        item.decisive.step,
        len(item.trajectory.steps),
    )
    assert (second["error_mode"], second["label_source"], second["strategy"]) == ("FM-1.1", "injected", "corruption")
    assert json.loads(second["record"])["trajectory"]["run_id"] == "run-0001b"
    loaded = LabeledSet.load(tmp_path / "set.parquet")
    assert loaded.labeled == tuple(items[1 : len(dataset.labeled)])


def test_parquet_that_is_none_or_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "set.parquet"
    for content, message in (
        (None, "as Parquet"),
        ({"a": [1]}, "has no column 'record'"),
        ({"record": ["{}"]}, "row 1: not a valid LabeledTrajectory"),
    ):
        path.write_text("hello") if content is None else pq.write_table(pa.table(content), path)
        with pytest.raises(DatasetError, match=message):
            read_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*\[parquet\]'"):
        write_parquet(path, [])
