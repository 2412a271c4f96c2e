"""Several failing and passing runs of one task: what the failing ones have in common stands out."""

import numpy as np
import pytest

from tracer_hooks.diagnosis.contrast import ContrastAttributor
from tracer_hooks.diagnosis.contrast._divergence import Spectrum
from tracer_hooks.diagnosis.contrast._run_view import Claim, RunView

from ._runs import failed, run


def turns(*, helper, price, note):
    return [
        ("planner", f"Ask the {helper}. Note {note}."),
        (helper, f"The crates cost {price} dollars."),
        ("writer", "Here is the answer."),
    ]


def spectrum() -> Spectrum:
    judged = failed(turns(helper="guesser", price=214, note=5501), run_id="f0")
    failing = [failed(turns(helper="guesser", price=214, note=5502 + k), run_id=f"f{k + 1}") for k in range(2)]
    passing = [run(f"p{k}", turns(helper="solver", price=204, note=5601 + k)) for k in range(3)]
    passing.append(run("p3", turns(helper="guesser", price=204, note=5701)))
    views = [[RunView(one) for one in runs] for runs in (failing, passing)]
    return Spectrum(RunView(judged), tuple(views[0]), tuple(views[1]))


def suspicion_of(found, kind, key):
    place = next(k for k, one in enumerate(found.elements) if isinstance(one.key, kind) and key in str(one.key))
    return found.suspicion[place]


def test_elements_are_counted_over_the_runs() -> None:
    found = spectrum()
    claims = [one for one in found.elements if isinstance(one.key, Claim)]
    price = next(one for one in claims if one.key.value == "214")
    note = next(one for one in claims if one.key.value == "5501")
    assert found.runs_with[found.elements.index(price)] == (3, 0)
    assert found.runs_with[found.elements.index(note)] == (1, 0)
    assert (price.step, price.owner, note.step) == (1, "guesser", 0)
    guesser = next(one for one in found.elements if one.key == "guesser")
    assert found.runs_with[found.elements.index(guesser)] == (3, 1)


def test_jaccard_by_hand() -> None:
    found = spectrum()
    assert suspicion_of(found, Claim, "214") == pytest.approx(1.0)
    assert suspicion_of(found, Claim, "5501") == pytest.approx(1 / 3)
    assert suspicion_of(found, str, "guesser") == pytest.approx(3 / 4)
    assert suspicion_of(found, str, "planner") == pytest.approx(3 / 7)


def test_what_recurs_in_failing_runs_is_mapped_to_its_first_step() -> None:
    found = spectrum()
    assert int(np.argmax(found.by_step)) == 1
    assert max(found.by_agent, key=found.by_agent.__getitem__) == "guesser"


def test_a_recurring_fault_outweighs_a_passing_oddity() -> None:
    def told(note):
        return turns(helper="solver", price=214, note=note)

    judged = failed([("planner", "Ask the solver. Note 5501, and 77012 too."), *told(0)[1:]], run_id="f0")
    passing = [run(f"p{k}", turns(helper="solver", price=204, note=5600)) for k in range(3)]
    failing = [failed(told(5600), run_id=f"f{k + 1}") for k in range(3)]
    alone = ContrastAttributor(passing).score(judged)
    among = ContrastAttributor(passing, failing).score(judged)
    assert among.steps[1] - among.steps[0] > alone.steps[1] - alone.steps[0]
    assert among.agents["solver"] > alone.agents["solver"]
    assert any("4 of 4 failing runs" in one.why and "0 of 3 passing" in one.why for one in among.evidence)


def test_another_task_is_not_part_of_the_spectrum() -> None:
    passing = [run("p", turns(helper="solver", price=204, note=5600))]
    stranger = failed(turns(helper="guesser", price=214, note=1), run_id="f1", task="Write a poem about the sea.")
    judged = failed(turns(helper="guesser", price=214, note=2), run_id="f0")
    assert ContrastAttributor(passing, [stranger]).divergences(judged).spectrum is None
