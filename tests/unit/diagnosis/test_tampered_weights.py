"""Whatever stands in a fitted attributor's files, loading gives one that answers, or an error that names the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks import _files
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis.ranking._attributor import StructuralAttributor
from tracer_hooks.diagnosis.ranking._table import features_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import RunOutcome, Step, Trajectory

RUN = Trajectory(
    run_id="r",
    task="add 2 and 3",
    steps=(Step(index=0, agent="a", content="2+3=6"), Step(index=1, agent="b", content="The answer is 6")),
    outcome=RunOutcome.FAILED,
)
NAMES = features_of(RUN).names
LOGIT = {"prior_weight": 1.0, "weights": {NAMES[0]: 0.5}}
MODEL = {
    "steps": {"shared": LOGIT, "by_kind": {"teams that take turns": LOGIT}},
    "agents_seen": ["a"],
    "labels": 5,
    "right": None,
}
Place = tuple[str | int, ...]

ODD: tuple[Any, ...] = (None, "x", [], {}, True, float("nan"), float("inf"), 1e308, 10**400, [[1]])
NUMBERS: tuple[Place, ...] = (
    ("model", "steps", "shared", "prior_weight"),
    ("model", "steps", "by_kind", "teams that take turns", "weights", NAMES[0]),
    ("version",),
)
"""Each of these gets every odd value."""
OTHERS: tuple[tuple[Place, Any], ...] = (
    (("model",), []),
    (("model", "steps"), None),
    (("model", "steps", "shared", "weights"), {"no such feature": 1.0}),
    (("model", "steps", "by_kind"), {"x": {}}),
    (("model", "steps", "by_kind"), []),
    (("model", "agents_seen"), [1]),
    (("model", "labels"), -1),
    (("model", "more"), 1),
)
RAW: tuple[bytes, ...] = (
    b"", b"[", b"[]", b"null", b"5", b'{"version": 3}', b"\xff\xfe", b"[" * 100_000, b'{"version": NaN, "model": {}}',
    b'{"a":' * 500 + b"1" + b"}" * 500, b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\x80\x04\x95",
)  # fmt: skip


def document() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps({"attributor": "structural", "version": 3, "model": MODEL}))
    return whole


def put(data: Any, place: Place, value: Any) -> Any:
    holder = data
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return data


def places(value: Any, here: Place = ()) -> list[Place]:
    items = value.items() if isinstance(value, dict) else ()
    return [place for key, one in items for place in ((*here, key), *places(one, (*here, key)))]


def refused(folder: Path, file: Path) -> None:
    with pytest.raises(AttributionError) as caught:
        get_attributor(folder)
    assert str(file) in str(caught.value)
    assert len(str(caught.value)) < 1000 + 2 * len(str(file))


def test_the_model_that_is_tampered_with_is_good(tmp_path: Path) -> None:
    (tmp_path / "structural.json").write_text(json.dumps(document()))
    assert get_attributor(tmp_path).attribute(RUN).run_id == "r"


@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value)[:12])
@pytest.mark.parametrize("place", NUMBERS, ids=lambda place: str(place[-1])[:20])
def test_a_number_that_is_something_else_is_refused(tmp_path: Path, place: Place, value: Any) -> None:
    file = tmp_path / "structural.json"
    file.write_text(json.dumps(put(document(), place, value)))
    refused(tmp_path, file)


@pytest.mark.parametrize(("place", "value"), OTHERS)
def test_a_part_that_does_not_fit_is_refused(tmp_path: Path, place: Place, value: Any) -> None:
    file = tmp_path / "structural.json"
    file.write_text(json.dumps(put(document(), place, value)))
    refused(tmp_path, file)


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: repr(raw[:12]))
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "structural.json"
    file.write_bytes(raw)
    refused(tmp_path, file)


def test_a_missing_part_is_refused_or_not_needed(tmp_path: Path) -> None:
    file = tmp_path / "structural.json"
    for place in places(document()):
        whole = document()
        holder = whole
        for key in place[:-1]:
            holder = holder[key]
        del holder[place[-1]]  # type: ignore[arg-type]
        file.write_text(json.dumps(whole))
        if place == ("attributor",) or place[-1] in (NAMES[0], "teams that take turns"):
            get_attributor(tmp_path).attribute(RUN)
        else:
            refused(tmp_path, file)


@pytest.mark.parametrize("breaks", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_attributor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    StructuralAttributor().save(tmp_path)
    before = (tmp_path / "structural.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    owner: Any = _files.os if breaks == "fsync" else Path  # type: ignore[attr-defined]
    broken: Callable[..., None] = full
    monkeypatch.setattr(owner, breaks, broken)
    with pytest.raises(OSError, match="No space left"):
        StructuralAttributor().save(tmp_path)
    assert (tmp_path / "structural.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["structural.json"]
