"""Labels in forms: given, taken back, twice and at once, beside other sessions; the order in which runs are asked."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tracer_hooks.cli.app import run_app
from tracer_hooks.datasets._label_file import LabelFile, labelled
from tracer_hooks.schema import ErrorMode, RunKind, RunOutcome, Step

from ..report._pages import Element
from ._served import Served, links, text


def sent(form: Element) -> dict[str, str]:
    """What a browser sends of a form, but for what a person chooses."""
    return {
        each.attributes["name"]: each.attributes["value"] for each in form.all("input") if "value" in each.attributes
    }


def forms(page: Element) -> dict[str, dict[str, str]]:
    """The forms of a page by what their buttons do."""
    found = [each for each in page.all("form") if each.attributes.get("method") == "post"]
    return {
        each.one("button").attributes["value"]: {**sent(each), "act": each.one("button").attributes["value"]}
        for each in found
    }


def post(served: Served, form: dict[str, str], **changes: str) -> Any:
    return served.client.post("/label", data={**form, **changes})


def places(served: Served) -> dict[str, tuple[str, int, ErrorMode | None]]:
    found = {}
    for label in LabelFile(served.labels).labels.values():
        assert label.decisive is not None
        found[label.trajectory.run_id] = (label.decisive.agent, label.decisive.step, label.decisive.error_mode)
    return found


def test_a_diagnosis_is_called_right_and_that_is_taken_back(served: Served) -> None:
    served.put("first")
    page = served.page("/runs/first")
    answer = post(served, forms(page)["right"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs/first#label")
    assert places(served) == {"first": ("writer", 2, ErrorMode.FM_2_5)}
    label = next(iter(LabelFile(served.labels).labels.values()))
    assert (label.label_source.value, label.trajectory.outcome) == ("human", RunOutcome.FAILED)
    page = served.page("/runs/first")
    assert "It went wrong at step 2, writer." in text(page.by_id("label"))
    assert list(forms(page)) == ["undo"]
    for _ in range(2):
        assert post(served, forms(page)["undo"]).status_code == 303, "taking it back twice is no harm"
    assert places(served) == {}
    assert set(forms(served.page("/runs/first"))) == {"right", "wrong"}


def test_another_step_is_blamed_with_or_without_an_error_mode(served: Served) -> None:
    for name in ("first", "second"):
        served.put(name)
    assert post(served, forms(served.page("/runs/first"))["wrong"], step="1", mode="").status_code == 303
    assert post(served, forms(served.page("/runs/second"))["wrong"], step="0", mode="FM-3.3").status_code == 303
    assert places(served) == {"first": ("scout", 1, None), "second": ("planner", 0, ErrorMode.FM_3_3)}


def test_a_run_that_is_not_diagnosed_or_has_many_steps_can_be_labelled_too(served: Served) -> None:
    served.put("plain", confidence=None)
    assert list(forms(served.page("/runs/plain"))) == ["wrong"]
    steps = tuple(Step(index=number, agent=f"agent {number % 3}", content="x") for number in range(900))
    run = served.put("long", confidence=None)
    served.store.save(
        served.store.get("long").model_copy(update={"trajectory": run.model_copy(update={"steps": steps})})
    )
    page = served.page("/runs/long")
    assert page.by_id("step-a1").attributes["max"] == "899"
    assert post(served, forms(page)["wrong"], step="500").status_code == 303
    assert places(served)["long"][:2] == ("agent 2", 500)


def test_each_failed_attempt_has_a_form_and_a_run_that_succeeded_has_none(served: Served) -> None:
    served.put("first", session_id="call")
    served.put("second", session_id="call", attempt=2, kind=RunKind.RETRY)
    served.put("third", session_id="call", attempt=3, kind=RunKind.RETRY, outcome=RunOutcome.SUCCEEDED)
    page = served.page("/runs/first")
    assert sorted({sent(each)["run"] for each in page.all("form") if each.attributes.get("method") == "post"}) == [
        "first",
        "second",
    ]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"token": ""}, 403, "not of this server"),
        ({"token": "0" * 64}, 403, "not of this server"),
        ({"run": "second"}, 403, "not of this server"),
        ({"step": "99"}, 400, "there is no step 99, expected one from 0 to 3"),
        ({"step": "²"}, 400, "expected the number of a step"),
        ({"step": ""}, 400, "expected the number of a step"),
        ({"act": "wrong", "mode": "FM-9.9"}, 400, "is no error mode"),
        ({"act": "delete"}, 400, "expected right, wrong or undo"),
        ({"run": "x" * 70_000}, 400, "more than 65,536 bytes"),
    ],
)
def test_a_form_that_is_not_as_it_should_be_changes_nothing(
    served: Served, changes: dict[str, str], status: int, said: str
) -> None:
    served.put("first")
    served.put("second")
    answer = post(served, forms(served.page("/runs/first"))["right"], **changes)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert not served.labels.exists()


def test_the_label_of_another_session_is_not_replaced_unseen(served: Served) -> None:
    run = served.put("first").model_copy(update={"outcome": RunOutcome.FAILED})
    form = forms(served.page("/runs/first"))
    LabelFile(served.labels).add(labelled(run, "scout", 1, None, question_id=None))
    answer = post(served, form["right"])
    assert (answer.status_code, "It is labelled step 1, scout now" in answer.text) == (409, True)
    assert places(served)["first"][:2] == ("scout", 1)
    seen = forms(served.page("/runs/first"))["undo"]
    other = LabelFile(served.labels)
    other.add(labelled(run, "writer", 2, None, question_id=None))
    assert post(served, seen).status_code == 409
    assert places(served)["first"][:2] == ("writer", 2)


def test_labels_that_are_given_at_once_are_all_kept(served: Served) -> None:
    names = [f"run-{number}" for number in range(12)]
    for name in names:
        served.put(name)
    given = [forms(served.page(f"/runs/{name}"))["right"] for name in names]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda form: post(served, form).status_code, [*given, *given]))
    assert answers == [303] * 24
    assert sorted(places(served)) == sorted(names)


def test_a_file_that_is_no_file_of_labels_is_said_and_left_alone(served: Served) -> None:
    served.put("first")
    form = forms(served.page("/runs/first"))["right"]
    served.labels.write_text("mine\n")
    for address in ("/runs/first", "/label"):
        assert "is no file of labelled runs" in text(served.page(address).one("main"))
    answer = post(served, form)
    assert (answer.status_code, "--labels" in answer.text) == (503, True)
    assert served.labels.read_text() == "mine\n"


def test_the_queue_asks_the_unsure_runs_of_large_issues_first_and_goes_on_after_a_label(served: Served) -> None:
    served.put("sure", confidence=0.95)
    served.put("unsure", confidence=0.2, hours=5)
    served.put("alone", confidence=None, hours=6, task="Another task")
    served.put("good", outcome=RunOutcome.SUCCEEDED)
    page = served.page("/label")
    assert text(page.one("h1")) == "3 runs to label"
    assert links(page.one("main"), "/runs/") == ["/runs/unsure", "/runs/unsure", "/runs/alone", "/runs/sure"]
    assert "confidence 20%·2 failed runs of this kind" in text(page.one("main")).replace("% ", "%").replace("%2", "%·2")
    answer = post(served, forms(page)["right"])
    assert answer.headers["location"] == "/label?given=unsure"
    after = served.page("/label?given=unsure")
    assert text(after.one("h1")) == "2 runs to label"
    assert "Labelled: run unsure, step 2, writer" in text(after.one("main"))
    assert links(served.page("/label?at=1").one("main"), "/runs/")[0] == "/runs/sure", "one is skipped"
    assert post(served, forms(after)["undo"]).headers["location"] == "/label"
    assert text(served.page("/label").one("h1")) == "3 runs to label"
    assert "left to label after those" in text(served.page("/label?at=3", 200).one("main")) or places(served) == {}


def test_the_commands_that_let_labels_count_are_those_that_do(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        served.put(f"run-{number}", task=f"Task {number % 3}")
        post(served, forms(served.page(f"/runs/run-{number}"))["right"])
        page = served.page("/label")
        assert (len(page.all("div", "command")) > 0) == (number >= 4), number
        assert number or "so far: 1 label of 1 task" in text(page.one("main"))
    served.put("next")
    commands = [text(each.one("code")) for each in served.page("/label").all("div", "command")]
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(served.path))
    for command in commands:
        program, *arguments = shlex.split(command)
        monkeypatch.setattr("sys.argv", [program, *arguments])
        assert run_app() == 0, capsys.readouterr().err
    found = served.store.get("next").attribution
    assert found is not None
    assert "labels-fitted" in commands[1]
    assert found.attributor != "structural 1.0"
