"""Whatever stands in a file, reading it gives an answer or a reason: damaged inputs of every format."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ._formats import FORMATS
from ._trying import CORPUS, files_of, try_files

_BRIEF, _LONG = 12, 250
_KEPT = sorted((path for path in CORPUS.glob("*/*") if path.is_dir()), key=lambda path: (path.parent.name, path.name))
numbers = st.integers(0, 2**32)
calm = settings(suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", FORMATS)
@settings(calm, max_examples=_BRIEF)
@given(number=numbers)
def test_some_damaged_inputs_are_answered(tmp_path_factory: pytest.TempPathFactory, name: str, number: int) -> None:
    _is_answered(tmp_path_factory.getbasetemp() / "fuzz" / name, name, number)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FORMATS)
@settings(calm, max_examples=_LONG)
@given(number=numbers)
def test_many_damaged_inputs_are_answered(tmp_path_factory: pytest.TempPathFactory, name: str, number: int) -> None:
    _is_answered(tmp_path_factory.getbasetemp() / "fuzz" / name, name, number)


@pytest.mark.parametrize("kept", _KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_failed_is_answered(tmp_path: Path, kept: Path) -> None:
    files = {file.name: file.read_bytes() for file in kept.iterdir()}
    tried = try_files(FORMATS[kept.parent.name], files, tmp_path / "input")
    assert not tried.failure, tried.failure
    assert not tried.caught, f"a reader should say what is wrong itself: {tried.caught}"


def _is_answered(folder: Path, name: str, number: int) -> None:
    tried = try_files(FORMATS[name], files_of(FORMATS[name], 0, number), folder)
    assert not tried.failure, f"{tried.failure}; make it again with files_of({name!r}, 0, {number})"
