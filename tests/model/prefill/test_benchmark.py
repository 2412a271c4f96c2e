"""The benchmark of the attributor runs and writes what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "prefill_dev.py"


@pytest.mark.slow  # two probes of a model
def test_it_prints_a_row_for_every_signal_protocol_and_probe(random_model_dir, tmp_path: Path) -> None:
    for number in range(10):
        history = [{"name": f"agent{k}", "content": f"the clerk adds {number} river stones {k}"} for k in range(3)]
        record = {
            "question": f"task {number}",
            "question_ID": f"q{number}",
            "history": history,
            "mistake_agent": "agent1",
            "mistake_step": "1",
        }
        (tmp_path / f"{number}.json").write_text(json.dumps(record))
    out, features = tmp_path / "out.json", tmp_path / "features"

    command = [sys.executable, str(BENCHMARK), "--data", str(tmp_path), "--model", str(random_model_dir)]
    command += ["--json", str(out), "--features", str(features), "--cache", str(tmp_path / "cache"), "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    figures = json.loads(out.read_text())
    assert figures["always step 1"]["step"] == [1.0, 1.0, 1.0]
    assert figures["last act"]["step"] == [0.0, 0.0, 0.0]
    assert figures["random act (expectation)"]["agent"][0] == pytest.approx(1 / 3)
    assert figures["probe: place only"]["step"][0] == 1.0
    assert {"flow_lift", "protocol flow", "probe: hidden states only"} <= figures.keys()
    assert all(name in done.stdout for name in figures)
    files = list(features.glob("*.npz"))
    assert len(files) == 10
    with np.load(files[0]) as arrays:
        assert arrays["signals"].shape == (3, len(arrays["signal_names"]))
        assert arrays["hidden"].shape[0] == 3
