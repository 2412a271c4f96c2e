"""Several sessions of ``tracer-hooks label`` on one file: no label is lost, and none is put in another's place."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tracer_hooks._files import locked
from tracer_hooks.datasets._label_file import LabelFile, key_of
from tracer_hooks.errors import DatasetError
from tracer_hooks.schema import LabeledTrajectory, to_json

from ._command import Command
from .test_fit_command import labelled
from .test_label_command import place, runs, steps_of

EACH = 30
WRITER = """
import sys
from pathlib import Path
from tracer_hooks.datasets._label_file import LabelFile
from tracer_hooks.schema import LabeledTrajectory, from_json
path, own = map(Path, sys.argv[1:])
file = LabelFile(path)
print("ready", flush=True)
sys.stdin.readline()
for line in own.read_text().splitlines():
    assert file.add(from_json(line, LabeledTrajectory)) is None
"""


def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    writers = []
    for who in range(2):
        own = tmp_path / f"own{who}.jsonl"
        own.write_text("".join(to_json(labelled(n)) + "\n" for n in range(who * EACH, who * EACH + EACH)))
        command = [sys.executable, "-c", WRITER, str(out), str(own)]
        writers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.wait(timeout=100) for writer in writers] == [0, 0]
    assert set(LabelFile(out).labels) == {key_of(labelled(n).trajectory) for n in range(2 * EACH)}
    assert [path.name for path in tmp_path.glob(".*")] == [], "no lock and no half-written file stays"
    for writer in writers:
        writer.communicate()


def test_a_label_of_another_session_stays(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    one, other = LabelFile(path), LabelFile(path)
    first = labelled(0)
    second = LabeledTrajectory.model_validate({**first.model_dump(), "seed": 77})
    assert one.add(first) is None
    standing = other.add(second)
    assert standing is not None
    assert to_json(standing) == to_json(first)
    other.remove("no such run")
    assert one.add(second) is None, "its own is replaced"
    other.remove(key_of(first.trajectory))
    assert [to_json(label) for label in LabelFile(path).labels.values()] == [to_json(second)], "not what it knew"
    one.remove(key_of(first.trajectory))
    assert LabelFile(path).labels == {}


def test_a_session_passes_over_what_another_one_labels_meanwhile(command: Command) -> None:
    runs(command.folder)
    first, third = labelled(0).trajectory, labelled(2).trajectory
    session = started(command)
    asked(session, "1 of 3: ")
    meanwhile = LabelFile(command.folder / "labels.jsonl")
    meanwhile.add(labelled(0))
    meanwhile.add(labelled(1))
    kept = steps_of(command.folder)["r0"]
    different = next(step.index for step in first.steps if (step.agent, step.index) != kept[:2])
    out, err = session.communicate(f"{place(first, different)}-\n{place(third, 1)}-\n", timeout=100)
    told = json.loads(out)
    assert (told["labelled"], told["already_there"], told["labels"]) == (1, 1, 3), err
    assert session.returncode == 1
    assert f"labelled otherwise already, {kept[0]!r} at step {kept[1]}; left as it is" in told["left_out"][0]
    assert steps_of(command.folder)["r0"] == kept


@pytest.mark.skipif(os.name != "posix", reason="a signal as of a terminal")
def test_ctrl_c_keeps_what_was_answered(command: Command) -> None:
    runs(command.folder)
    first = labelled(0).trajectory
    session = started(command)
    session.stdin.write(f"{place(first, 2)}FM-2.6\n")
    session.stdin.flush()
    asked(session, "2 of 3: ")
    session.send_signal(signal.SIGINT)
    session.communicate(timeout=100)
    assert session.returncode != 0
    assert steps_of(command.folder) == {"r0": (first.steps[2].agent, 2, "FM-2.6")}


def test_the_lock_is_one_at_a_time_and_goes_with_its_holder(tmp_path: Path) -> None:
    path, inside, most = tmp_path / "new" / "file", 0, 0

    def hold() -> None:
        nonlocal inside, most
        for _ in range(50):
            with locked(path):
                inside += 1
                most = max(most, inside)
                inside -= 1

    holders = [threading.Thread(target=hold) for _ in range(4)]
    for holder in holders:
        holder.start()
    for holder in holders:
        holder.join(60)
    assert most == 1
    program = "from pathlib import Path; from tracer_hooks._files import locked\n"
    program += f"import os\nwith locked(Path({str(path)!r})): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], check=False, timeout=100)
    with locked(path):
        pass
    path.write_text("")
    with pytest.raises(DatasetError, match=r"cannot lock .*labels.jsonl.*--out"):
        LabelFile(path / "labels.jsonl").add(labelled(0))


def started(command: Command) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command.argv, "label", "runs.jsonl", "--out", "labels.jsonl", "--json"],
        cwd=command.folder, env=command.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def asked(session: subprocess.Popen[str], words: str) -> None:
    """Wait until the session has asked about the run that these words name."""
    seen = ""
    while words not in seen:
        read = session.stderr.readline()
        assert read, seen
        seen += read
