import pytest

from tracer_hooks.evaluation._cases import fold_name, is_person, is_terminal, resolve_name, speakers_of

from ._runs import run


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("WebSurfer", "Websurfer", True),
        ("Web Surfer", "web_surfer", True),
        ("Orchestrator", "Orchestrator (thought)", True),
        ("Orchestrator (-> WebSurfer)", "orchestrator", True),
        ("Orchestrator (termination condition)", "Orchestrator", True),
        ("Blu-Ray_Expert", "bluray expert", True),
        ("Ärztin", "ärztin", True),
        ("Solver1", "Solver2", False),
        ("Agent (1)", "Agent (2)", False),
        ("Planner", "Plan", False),
        ("***", "---", False),
    ],
)
def test_spellings_of_one_name(one: str, other: str, same: bool) -> None:
    assert (fold_name(one) == fold_name(other)) is same


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
