from pathlib import Path

import pytest

from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks_lab.datasets._build_plan import BuildPlan

from ._team import options, tasks


def plan(count: int = 3, teams: tuple[str, ...] = ("chain",), model: str = "m", **changes: object) -> BuildPlan:
    return BuildPlan.of({name: {"model": model} for name in teams}, tasks(count), options(**changes).described())


@pytest.mark.parametrize(
    "more", [plan(count=5), plan(teams=("chain", "other")), plan(repeats=2), plan(faults_per_run=6)]
)
def test_a_plan_may_grow_and_not_shrink(tmp_path: Path, more: BuildPlan) -> None:
    plan().keep(tmp_path)
    plan().keep(tmp_path)  # the same goes on
    more.keep(tmp_path)
    with pytest.raises(ConfigError, match="was begun with other options"):
        plan().keep(tmp_path)


def test_another_plan_is_refused_with_what_differs(tmp_path: Path) -> None:
    plan().keep(tmp_path)
    with pytest.raises(ConfigError, match=r"seed was 0 and is 7.*only more teams, tasks, repeats and faults"):
        plan(seed=7).keep(tmp_path)
    with pytest.raises(ConfigError, match=r"the team 'chain' is another one .*\"m\".*\"n\""):
        plan(model="n").keep(tmp_path)
    changed = [tasks(3)[0].model_copy(update={"reference": "5"}), *tasks(3)[1:]]
    with pytest.raises(ConfigError, match="the task 'user/t0' is another one"):
        BuildPlan.of({"chain": {"model": "m"}}, changed, options().described()).keep(tmp_path)
    assert BuildPlan.model_validate_json((tmp_path / "build.json").read_bytes()) == plan()
    plan(natural=False).keep(tmp_path / "natural")
    plan(natural=True).keep(tmp_path / "natural")
    with pytest.raises(ConfigError, match="natural was true and is false"):
        plan(natural=False).keep(tmp_path / "natural")
    (tmp_path / "build.json").write_text("{half")
    with pytest.raises(DatasetError, match=r"build\.json"):
        plan().keep(tmp_path)
