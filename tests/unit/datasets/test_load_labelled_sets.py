"""Labelled sets that were built here: read like any other data, and balanced."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tracer_hooks.datasets import LabeledSet, load, write_parquet
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "parquet"


def run(number: int, outcome: RunOutcome) -> Trajectory:
    step = Step(index=0, agent="solver", content=f"It makes {number}.")
    return Trajectory(run_id=f"run{number}", team="team", task=f"task {number}", steps=(step,), outcome=outcome)


def built() -> LabeledSet:
    failed = LabeledTrajectory(
        trajectory=run(1, RunOutcome.FAILED),
        decisive=DecisiveStep(agent="solver", step=0),
        label_source=LabelSource.INJECTED,
        verification={"clean_run_id": "run2"},
    )
    clean = LabeledTrajectory(trajectory=run(2, RunOutcome.SUCCEEDED), label_source=LabelSource.COUNTERFACTUAL)
    return LabeledSet(labeled=(failed,), clean=(clean,), discarded=({"unit": "x", "reason": "no"},))


def test_a_folder_gives_its_runs_and_nothing_beside_them(tmp_path: Path) -> None:
    built().save(tmp_path)
    for name in ("journal.jsonl", "build.json", "stats.json", "audit.json", "calibration.json"):
        (tmp_path / name).write_text('{"unit": "run/x"}\n')
    records = list(load(tmp_path))
    assert [record.error for record in records] == [None, None]
    assert {record.trajectory.run_id for record in records if record.trajectory is not None} == {"run1", "run2"}


def test_the_same_names_elsewhere_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "stats.json").write_text('{"unit": "run/x"}\n')
    (record,) = load(tmp_path)
    assert "unknown format" in str(record.error)


def test_parquet_is_read_with_its_labels(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_parquet(tmp_path / "set.parquet", [*built().labeled, *built().clean])
    first, second = load(tmp_path)
    assert first.labeled == built().labeled[0]
    assert second.labeled == built().clean[0]
    assert first.source.endswith("set.parquet:1")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: b"PAR1 but no more", "set.parquet"),
        (lambda: parquet_of([]), "the file is empty"),
        ((CORPUS / "seed-41-4029" / "input.parquet").read_bytes, "0 of its 2 rows can be read"),
    ],
    ids=["broken off", "no rows", "groups of rows that are gone"],
)
def test_a_damaged_parquet_file_is_set_apart(tmp_path: Path, content: Callable[[], bytes], said: str) -> None:
    (tmp_path / "set.parquet").write_bytes(content())
    (record,) = load(tmp_path)
    assert record.trajectory is None
    assert said in str(record.error)
    assert "set.parquet" in str(record.error)


def parquet_of(records: list[str]) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    written = io.BytesIO()
    pq.write_table(pa.table({"record": pa.array(records, pa.string())}), written)
    return written.getvalue()


def failed(
    number: int, step: int, *, team: str = "a", steps: int = 3, source: LabelSource = LabelSource.INJECTED
) -> LabeledTrajectory:
    run = Trajectory(
        run_id=f"{team}{number}",
        team=team,
        task=f"task {number}",
        steps=tuple(Step(index=i, agent=f"agent{i}", content="said") for i in range(steps)),
        outcome=RunOutcome.FAILED,
    )
    return LabeledTrajectory(
        trajectory=run,
        decisive=DecisiveStep(agent=f"agent{step}", step=step),
        label_source=source,
        question_id=str(number),
    )


def places(data: LabeledSet) -> Counter[tuple[str, int]]:
    return Counter((one.trajectory.team, one.decisive.step) for one in data.labeled if one.decisive is not None)


def test_every_step_keeps_as_many_faults_as_the_rarest() -> None:
    faults = [failed(n, 2) for n in range(9)] + [failed(n, 1) for n in range(9, 14)] + [failed(n, 0) for n in (20, 21)]
    assert places(LabeledSet(labeled=tuple(faults)).balanced()) == {("a", 0): 2, ("a", 1): 2, ("a", 2): 2}


def test_kinds_of_runs_are_balanced_each_by_itself() -> None:
    faults = [failed(n, n % 2) for n in range(6)] + [
        failed(n, 0 if n < 14 else 3, team="b", steps=4) for n in range(10, 15)
    ]
    assert places(LabeledSet(labeled=tuple(faults)).balanced()) == {("a", 0): 3, ("a", 1): 3, ("b", 0): 1, ("b", 3): 1}


def test_a_kind_of_run_with_faults_at_one_step_only_is_left_out() -> None:
    assert LabeledSet(labeled=tuple(failed(n, 2) for n in range(4))).balanced().labeled == ()


def test_natural_failures_all_stay() -> None:
    natural = tuple(failed(n, 2, source=LabelSource.COUNTERFACTUAL) for n in range(5))
    assert LabeledSet(labeled=natural).balanced().labeled == natural


def test_the_draw_is_the_same_for_the_same_seed() -> None:
    data = LabeledSet(labeled=tuple(failed(n, 0 if n < 3 else 1) for n in range(30)))
    assert data.balanced(seed=1) == data.balanced(seed=1)
    assert data.balanced(seed=1) != data.balanced(seed=2)
