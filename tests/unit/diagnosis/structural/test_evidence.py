"""What a diagnosis says of a step is true of that step."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._features import FeatureTable, View, features_of, table_of
from tracer_hooks.diagnosis._features._table import RULES_TOGETHER
from tracer_hooks.diagnosis._rules._signal import STRONG, WEAK, Family, Signal
from tracer_hooks.diagnosis._structural import StructuralAttributor
from tracer_hooks.diagnosis._structural._attributor import evidence_for, has_feature
from tracer_hooks.diagnosis._structural._forest import Forest, fit_forest
from tracer_hooks.diagnosis._structural._logit import ConditionalLogit, KindLogits
from tracer_hooks.diagnosis._structural._mixing import Mixing
from tracer_hooks.diagnosis._structural._model import PRIOR, StructuralModel, prior_contributions
from tracer_hooks.diagnosis._structural._observations import carried_on
from tracer_hooks.diagnosis._structural._sentences import SENTENCES
from tracer_hooks.diagnosis._wording import grouped
from tracer_hooks.schema import ErrorMode, Evidence, RunOutcome, Step, StepKind, ToolCall, Trajectory

TASK = "How many copies of the novel Emma stand on the second shelf of the library in Tromso?"


def run(*steps: tuple[str, str], task: str = TASK, **fields: object) -> Trajectory:
    values = {"run_id": "r", "task": task, "outcome": RunOutcome.FAILED, **fields}
    made = tuple(Step(index=index, agent=agent, content=text) for index, (agent, text) in enumerate(steps))
    return Trajectory(steps=made, **values)  # type: ignore[arg-type]


def told(name: str, trajectory: Trajectory, step: int) -> tuple[str, str] | None:
    said = SENTENCES[name].tell(View(trajectory), step)
    return None if said is None else (said.text, said.quote)


def test_every_feature_of_the_prior_has_a_sentence() -> None:
    assert set(PRIOR) - {RULES_TOGETHER} <= set(SENTENCES)


def test_every_sentence_is_about_a_feature_that_is_read() -> None:
    names = features_of(run(("a", "x"))).names
    assert set(SENTENCES) <= set(names)


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_no_sentence_breaks_on_odd_steps_or_speaks_in_our_own_names(name: str) -> None:
    trajectory = run(
        ("user", ""), ("a", "```python"), ("b", "…"), ("terminal", "exitcode: 1 (execution failed)"), ("a", "")
    )
    for step in range(5):
        said = told(name, trajectory, step)
        if said is not None:
            text, quote = said
            assert name not in text
            assert ": log" not in text
            assert quote == "" or any(char.isalnum() for char in quote)


def test_a_feature_that_the_step_does_not_have_is_no_finding() -> None:
    """A greeting among reports once came out as "role: a person (+0.75 log-odds)"."""
    trajectory = run(
        ("user", TASK), ("agent", "Hi!"), ("user", "Well?"), ("agent", "There are 12 copies."), ("user", "No.")
    )
    view = View(trajectory)
    table = table_of(view)
    found = evidence_for(view, table, 1, prior_contributions(table, 1))
    assert not any("person" in one.why or "machine" in one.why for one in found)
    assert not has_feature(table, 1, "role: a person")
    assert has_feature(table, 0, "role: a person")


def test_amounts_are_shown_only_well_above_the_run() -> None:
    table = features_of(run(("a", "It might be so."), ("b", "Perhaps, maybe, possibly so."), ("c", "It may be.")))
    assert has_feature(table, 1, "language: hedges")
    assert not has_feature(table, 0, "language: hedges")


def test_first_code_is_the_first_code_and_quotes_a_line_of_it() -> None:
    steps = (("a", "Let me see."), ("b", "```python\nimport os\nprices = [3, 4]\n```"), ("c", "```python\nx = 1\n```"))
    assert told("code: first of the run", run(*steps), 1) == (
        "This is the first step of the run that contains code.",
        "prices = [3, 4]",
    )
    assert told("code: first of the run", run(*steps), 2) is None


def test_a_result_that_was_said_before_is_not_said_first() -> None:
    trajectory = run(("a", "The answer is 41."), ("b", "I agree: the answer is 41."), ("c", "The answer is 17."))
    assert told("claims: first to state an answer", trajectory, 0) == (
        "It states '41' as a result, which nobody has said before.",
        "The answer is 41.",
    )
    assert told("claims: first to state an answer", trajectory, 1) is None
    assert told("claims: first to state an answer", run(("a", "The answer is 41."), task="Is it 41?"), 0) is None


def test_a_result_in_code_is_none() -> None:
    trajectory = run(("a", "```python\nresult = perform_search(bar)\n```\nThe result is a list of\nthings to do."))
    assert told("claims: first to state an answer", trajectory, 0) is None


def test_a_bare_claim_has_no_code_no_tool_and_no_report_before_it() -> None:
    bare = run(("a", "Hello."), ("b", "I have checked the shelf."))
    assert told("claims: first done with nothing to show", bare, 1) == (
        "It has words of work done ('I have checked'), yet it has no code and calls no tool, and no terminal "
        "reports right before it.",
        "I have checked the shelf.",
    )
    shown = run(("terminal", "exitcode: 0 (execution succeeded)\nCode output: 12"), ("b", "I have checked the shelf."))
    assert told("claims: first done with nothing to show", shown, 1) is None


def test_words_left_out_are_words_of_the_task_that_do_not_stand_in_the_step() -> None:
    said = told("brief: the first act leaves part of the task out", run(("a", "Emma is a novel.")), 0)
    assert said is not None
    text, quote = said
    assert quote == ""
    assert "'many', 'copies', 'stand', 'second' and 3 more" in text
    assert "'novel'" not in text
    assert "'emma'" not in text
    assert told("brief: the first act leaves part of the task out", run(("a", TASK)), 0) is None


def test_errors_that_follow_are_told_with_their_line() -> None:
    trajectory = run(
        ("coder", "```python\nprint(total)\n```"),
        ("terminal", "exitcode: 1 (execution failed)\nNameError: name 'total' is not defined"),
    )
    text, quote = told("failure: first to cause an error", trajectory, 0) or ("", "")
    assert text == (
        "Right after it, 'terminal' reports an error in step 1: \"NameError: name 'total' is not defined\"."
    )
    assert quote in ("", "print(total)")
    assert told("failure: first to cause an error", run(("coder", "x"), ("b", "fine")), 0) is None


def test_a_disappointed_leader_is_quoted_in_the_leaders_own_step() -> None:
    trajectory = run(
        ("Orchestrator", "Please look it up, WebSurfer, and tell us what the page says about it all."),
        ("WebSurfer", "I clicked the page and it shows a list of the novels that they have in the shelves there."),
        ("Orchestrator", "We are going in circles. We need another way to find out what stands on that shelf."),
    )
    view = View(trajectory)
    said = SENTENCES["work: first reply that the planner is disappointed of"].tell(view, 1)
    assert said is not None
    assert said.about == 2
    assert said.quote == "We are going in circles."
    assert said.text == "Right after step 1, it writes of a loop, of no progress or of planning anew."


CODE = "```python\nimport os\nprices = [3, 4]\nprint(sum(prices))\n```"
FAILED_THERE = ("terminal", "exitcode: 1 (execution failed)\nNameError: name 'x' is not defined")
RAN = ("terminal", "exitcode: 0 (execution succeeded)\nCode output: 7")
LED = (
    ("Orchestrator", "Please look it up, WebSurfer, and tell us what the page says about it all."),
    ("WebSurfer", "I clicked the page and it shows a list of the novels, Emma among them, 12 copies."),
)


def request(index: int, text: str) -> Step:
    return Step(index=index, agent="lead", kind=StepKind.HANDOFF, recipient="clerk", content=text)


def test_code_after_an_error_is_told_until_it_runs() -> None:
    trajectory = run(("coder", "Well."), FAILED_THERE, ("coder", CODE), RAN, ("coder", CODE))
    assert told("failure: right after an error", trajectory, 2) == (
        "The step before, by 'terminal', failed or shows an error.",
        "",
    )
    repair = ("It writes code right after an error in step 1.", "prices = [3, 4]")
    assert told("failure: repairs after an error", trajectory, 2) == repair
    assert told("failure: repairs after an error", trajectory, 4) is None
    ran = ("Right after its code, 'terminal' reports no error in step 3.", "prices = [3, 4]")
    assert told("code: ran without an error", trajectory, 2) == ran
    assert told("code: ran without an error", trajectory, 0) is None


def test_a_failing_tool_is_quoted_and_what_comes_next_is_a_repair() -> None:
    call = ToolCall(name="price_of", error="HTTP 503")
    steps = (
        Step(index=0, agent="scout", kind=StepKind.TOOL_CALL, tool_calls=(call,)),
        Step(index=1, agent="coder", content=CODE),
    )
    trajectory = Trajectory(run_id="r", task=TASK, steps=steps, outcome=RunOutcome.FAILED)
    assert told("shape: raised", trajectory, 0) == ("The tool 'price_of' that it calls fails.", "HTTP 503")
    assert told("failure: repairs after an error", trajectory, 1) is not None


def test_words_in_code_are_quoted_with_their_line_and_words_beside_it_are_not() -> None:
    trajectory = run(("coder", CODE), ("writer", "The sum(prices) is in the code."))
    assert told("code: calculates", trajectory, 0) == ("Its code calculates: 'sum('.", "print(sum(prices))")
    assert told("code: calculates", trajectory, 1) is None


def test_a_step_that_is_said_again_names_the_first() -> None:
    trajectory = run(("a", "Let me look."), ("b", "Yes."), ("a", "Let  me\nlook."), ("a", "Let me look it up."))
    again = told("repetition: the same again", trajectory, 2)
    assert again is not None
    assert again[0] == "It says the same again as step 0, word for word."
    assert told("repetition: the same again", trajectory, 3) is None


def test_an_agent_that_changes_its_answer() -> None:
    trajectory = run(
        ("a", "The answer is 12."), ("b", "The answer is 3."), ("a", "The answer is 14."), ("a", "The answer is 14 ")
    )
    said = ("It states '14' as a result; in step 0 it was '12'.", "The answer is 14.")
    assert told("agreement: changes its own answer", trajectory, 2) == said
    assert told("agreement: changes its own answer", trajectory, 1) is None  # another's answer is not its own
    assert told("agreement: changes its own answer", trajectory, 3) is None


@pytest.mark.parametrize(("final_output", "what"), [("It is 14.", "final answer"), (None, "team's last words")])
def test_who_said_a_number_of_the_answer_first(final_output: str | None, what: str) -> None:
    trajectory = run(("a", "I see 140."), ("b", "It is 14."), ("a", "So it is 14."), final_output=final_output)
    name = "survival: first number of the answer"
    assert told(name, trajectory, 1) == (f"It is the first to say 14, a number of the {what}.", "It is 14.")
    assert told(name, trajectory, 0) is None
    assert told(name, trajectory, 2) is None
    assert told(name, run(("b", "It is 14."), task="Is it 14?", final_output="14"), 0) is None


def test_who_brought_a_number_in() -> None:
    trajectory = run(("a", "Some 12 of 9."), ("b", "There are 12, not 31."), task="Are there 9?")
    name = "novelty: first new number of the run"
    assert told(name, trajectory, 0) == ("It is the first to bring in the number 12.", "Some 12 of 9.")
    assert told(name, trajectory, 1) == ("It is the first to bring in the number 31.", "There are 12, not 31.")


def test_who_said_first_what_another_says_again() -> None:
    trajectory = run(("a", "We have 4711 copies."), ("a", "4711 it is."), ("b", "Yes, 4711."), final_output="Done.")
    said = carried_on(View(trajectory), 0)
    assert said is not None
    assert (said.text, said.quote) == (
        "It is the first to say '4711', which 'b' says again in step 2.",
        "We have 4711 copies.",
    )
    assert carried_on(View(trajectory), 1) is None


def test_a_request_that_is_made_again_is_quoted_where_it_is() -> None:
    asked = "Please count the copies of Emma on the second shelf"
    steps = (
        request(0, f"{asked}."),
        Step(index=1, agent="clerk", content="There are 12 copies."),
        request(2, f"{asked} again."),
        Step(index=3, agent="clerk", content="There are 14 copies."),
        request(4, "Write the letter to Tromso now."),
    )
    view = View(Trajectory(run_id="r", task=TASK, steps=steps, outcome=RunOutcome.FAILED))
    tell = SENTENCES["work: reply after which the request is made again"].tell
    said = tell(view, 1)
    assert said is not None
    assert (said.about, said.quote) == (2, f"{asked} again.")
    assert said.text == ("It asks again, in much the same words, for what step 0 asked for, after the reply in step 1.")
    assert tell(view, 3) is None  # the next request is another
    answers = SENTENCES["flow: answers a hand-off"].tell(view, 3)
    assert answers is not None
    assert answers.text == "It answers the hand-off by 'lead' in step 2."


def test_objections_and_missing_code_are_those_of_the_next_step() -> None:
    trajectory = run(("a", "It is 14."), ("b", "No, that is wrong."), ("c", "Run it."), ("d", "There is no code here."))
    assert told("failure: objected to by the next speaker", trajectory, 0) == (
        "'b', who speaks next, uses words of objection or correction in step 1: 'wrong'.",
        "",
    )
    assert told("failure: asked for code that was not there", trajectory, 2) == (
        "The next step, by 'd', finds no code to run: 'There is no code'.",
        "",
    )
    assert told("failure: asked for code that was not there", trajectory, 3) is None


def test_the_last_reply_before_the_leader_has_what_the_answer_says() -> None:
    final = "Final answer: 12 copies, Emma"
    trajectory = run(*LED, ("Orchestrator", final), final_output=final)
    text, quote = told("work: last reply before the planner's answer", trajectory, 1) or ("", "")
    assert text == (
        "it is the last reply before 'Orchestrator' ends the run in step 2, and '12 copies' of the final answer "
        "stands in it"
    )
    assert quote == LED[1][1]


def test_an_early_reply_says_what_was_done_and_how_the_run_ended() -> None:
    trajectory = run(*LED, ("WebSurfer", "Hm."))
    text, quote = told("work: early reply under a planner in a run that was cut off", trajectory, 1) or ("", "")
    assert text == (
        "it is one of the first three replies under 'Orchestrator', in a run that ends without a last word of "
        "'Orchestrator'; it says what was done ('I clicked')"
    )
    assert quote == LED[1][1]


def test_a_place_alone_is_said_to_be_no_finding() -> None:
    trajectory = run(("writer", "Hm."), ("writer", "Well then."))
    answer = StructuralAttributor().attribute(trajectory)
    assert [one.quote for one in answer.evidence if "stands out" in one.why] == [""]
    assert all("log-odds" not in one.why for one in answer.evidence)


def test_a_tools_failure_is_an_error_and_no_missing_check() -> None:
    steps = (
        Step(
            index=0,
            agent="scout",
            kind=StepKind.TOOL_CALL,
            tool_calls=(ToolCall(name="price_of", arguments={"item": "hotel"}, error="HTTP 503"),),
        ),
        Step(index=1, agent="writer", content="I could not find the price."),
    )
    trajectory = Trajectory(run_id="r", task="What is the price?", steps=steps, outcome=RunOutcome.FAILED)
    answer = StructuralAttributor().attribute(trajectory)
    assert (answer.agent, answer.step) == ("scout", 0)
    assert answer.error_mode is not None
    assert answer.error_mode.value == "FM-2.2"
    assert (answer.evidence[0].kind, answer.evidence[0].quote) == ("error", "HTTP 503")
    assert "'price_of'" in answer.evidence[0].why


@pytest.mark.parametrize("expected", [None, "check: expected 360, got 350"])
def test_a_wrong_sum_is_a_wrong_sum_whatever_the_check_says(expected: str | None) -> None:
    trajectory = run(
        ("scout", "The room costs 120 a night."),
        ("accountant", "For three nights: 3 x 120 = 350"),
        ("writer", "You pay 350 in all."),
        task="What do three nights at 120 cost?",
        outcome_reason=expected or "check: returned False",
        final_output="You pay 350 in all.",
    )
    answer = StructuralAttributor().attribute(trajectory)
    assert (answer.agent, answer.step) == ("accountant", 1)
    assert answer.error_mode is not None
    assert answer.error_mode.value == "FM-2.6"
    assert answer.evidence[0].kind == "value"


@pytest.mark.parametrize("name", ["System", "system_prompt", "System message"])
def test_what_the_team_was_told_is_not_to_blame(name: str) -> None:
    trajectory = run(
        (name, "You are an expert assistant who writes code. Let's assume that a tool may fail: 2 + 2 = 5."),
        ("Manager", "Searcher, please look it up."),
        ("Searcher", "There are 12 copies."),
        final_output="There are 12 copies.",
    )
    answer = StructuralAttributor().attribute(trajectory)
    assert answer.agent in ("Manager", "Searcher")
    assert name not in {one.agent for one in answer.faults}


def total(contributions: list[tuple[str, float]]) -> float:
    return sum(odds for _, odds in contributions)


def with_weight(contributions: list[tuple[str, float]]) -> dict[str, float]:
    return {name: odds for name, odds in contributions if odds}


def trees(table: FeatureTable) -> Forest:
    return fit_forest([table] * 6, [1] * 6, [[0, 0, 0, 1, 1, 1]], seed=0).forest


class TestContributions:
    """What is said to weigh is what the model weighs."""

    def table(self):
        return features_of(
            run(
                ("planner", "Look up the stock of Emma, then answer."),
                ("clerk", "I think we have 12 copies of Emma."),
                ("writer", "Dear reader, we have 12 copies of Emma."),
                ("planner", "The work is done. We have 12 copies of Emma."),
            )
        )

    def test_a_share_of_the_prior_alone_gives_its_contributions(self) -> None:
        table = self.table()
        weights = dict.fromkeys(table.names[:12], 0.4)
        fitted = StructuralModel(
            KindLogits(ConditionalLogit(weights, 1.1)), forest=trees(table), mixing=Mixing((1.0, 0.0, 0.0, 0.0))
        )
        for step in range(4):
            assert with_weight(fitted.contributions(table, step)) == pytest.approx(
                with_weight(prior_contributions(table, step))
            )

    def test_they_sum_to_how_far_the_step_lies_above_the_run(self) -> None:
        table = self.table()
        weights = {name: 0.1 * (place % 5) for place, name in enumerate(table.names)}
        model = StructuralModel(
            KindLogits(ConditionalLogit(weights, 0.7)), forest=trees(table), mixing=Mixing((0.3, 0.6, 0.0, 0.0))
        )
        logits = model.logits(table, ["planner", "clerk", "writer", "planner"])
        for step in range(4):
            assert total(model.contributions(table, step)) == pytest.approx(logits[step] - logits.mean())

    def test_those_of_the_trees_tell_steps_apart_as_the_trees_do(self) -> None:
        table = self.table()
        forest = trees(table)
        logits = forest.logits(table)
        for step in range(4):
            against = total(forest.contributions(table, step)) - total(forest.contributions(table, 1))
            assert against == pytest.approx(logits[step] - logits[1], abs=1e-9)
        best = max(forest.contributions(table, 1), key=lambda pair: pair[1])
        assert best[1] > 0

    def test_the_trees_count_with_their_share(self) -> None:
        table = self.table()
        forest = trees(table)
        with_trees = StructuralModel(forest=forest, mixing=Mixing((1.0, 0.0, 0.5, 0.0)))
        gained = total(with_trees.contributions(table, 1)) - total(StructuralModel().contributions(table, 1))
        assert gained == pytest.approx(0.5 * total(forest.contributions(table, 1)))


class TestGrouping:
    def test_a_passage_stands_once_with_all_that_it_shows(self) -> None:
        found = grouped(
            [
                Evidence(step=0, quote="The total is 41.", why="One.", weight=1.0),
                Evidence(step=0, quote="is 41", why="Two.", weight=0.5, kind="value"),
                Evidence(step=1, quote="The total is 41.", why="Three."),
            ],
            most=5,
        )
        assert [(one.step, one.quote, one.why, one.weight, one.kind) for one in found] == [
            (0, "The total is 41.", "Two. One.", 1.5, "value"),
            (1, "The total is 41.", "Three.", None, "sign"),
        ]

    def test_what_cannot_be_read_is_not_quoted(self) -> None:
        found = grouped([Evidence(step=0, quote=quote, why=quote) for quote in ("```python", "***", "…", "x")], most=9)
        assert [one.quote for one in found] == ["", "", "", "x"]


@pytest.mark.parametrize(
    ("family", "weight", "kind"),
    [
        (Family.ARITHMETIC, STRONG, "value"),
        (Family.PROVENANCE, STRONG, "value"),
        (Family.PROVENANCE, WEAK, "sign"),
        (Family.TOOL, WEAK, "error"),
        (Family.CONTRADICTION, WEAK, "contradiction"),
        (Family.POSITION, WEAK, "sign"),
    ],
)
def test_a_signal_says_what_sort_of_finding_it_is(family: Family, weight: float, kind: str) -> None:
    signal = Signal(family=family, step=3, weight=weight, mode=ErrorMode.FM_2_6, why="the sum is wrong", quote="```")
    assert signal.evidence == Evidence(step=3, quote="", why="The sum is wrong.", weight=weight, kind=kind)  # type: ignore[arg-type]
