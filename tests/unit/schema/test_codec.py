import json
from pathlib import Path

import pytest

from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    SCHEMA_VERSION,
    Attribution,
    LabeledTrajectory,
    Step,
    Trajectory,
    ValueLink,
    ValueOrigin,
    _codec,
    from_dict,
    from_json,
    load_jsonl,
    save_jsonl,
    to_json,
)

RUN = Trajectory(run_id="r", steps=(Step(index=0, agent="A", content="ä\u2028\nb"),))


def test_one_record_is_one_line_with_its_version_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    save_jsonl(path, [RUN, RUN])
    assert path.read_bytes().count(b"\n") == 2
    assert [json.loads(line)["schema_version"] for line in path.read_bytes().splitlines()] == [SCHEMA_VERSION] * 2
    path.write_text(f"\n{path.read_text('utf-8')}\n  \n", encoding="utf-8")
    assert list(load_jsonl(path, Trajectory)) == [RUN, RUN]


def test_a_bad_line_is_named_after_the_good_ones(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(f"{to_json(RUN)}\n{{\n", encoding="utf-8")
    records = load_jsonl(tmp_path / "x.jsonl", Trajectory)
    assert next(records) == RUN
    with pytest.raises(TrajectoryError, match=r"x\.jsonl', line 2: not valid JSON"):
        next(records)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(TrajectoryError, match=r"x\.jsonl"):
        list(load_jsonl(tmp_path / "x.jsonl", Trajectory))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "expected a JSON object for a Trajectory, got list"),
        ({}, "'run_id': Field required"),
        ({"run_id": "r", "stepz": []}, "'stepz'"),
        ({"run_id": "r", "steps": [{"index": 1, "agent": "A"}]}, r"steps\[0\]\.index is 1, expected 0"),
        ({"run_id": "r", "steps": [{"index": 0}]}, r"'steps\.0\.agent'"),
        ({"run_id": "r", "schema_version": "1"}, "must be a whole number, got '1'"),
        ({"run_id": "r", "schema_version": True}, "must be a whole number, got True"),
        ({"run_id": "r", "schema_version": 99}, "schema_version 99, this version reads up to 2.*pip install --upgrade"),
        ({"run_id": "r", "schema_version": 0}, "unknown schema_version 0"),
    ],
)
def test_what_does_not_fit_is_named(data: object, reason: str) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        from_dict(data, Trajectory)


def test_an_older_record_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(data: dict[str, object]) -> dict[str, object]:
        return {**{k: v for k, v in data.items() if k != "id"}, "run_id": data["id"], "schema_version": 1}

    monkeypatch.setitem(_codec.MIGRATIONS, 0, rename)
    assert from_json('{"id": "old", "schema_version": 0}', Trajectory) == Trajectory(run_id="old")


def test_a_run_inside_an_older_label_is_migrated_too() -> None:
    inner = {"run_id": "r", "schema_version": 1}
    label = from_dict({"trajectory": inner, "label_source": "human"}, LabeledTrajectory)
    assert label.trajectory.schema_version == label.schema_version == SCHEMA_VERSION


def test_kinds_are_not_mixed_up() -> None:
    with pytest.raises(TrajectoryError, match="not a valid LabeledTrajectory"):
        from_json(to_json(RUN), LabeledTrajectory)
    with pytest.raises(TrajectoryError, match="not a valid Attribution"):
        from_json(to_json(RUN), Attribution)


def test_a_diagnosis_that_was_stored_before_values_were_followed_is_read() -> None:
    link = ValueLink(value="430 EUR", step=1, origin=ValueOrigin.CONTRADICTING, source=0, note="it is 470 EUR")
    answer = Attribution(run_id="r", agent="A", step=1, provenance=(link,))
    assert from_json(to_json(answer), Attribution) == answer
    old = json.loads(to_json(answer))
    del old["provenance"]
    assert from_dict(old, Attribution) == answer.model_copy(update={"provenance": ()})


@pytest.mark.parametrize("bad", [{"origin": "guessed"}, {"step": -1}, {"source": -1}, {"where": 1}])
def test_a_link_that_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    link = {"value": "1 EUR", "step": 1, "origin": "copied", "source": 0, **bad}
    with pytest.raises(TrajectoryError, match="provenance"):
        from_dict({"run_id": "r", "provenance": [link]}, Attribution)
