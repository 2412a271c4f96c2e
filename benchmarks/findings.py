"""How often each kind of finding is told, how often the step that it blames is the labelled one, and false alarms.

    python benchmarks/findings.py --public DIR [--unread | --labels | --speed] [--json OUT]

``DIR`` holds ``whowhen-dev``, ``aegis`` and ``tau2/runs.jsonl.xz``. The attributor is told that a run failed and nothing
else. Beside each share stands that of a step drawn at random. These are development data: the kinds were written on
them. ``--unread`` measures what is said of runs that nobody tuned on (``data/findings/unread``), with 95 % Wilson
intervals, ``--labels`` the graded half that was held out, and ``--speed`` processor time by size of run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from _contrast_tau2 import read_tasks
from _finding_runs import FINDINGS, UnreadRun, folded, load_runs, unread_runs
from _planted_tau2 import plant_values
from contrast_dev import SEED

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import diagnose_trajectory, findings_of
from tracer_hooks.replay import wilson
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory

HERE = Path(__file__).parent
Labelled = Iterator[tuple[Trajectory, int]]
Answered = Sequence[tuple[UnreadRun, Attribution]]
SURE = ("likely", "clear")
NEAR = 2
"""Steps that made-up data may be told beside the labelled one: a log has the same code as a plan, a call and a run."""


def labelled(*places: Path, **options: Any) -> Labelled:
    """Failed runs with the index of their decisive step, without the expected answer."""
    for place in places:
        for read in load(place, **options):
            found = read.labeled
            if found is not None and found.decisive is not None and found.trajectory.outcome is RunOutcome.FAILED:
                yield found.trajectory.model_copy(update={"reference": None}), found.decisive.step


def planted(public: Path) -> Labelled:
    """Values planted in passing runs of tau2, of tasks held out."""
    tasks = [task for task in read_tasks(public / "tau2/runs.jsonl.xz", merged=True) if task.is_held_out]
    for case in plant_values(tasks, per_run=2, seed=SEED):
        yield case.trajectory, case.step


def figures(runs: Labelled) -> dict[str, Any]:
    """Counts by certainty and by kind."""
    certainty: Counter[str] = Counter()
    right: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    count, chance = 0, 0.0
    for run, step in runs:
        count, chance = count + 1, chance + 1 / len(run.steps)
        answer = diagnose_trajectory(run)
        word = answer.certainty or "nobody named"
        certainty[word] += 1
        right[word] += answer.step == step
        for found in answer.findings:
            own = kinds.setdefault(f"{found.kind.value} {found.detail}".strip(), Counter())
            own.update(told=1, leads=found.leads_to_answer, right=found.leads_to_answer and found.step == step)
    shares = {word: {"right": right[word], "of": certainty[word]} for word in sorted(certainty)}
    return {"runs": count, "at random": round(chance / max(1, count), 3), "certainty": shares, "kinds": kinds}


def alarms(runs: Iterable[Trajectory]) -> dict[str, int]:
    """Passing runs, and those of them with a finding."""
    told = [bool(findings_of(run)) for run in runs if run.outcome is RunOutcome.SUCCEEDED]
    return {"runs": len(told), "with a finding": sum(told)}


def share(right: int, of: int) -> str:
    """A share with its 95 % Wilson interval."""
    low, high = wilson(right, of) if of else (0.0, 1.0)
    return f"{right} of {of} ({low:.0%} to {high:.0%})"


def wanted(label: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Kinds with the details that the reader accepts, none where nothing is to be told; what is in doubt is left out."""
    if "by_itself" not in label["ending"] or len(label["ending"]) == 1:
        yield "ending", [detail for detail in label["ending"] if detail != "by_itself"]
    if label["made_up"] != "unsure":
        yield "made_up_data", ["made_up"] if label["made_up"] == "yes" else []
    yield "answer_origin", label["origin"]


def judged(one: UnreadRun, answer: Attribution) -> Iterator[tuple[str, list[str], str, bool]]:
    """Each kind with the details that are accepted, the one that is told, and whether it is right."""
    for kind, details in wanted(one.label):
        told = [(found.detail, found.step) for found in answer.findings if found.kind.value == kind]
        if kind == "made_up_data":
            near = [step is not None and abs(step - (one.label["step"] or 0)) <= NEAR for _, step in told]
            yield kind, details, "made_up" if told else "", bool(details) and any(near)
        else:
            right = [detail for detail, _ in told if detail in details]
            yield kind, details, next(iter([*right, *(detail for detail, _ in told)]), ""), bool(right)


def said(rows: Answered) -> dict[str, Any]:
    """Recall and precision by kind and detail, beside the commonest detail said of every run."""
    every = [each for one, answer in rows for each in judged(one, answer)]
    table: dict[str, Any] = {}
    for kind in dict.fromkeys(each[0] for each in every):
        own = [each[1:] for each in every if each[0] == kind]
        commonest = Counter(details[0] for details, _, _ in own if details).most_common(1)[0][0]
        guessed, labels = (
            sum(commonest in details for details, _, _ in own),
            sum(bool(details) for details, _, _ in own),
        )
        table[kind] = {
            "recall": share(sum(right for *_, right in own), labels),
            "precision": share(sum(right for *_, right in own), sum(bool(told) for _, told, _ in own)),
            f"{commonest!r} always": f"{share(guessed, labels)}, {share(guessed, len(own))}",
        }
        for detail in sorted(
            {*(details[0] for details, _, _ in own if details), *(told for _, told, _ in own if told)}
        ):
            labelled_so = [right for details, _, right in own if details[:1] == [detail]]
            told_so = [right for _, told, right in own if told == detail]
            table[f"{kind} {detail}"] = {
                "recall": share(sum(labelled_so), len(labelled_so)),
                "precision": share(sum(told_so), len(told_so)),
            }
    return table


def is_right(one: UnreadRun, answer: Attribution) -> bool:
    """Tell whether the agent at fault is named, and of a planted value the step too."""
    return folded(answer.agent) in one.at_fault and ("ending" in one.label or answer.step == one.label.get("step"))


def told_more(one: UnreadRun) -> dict[str, Attribution]:
    """Diagnoses by what is told beside the failure."""
    bare = one.run.model_copy(update={"reference": None})
    answers = {"nothing": diagnose_trajectory(bare)}
    if (expected := one.label.get("expected")) is not None:
        reason = f"check: expected {expected!r}, got {one.run.final_output!r}"
        answers["expected"] = diagnose_trajectory(bare, reference=expected)
        answers["reason"] = diagnose_trajectory(bare.model_copy(update={"outcome_reason": reason}))
    return answers


def unread(public: Path) -> dict[str, Any]:
    """What is said of runs that nobody tuned on, and what telling more does."""
    runs = [(one, told_more(one)) for one in unread_runs(public)]
    parts = {
        part: [(one, ways) for one, ways in runs if one.part == part] for part in ("aegis", "own", "planted", "clean")
    }
    found: dict[str, Any] = {
        name: said([(one, ways["nothing"]) for part in some for one, ways in parts[part]])
        for name, some in {"aegis and own": ("aegis", "own"), "aegis": ("aegis",), "own": ("own",)}.items()
    }
    ends = [any(each.kind.value == "ending" for each in ways["nothing"].findings) for _, ways in parts["clean"]]
    found["clean runs with an ending"] = share(sum(ends), len(ends))
    for name, rows in {
        "planted, scripted": [row for row in parts["planted"] if "expected" in row[0].label],
        "planted, tau2": [row for row in parts["planted"] if "expected" not in row[0].label],
        **{part: parts[part] for part in ("aegis", "own", "clean")},
    }.items():
        found[name + ", named"] = {}
        for way in ("nothing", "expected", "reason"):
            told = [(one, ways["nothing"], ways[way]) for one, ways in rows if way in ways]
            sure = [(one, answer) for one, _, answer in told if answer.certainty in SURE and answer.agent is not None]
            known = [(one, answer) for one, bare, answer in told if bare.certainty in SURE and is_right(one, bare)]
            kept = sum(answer.certainty in SURE and is_right(one, answer) for one, answer in known)
            found[name + ", named"][f"told {way}"] = {
                "likely or clear": share(len(sure), len(told)),
                "right": share(sum(is_right(one, answer) for one, answer in sure), len(sure)),
                "innocent": share(sum(folded(answer.agent) not in one.at_fault for one, answer in sure), len(sure)),
                "right with nothing told, and kept": share(kept, len(known)),
                "right by chance": f"{sum(by_chance(one) for one, _, _ in told) / max(1, len(told)):.0%}",
            }
    return found


def by_chance(one: UnreadRun) -> float:
    """How often a step drawn at random is the planted one, or an agent drawn at random one at fault."""
    if "ending" not in one.label:
        return 1 / len(one.run.steps) if one.at_fault else 0.0
    agents = {folded(agent) for agent in one.run.agent_names}
    return len(agents & one.at_fault) / max(1, len(agents))


def graded(public: Path) -> dict[str, Any]:
    """Figures of the held-out half of the graded set, against the labels of its two readers."""
    labels: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for reader in "ab":
        for line in map(json.loads, (FINDINGS / f"labels-{reader}.jsonl").open("rt")):
            labels[line["run_id"]].append(line)
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in load_runs(public, "held_out"):
        notes = labels[run.run_id]
        steps = {place["step"] for note in notes for place in note["decisive"]}
        if not steps:
            continue
        answer = diagnose_trajectory(run.model_copy(update={"reference": None}), reference=run.reference)
        innocent = {agent for note in notes for agent in note["innocent"]}
        table[str(answer.certainty)].update(runs=1, step=answer.step in steps, innocent=answer.agent in innocent)
        for told in answer.findings:
            facts = [fact["step"] for note in notes for fact in note["facts"] if fact["kind"] == told.kind.value]
            near = any(None in (step, told.step) or abs(step - (told.step or 0)) <= 1 for step in facts)
            table[told.kind.value].update(told=1, labelled=near)
    return {name: dict(counts) for name, counts in table.items()}


def speed(public: Path) -> dict[str, str]:
    """Median and longest processor time by size of run, the best of five of each run."""
    failed = [run for run in load_runs(public, "dev") if run.outcome is RunOutcome.FAILED]
    table = {}
    for least, most in ((1, 10), (11, 40), (91, 1_000)):
        for look in (diagnose_trajectory, findings_of):
            best = []
            for run in failed:
                if least <= len(run.steps) <= most:
                    best.append(min(seconds(look, run.model_copy(deep=True)) for _ in range(5)) * 1_000)
            name = f"{least} to {most} steps, {look.__name__}"
            table[name] = f"{len(best)} runs, median {statistics.median(best):.1f} ms, most {max(best):.1f} ms"
    return table


def seconds(look: Callable[[Trajectory], Any], run: Trajectory) -> float:
    """Processor time of one look at a run."""
    began = time.process_time()
    look(run)
    return time.process_time() - began


def development(public: Path) -> dict[str, Any]:
    """Figures of development data, printed as a table."""
    folders = [public / "whowhen-dev" / name for name in ("Algorithm-Generated", "Hand-Crafted")]
    passing = (record.trajectory for record in load(public / "tau2/runs.jsonl.xz"))
    found = {
        "Who&When, development half": figures(labelled(*folders, format="whowhen")),
        "recorded failures of small teams": figures(labelled(HERE / "data/real_failures/real_failures.parquet")),
        "values planted in tau2": figures(planted(public)),
        "passing runs of tau2": alarms(run for run in passing if run is not None),
        "passing runs of the own set": alarms(load_runs(None, "dev") + load_runs(None, "held_out")),
    }
    for name, table in found.items():
        print(f"{name}: {table['runs']} runs")
        for word, share in table.get("certainty", {}).items():
            print(f"  {word:<14}{share['right']:>4} of {share['of']:<4} right (at random {table['at random']:.0%})")
        for kind, counts in sorted(table.get("kinds", {}).items()):
            print(f"  {kind:<34} told {counts['told']:>3}, leading {counts['leads']:>3}, right {counts['right']:>3}")
        if "with a finding" in table:
            print(f"  with a finding: {table['with a finding']}")
    return found


def main() -> None:
    """Measure what is asked for, print it, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    for name in (measures := {"unread": unread, "labels": graded, "speed": speed}):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    chosen = [measure for name, measure in measures.items() if getattr(asked, name)]
    found = {key: value for measure in chosen for key, value in measure(asked.public).items()}
    if chosen:
        print(json.dumps(found, indent=1))
    else:
        found = development(asked.public)
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
