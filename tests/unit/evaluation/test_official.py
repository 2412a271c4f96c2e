import pytest

from tracer_hooks.evaluation._official import official_hits


@pytest.mark.parametrize(
    ("agent", "step", "gold", "gold_step", "hits"),
    [
        ("Solver", 3, "Solver", 3, (True, True)),
        ("Solver", 12, "Solver", 1, (True, True)),  # the label stands in the answer
        ("Solver", 12, "Solver", 2, (True, True)),
        ("Solver", 1, "Solver", 12, (True, False)),  # and not the other way round
        ("SolverExpert", 3, "Solver", 3, (True, True)),
        ("Solver", 3, "SolverExpert", 3, (False, True)),
        ("WebSurfer", 3, "Websurfer", 3, (False, True)),  # case counts
        ("Blu-Ray_Expert", 3, "Blu-Ray_Expert", 3, (False, True)),  # read up to the hyphen
        ("Web Surfer", 3, "Web Surfer", 3, (False, True)),  # and to the space
        ("***", 3, "***", 3, (False, False)),  # no name can be read: nothing counts
        (None, None, "Solver", 3, (False, False)),
        ("Solver", None, "Solver", 3, (False, False)),
        ("Solver", 0, "Solver", None, (True, False)),
    ],
)
def test_substring_rules(
    agent: str | None, step: int | None, gold: str, gold_step: int | None, hits: tuple[bool, bool]
) -> None:
    assert official_hits(agent, step, gold, gold_step) == hits
