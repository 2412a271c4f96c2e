"""Many runs in parts: what a part holds, jobs that are broken off, two at once, files and stores."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.batch import BatchCounts, BatchJob, DiagnoseSettings, in_process, store_parts
from tracer_hooks.batch import _job as jobs
from tracer_hooks.batch import _parts as batch_parts
from tracer_hooks.batch._job import Numbered
from tracer_hooks.batch._parts import PartResult
from tracer_hooks.datasets import _load as file_parts
from tracer_hooks.datasets import load, parts_of, write_parquet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory, to_json
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.telemetry import to_spans, write_otlp_json

SETTINGS = DiagnoseSettings(attributor="structural")


def run(number: int, outcome: RunOutcome = RunOutcome.FAILED) -> Trajectory:
    steps = (
        Step(index=0, agent="lookup", content="The price is 12 EUR, the fee 5 EUR."),
        Step(index=1, agent="clerk", content="12 + 5 = 18 EUR"),
    )
    return Trajectory(
        run_id=f"r{number}", team="desk", task="What do price and fee come to?", steps=steps, outcome=outcome,
        final_output="18 EUR",
    )  # fmt: skip


def write(path: Path, count: int = 20) -> Path:
    path.write_text("".join(f"{to_json(run(number))}\n" for number in range(count)), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_parts, "_PART_BYTES", 3_000)
    monkeypatch.setattr(batch_parts, "_RUNS", 7)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The results, apart from how long each took."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in each.items() if name != "elapsed_s"} for each in found]


# --- parts -----------------------------------------------------------------------------------------------------------
def test_the_parts_of_a_long_file_give_what_the_whole_gives_with_the_same_places(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl")
    text = path.read_text(encoding="utf-8")
    path.write_text("\ufeff" + text.replace(to_json(run(7)), "{broken") + "\n\n" + to_json(run(99)), encoding="utf-8")
    parts = list(parts_of(path))
    assert len(parts) > 2
    apart = [record for part in parts for record in part.load()]
    whole = list(load(path))
    assert [record.source for record in apart] == [record.source for record in whole]
    assert [record.trajectory for record in apart] == [record.trajectory for record in whole]
    assert [str(record.error) for record in apart] == [str(record.error) for record in whole]
    assert whole[7].error is not None


@pytest.mark.parametrize("name", ["spans.jsonl", "one.json", "packed.jsonl.gz", "list.jsonl", "short.jsonl"])
def test_what_cannot_be_divided_is_one_part(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    match name:
        case "spans.jsonl":
            traced = run(0).model_copy(update={"trace_id": "a" * 32})
            write_otlp_json(path, [span for _ in range(20) for span in to_spans(traced)])
        case "packed.jsonl.gz":
            path.write_bytes(gzip.compress(write(tmp_path / "plain").read_bytes() * 40, compresslevel=0))
        case "list.jsonl":
            path.write_text("[\n" + ",\n".join(to_json(run(number)) for number in range(20)) + "\n]")
        case "short.jsonl":
            write(path, 1)
        case _:
            path.write_text(json.dumps([json.loads(to_json(run(number))) for number in range(20)]))
    (part,) = parts_of(path)
    assert [record.trajectory for record in part.load()] == [record.trajectory for record in load(path)]


def test_groups_of_rows_are_parts_of_their_own(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "runs.parquet"
    write_parquet(
        path, [LabeledTrajectory(trajectory=run(number), label_source=LabelSource.HUMAN) for number in range(20)]
    )
    pq.write_table(pq.read_table(path), path, row_group_size=6)
    parts = list(parts_of(path))
    assert [part.first for part in parts] == [1, 7, 13, 19]
    assert [one.source for part in parts for one in part.load()] == [one.source for one in load(path)]
    path.write_bytes(path.read_bytes()[:100])
    (part,) = parts_of(path)
    (record,) = part.load()
    assert "as Parquet" in str(record.error)


def test_a_folder_is_its_files_and_what_is_missing_says_so(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b10.json", "b2.json"):
        (tmp_path / "in" / name).write_text(to_json(run(0)))
    assert [part.path.name for part in parts_of(tmp_path / "in")] == ["b2.json", "b10.json"]
    (part,) = parts_of(tmp_path / "nowhere")
    (record,) = part.load()
    assert record.error is not None


# --- jobs ------------------------------------------------------------------------------------------------------------
def test_a_job_writes_what_the_command_prints_in_the_order_of_the_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl")
    told: list[BatchCounts] = []
    job = BatchJob(parts_of(path), SETTINGS, out=tmp_path / "out" / "results.jsonl")
    counts = job.run(backwards, told.append)
    found = lines_of(tmp_path / "out" / "results.jsonl")
    assert [each["run_id"] for each in found] == [f"r{number}" for number in range(20)]
    assert (counts.runs, counts.named, counts.failed) == (20, 20, 0)
    assert {each["step"] for each in found} == {1}
    assert [each.parts for each in told] == list(range(len(job.parts) + 1))
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["results.jsonl"]  # nothing is left beside it


def backwards(parts: Sequence[Numbered], settings: DiagnoseSettings) -> Iterator[PartResult]:
    return in_process(parts[::-1], settings)


class Counting:
    """Does parts, and breaks off before the third one."""

    def __init__(self, most: int = 99) -> None:
        self.most = most
        self.done: list[int] = []

    def __call__(self, parts: Sequence[Numbered], settings: DiagnoseSettings) -> Iterator[PartResult]:
        for number, part in parts:
            if len(self.done) == self.most:
                raise KeyboardInterrupt
            self.done.append(number)
            yield from in_process([(number, part)], settings)


def test_a_job_that_was_broken_off_does_what_is_left(tmp_path: Path) -> None:
    path, out = write(tmp_path / "runs.jsonl"), tmp_path / "results.jsonl"
    first, second = Counting(2), Counting()
    with pytest.raises(KeyboardInterrupt):
        BatchJob(parts_of(path), SETTINGS, out=out).run(first)
    assert not out.exists()
    told: list[BatchCounts] = []
    job = BatchJob(parts_of(path), SETTINGS, out=out)
    job.run(second, told.append)
    assert told[0].parts == 2
    assert sorted(first.done + second.done) == list(range(len(job.parts)))  # nothing twice
    assert [each["run_id"] for each in lines_of(out)] == [f"r{number}" for number in range(20)]
    BatchJob(parts_of(path), SETTINGS, out=out).run(in_process)  # once more, when all is done
    assert len(lines_of(out)) == 20


def test_what_other_runs_or_options_gave_is_not_mixed(tmp_path: Path) -> None:
    path, out = write(tmp_path / "runs.jsonl"), tmp_path / "results.jsonl"
    with pytest.raises(KeyboardInterrupt):
        BatchJob(parts_of(path), SETTINGS, out=out).run(Counting(1))
    with pytest.raises(ConfigError, match="rm -r"):
        BatchJob(parts_of(path), DiagnoseSettings(attributor="first"), out=out).run(in_process)
    write(path, 30)
    with pytest.raises(ConfigError, match="Give another --out"):
        BatchJob(parts_of(path), SETTINGS, out=out).run(in_process)


def test_two_at_once_do_not_write_the_same_results(tmp_path: Path) -> None:
    path, out = write(tmp_path / "runs.jsonl"), tmp_path / "results.jsonl"
    other = BatchJob(parts_of(path), SETTINGS, out=out)

    def meanwhile(parts: Sequence[Numbered], settings: DiagnoseSettings) -> Iterator[PartResult]:
        with pytest.raises(DatasetError, match="another process"):
            other.run(in_process)
        return in_process(parts, settings)

    BatchJob(parts_of(path), SETTINGS, out=out).run(meanwhile)
    assert len(lines_of(out)) == 20


def test_results_as_parquet_can_be_chosen_by_column(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path, out = write(tmp_path / "runs.jsonl"), tmp_path / "results.parquet"
    (tmp_path / "bad.json").write_text("{")
    parts = [*parts_of(path), *parts_of(tmp_path / "bad.json")]
    counts = BatchJob(parts, SETTINGS, out=out).run(in_process)
    assert (counts.runs, counts.failed) == (21, 1)
    table = pq.read_table(out).to_pylist()
    assert [row["agent"] for row in table] == ["clerk"] * 20 + [None]
    assert table[20]["error"]
    assert json.loads(table[0]["record"])["findings"]


def test_a_place_that_cannot_be_written_or_has_another_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "runs.jsonl")
    with pytest.raises(ConfigError, match=r"ends with \.jsonl or \.parquet"):
        BatchJob(parts_of(path), SETTINGS, out=tmp_path / "results.txt")
    with pytest.raises(ConfigError, match=r"--out results\.jsonl"):
        BatchJob(parts_of(path), SETTINGS, out=None)

    def full(files: object) -> None:
        raise OSError(28, "No space left on device")

    job = BatchJob(parts_of(path), SETTINGS, out=tmp_path / "results.jsonl")
    job._agree()
    monkeypatch.setattr(jobs, "write_files", full)
    with pytest.raises(DatasetError, match="What was done is kept"):
        job.run(in_process)


# --- stores ----------------------------------------------------------------------------------------------------------
def test_a_store_keeps_the_diagnoses_of_its_failed_runs_and_thereby_knows_what_is_left(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    with RunStore(tmp_path / "runs.sqlite") as kept:
        for number in range(20):
            outcome = RunOutcome.SUCCEEDED if number % 4 == 0 else RunOutcome.FAILED
            kept.save(StoredRun.of(run(number, outcome), session_id=f"s{number}"))
    assert [len(part.run_ids) for part in store_parts(place)] == [7, 7, 1]
    with pytest.raises(KeyboardInterrupt):
        BatchJob(store_parts(place), SETTINGS, out=None).run(Counting(1))
    assert sum(len(part.run_ids) for part in store_parts(place)) == 8
    counts = BatchJob(store_parts(place), SETTINGS, out=None).run(in_process)
    assert (counts.runs, counts.named) == (8, 8)
    assert list(store_parts(place)) == []
    with RunStore(tmp_path / "runs.sqlite", read_only=True) as kept:
        assert kept.get("r1").attribution is not None
        assert kept.get("r4").attribution is None


def test_a_run_that_is_gone_says_so(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    with RunStore(tmp_path / "runs.sqlite") as kept:
        kept.save(StoredRun.of(run(1), session_id="s"))
        (part,) = store_parts(place)
        kept.delete("r1")
    (record,) = part.load()
    assert "r1" in str(record.error)
