import pytest

from tracer_hooks.evaluation._cases import fold_name, is_person, is_terminal, resolve_name, speakers_of

from ._runs import run


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("WebSurfer", "Websurfer"),
        ("Web Surfer", "web_surfer"),
        ("Orchestrator", "Orchestrator (thought)"),
        ("Orchestrator (-> WebSurfer)", "orchestrator"),
        ("Orchestrator (termination condition)", "Orchestrator"),
        ("Blu-Ray_Expert", "bluray expert"),
        ("Ärztin", "ärztin"),
    ],
)
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Solver1", "Solver2"), ("Agent (1)", "Agent (2)"), ("Planner", "Plan"), ("***", "---")]
)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)


def test_a_running_number_is_dropped_only_when_that_gives_a_speaker() -> None:
    assert resolve_name("psychologist4", ["psychologist", "assistant1"]) == "psychologist"
    assert resolve_name("Assistant1", ["assistant", "assistant1"]) == "assistant1"
    assert resolve_name("ranker5", ["assistant1"]) == "ranker5"


def test_people_and_terminals() -> None:
    assert is_person("Human")
    assert is_person("user_proxy")
    assert not is_person("UserExperienceExpert")
    assert is_terminal("Computer_terminal")
    assert speakers_of(run("User", "B", "a", "b", "System")) == ("b", "a")
