import dataclasses
import json
from pathlib import Path

import pytest

from tracer_hooks.errors import DatasetError
from tracer_hooks_lab.datasets import DatasetAudit, audit
from tracer_hooks_lab.datasets._card import HowBuilt, write_card
from tracer_hooks_lab.datasets._stats import DatasetStats, stats

from ._labelled_sets import labelled_set

HOW = HowBuilt(command="tracer-hooks dataset build a|b", model="small 1.0", seeds=(0, 1), licence="CC-BY-4.0")


def test_a_card_holds_what_a_reader_asks_for(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    dataset = labelled_set(20, change=lambda step: {"usage": None})
    parts = dataset.split({"train": 0.75, "test": 0.25})
    how = dataclasses.replace(HOW, splits=parts, details={"writer": "rules"})
    found, result = stats(dataset), audit(dataset)
    path = write_card(tmp_path, found, result, title="Round table", how=how)
    text = path.read_text()
    headings = [line for line in text.splitlines() if line.startswith(("# ", "## "))]
    assert headings == [
        "# Round table", "## Motivation", "## How it was built", "## Composition, labels and their verification",
        "## Audit", "## Splits", "## Known limits", "## Licence",
    ]  # fmt: skip
    for expected in (
        r"| command | `tracer-hooks dataset build a\|b` |",
        "| seeds | 0, 1 |",
        "| writer | rules |",
        "| train | 30 | 30 |",
        "The audit failed",
        "missing usage",
        "Only 40 labelled runs",
        "All failures were brought about",
        "CC-BY-4.0",
    ):
        assert expected in text
    assert DatasetStats.model_validate(json.loads((tmp_path / "stats.json").read_text())) == found
    assert DatasetAudit.model_validate(json.loads((tmp_path / "audit.json").read_text())) == result


def test_a_set_without_audit_says_so_and_no_text_is_read_as_a_template(tmp_path: Path) -> None:
    text = write_card(tmp_path, stats(labelled_set(2)), None, title="{{ 7 * 7 }}", how=HOW).read_text()
    assert text.startswith("# {{ 7 * 7 }}\n")
    assert "The set was not audited" in text
    assert "It was not audited for leaks." in text
    assert not (tmp_path / "audit.json").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot write"):
        write_card(tmp_path / "file", stats(labelled_set(2)), None, title="T", how=HOW)
