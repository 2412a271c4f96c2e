"""``tracer-hooks runs import``: traces of others in the run store."""

import json
from pathlib import Path

from tracer_hooks.schema import RunKind, RunOutcome, to_json
from tracer_hooks.store import RunStore

from ._command import Command
from .test_diagnose_command import unknown_run, write

FIXTURES = Path(__file__).parents[1] / "fixtures" / "otlp"


def test_twice_imports_nothing_twice_and_the_run_is_listed_and_diagnosed(command: Command) -> None:
    trace = FIXTURES / "openinference_langgraph.pb.xz"
    (command.folder / "bad.json").write_text("no JSON")
    first = command("runs", "import", trace, "bad.json", "--json")
    assert first.code == 1
    (run_id,) = first.json["imported"]
    assert first.json["could_not_be_read"][0]["source"] == "bad.json"
    again = command("runs", "import", trace)
    assert again.code == 0
    assert "0 imported, 1 already there, 0 could not be read" in again.out
    (listed,) = command("runs", "list", "--json").json["runs"]
    assert (listed["run_id"], listed["kind"], listed["outcome"]) == (run_id, "imported", "unknown")
    (found,) = command("diagnose", run_id[:12], "--failed", "--json").json["results"]
    assert (found["run_id"], found["outcome"], found["step"]) == (run_id, "failed", 1)


def test_what_is_said_later_holds_for_a_run_that_is_there(command: Command) -> None:
    write(command.folder / "run.json", unknown_run())
    assert len(command("runs", "import", "run.json", "--json").json["imported"]) == 1
    done = command("runs", "import", "run.json", "--failed", "--reason", "too low", "--json").json
    assert (done["imported"], done["already_there"], done["updated"]) == ([], ["r1"], ["r1"])
    shown = command("runs", "show", "r1", "--json").json
    assert (shown["outcome"], shown["outcome_reason"], shown["kind"]) == ("failed", "too low", "imported")
    assert command("runs", "import", "run.json", "--json").json["updated"] == [], "nothing said, nothing changed"
    assert command("runs", "list", "--json").json["runs"][0]["outcome"] == "failed"
    other = unknown_run().model_copy(update={"run_id": "r2"})
    write(command.folder / "other.json", other)
    first = command("runs", "import", "other.json")
    assert first.out == "1 imported, 0 already there, 0 could not be read\ndiagnose one: tracer-hooks diagnose r2\n"
    again = command("runs", "import", "other.json", "--failed")
    assert "of those already there, 1 now have the outcome that you say" in again.out
    none = command("runs", "import", "missing.json")
    assert (none.code, none.out) == (1, "0 imported, 0 already there, 1 could not be read\n")


def test_records_of_one_id_and_different_content_are_different_runs(command: Command) -> None:
    write(command.folder / "a.json", unknown_run())
    write(command.folder / "b.json", unknown_run().model_copy(update={"task": "Another question?"}))
    for expected in (2, 0):
        done = command("runs", "import", "a.json", "b.json", "--json").json
        assert (len(done["imported"]), len(done["already_there"])) == (expected, 2 - expected)
    assert len(command("runs", "list", "--json").json["runs"]) == 2


def test_a_live_run_stays_what_it_is(command: Command, stored) -> None:
    run = stored.trajectory
    (command.folder / "own.json").write_text(to_json(run.model_copy(update={"outcome": RunOutcome.SUCCEEDED})))
    done = command("runs", "import", "own.json", "--failed", "--json").json
    assert (done["imported"], done["already_there"], done["updated"]) == ([], [run.run_id], [])
    with RunStore(command.folder / ".tracer_hooks" / "runs.sqlite") as store:
        assert store.get(run.run_id).kind is not RunKind.IMPORTED


def test_a_conversation_without_a_verdict_has_an_unknown_outcome(command: Command) -> None:
    chat = {"question": "Hi?", "history": [{"name": "helper", "role": "assistant", "content": "Hi!"}]}
    (command.folder / "chat.json").write_text(json.dumps(chat))
    assert command("runs", "import", "chat.json").code == 0
    assert command("runs", "list", "--json").json["runs"][0]["outcome"] == "unknown"
    assert command("runs", "import", "chat.json", TRACER_HOOKS_STORE="off").code == 2
