"""How often each kind of finding is told, how often the step that it blames is the labelled one, and false alarms.

    python benchmarks/findings.py --public DIR [--unread | --labels | --speed] [--json OUT]

``DIR`` holds ``whowhen-dev``, ``aegis`` and ``tau2``. The attributor is told that a run failed and nothing else; beside
each share stands that of a step drawn at random. These are development data: the kinds were written on them.
``--unread`` measures what is said of runs that nobody tuned on (``data/findings/unread``), with 95 % Wilson intervals,
``--labels`` the graded half that was held out, ``--speed`` processor time by size of run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
import timeit
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from _contrast_tau2 import read_tasks
from _finding_runs import FINDINGS, load_runs, unread_runs
from _planted_tau2 import plant_values
from contrast_dev import SEED

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import diagnose_trajectory, findings_of
from tracer_hooks.evaluation._cases import fold_name
from tracer_hooks.replay import wilson
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory

HERE = Path(__file__).parent
Labelled = Iterator[tuple[Trajectory, int]]
Label = dict[str, Any]
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


def judged(label: Label, answer: Attribution) -> Iterator[tuple[str, list[str], str, bool]]:
    """Each kind with the details accepted by the reader, the one told, and whether it is right; doubts are left out."""
    accepted = {"ending": label["ending"], "answer_origin": label["origin"], "made_up_data": ["near the step"]}
    if "by_itself" in label["ending"]:
        accepted["ending"] = [] if label["ending"] == ["by_itself"] else None
    if label["made_up"] != "yes":
        accepted["made_up_data"] = [] if label["made_up"] == "no" else None
    for kind, details in accepted.items():
        found = [each for each in answer.findings if each.kind.value == kind]
        told = [each.detail for each in found]
        if kind == "made_up_data":
            near = [abs((each.step or 0) - (label["step"] or 0)) <= NEAR for each in found]
            told = ["near the step" if close else "elsewhere" for close in near]
        if details is not None:
            right = [word for word in told if word in details]
            yield kind, details, next(iter(right + told), ""), bool(right)


def said(rows: Iterable[tuple[Label, Attribution]]) -> dict[str, str]:
    """Recall and precision by kind and detail, beside the commonest detail said of every run."""
    every = [each for label, answer in rows for each in judged(label, answer)]
    table = {}
    for kind in dict.fromkeys(each[0] for each in every):
        own = [each[1:] for each in every if each[0] == kind]
        labels = [details for details, _, _ in own if details]
        commonest = Counter(details[0] for details in labels).most_common(1)[0][0]
        guessed = sum(commonest in details for details in labels)
        figures = f"recall {share(guessed, len(labels))}, precision {share(guessed, len(own))}"
        table[f"{kind}, always {commonest!r}"] = figures
        for name in ("", *sorted({details[0] for details in labels} | {told for _, told, _ in own if told})):
            wanted = [right for details, _, right in own if details and name in ("", details[0])]
            told_so = [right for _, told, right in own if told and name in ("", told)]
            figures = f"recall {share(sum(wanted), len(wanted))}, precision {share(sum(told_so), len(told_so))}"
            table[f"{kind} {name}".strip()] = figures
    return table


def is_right(label: Label, answer: Attribution) -> bool:
    """Tell whether an agent at fault is named as sure, and of a planted value its step too."""
    named = answer.certainty in SURE and fold_name(answer.agent or "") in label["at_fault"]
    return named and (label["part"] not in ("scripted", "tau2") or answer.step == label["step"])


def told_more(run: Trajectory, label: Label) -> dict[str, Attribution]:
    """Diagnoses by what is told beside the failure."""
    bare = run.model_copy(update={"reference": None})
    answers = {"nothing": diagnose_trajectory(bare)}
    if (expected := label.get("expected")) is not None:
        reason = f"check: expected {expected!r}, got {run.final_output!r}"
        answers["expected"] = diagnose_trajectory(bare, reference=expected)
        answers["reason"] = diagnose_trajectory(bare.model_copy(update={"outcome_reason": reason}))
    return answers


def unread(public: Path) -> dict[str, Any]:
    """What is said of runs that nobody tuned on, and what telling more does."""
    parts: defaultdict[str, list[tuple[Label, dict[str, Attribution]]]] = defaultdict(list)
    for run, label in unread_runs(public):
        agents = {fold_name(agent) for agent in run.agent_names}
        by_chance = len(agents.intersection(label["at_fault"])) / max(1, len(agents))
        parts[label["part"]].append((label | {"by_chance": by_chance}, told_more(run, label)))
    natural = {part: [(label, ways["nothing"]) for label, ways in parts[part]] for part in ("aegis", "own")}
    found: dict[str, Any] = {"said": said(natural["aegis"] + natural["own"])}
    found |= {f"said of {part}": said(rows) for part, rows in natural.items()}
    ends = [any(each.kind.value == "ending" for each in ways["nothing"].findings) for _, ways in parts["clean"]]
    found["clean runs with an ending"] = share(sum(ends), len(ends))
    for part, way in itertools.product(parts, ("nothing", "expected", "reason")):
        told = [(label, ways["nothing"], ways[way]) for label, ways in parts[part] if way in ways]
        sure = [(label, answer) for label, _, answer in told if answer.certainty in SURE and answer.agent is not None]
        before = [(label, answer) for label, bare, answer in told if is_right(label, bare)]
        innocent = [fold_name(answer.agent or "") not in label["at_fault"] for label, answer in sure]
        if told:
            found[f"{part}, told {way}"] = {
                "likely or clear": share(len(sure), len(told)),
                "right": share(sum(is_right(*each) for each in sure), len(sure)),
                "innocent": share(sum(innocent), len(sure)),
                "right with nothing told, and still": share(sum(is_right(*each) for each in before), len(before)),
                "an agent at random is right": f"{statistics.fmean(label['by_chance'] for label, *_ in told):.0%}",
            }
    return found


def graded(public: Path) -> dict[str, Any]:
    """Counts on the held-out half of the graded set, against the labels of its two readers."""
    labels: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (json.loads(line) for reader in "ab" for line in (FINDINGS / f"labels-{reader}.jsonl").open("rt")):
        labels[line["run_id"]].append(line)
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in load_runs(public, "held_out"):
        notes = labels[run.run_id]
        if steps := {place["step"] for note in notes for place in note["decisive"]}:
            answer = diagnose_trajectory(run.model_copy(update={"reference": None}), reference=run.reference)
            innocent = {agent for note in notes for agent in note["innocent"]}
            table[str(answer.certainty)].update(runs=1, step=answer.step in steps, innocent=answer.agent in innocent)
            for told in answer.findings:
                places = [fact["step"] for note in notes for fact in note["facts"] if fact["kind"] == told.kind.value]
                near = any(None in (step, told.step) or abs(step - (told.step or 0)) <= 1 for step in places)
                table[told.kind.value].update(told=1, labelled=near)
    return {name: dict(counts) for name, counts in table.items()}


def speed(public: Path) -> dict[str, str]:
    """Median and longest processor time by size of run, the best of five of each run."""
    failed = [run for run in load_runs(public, "dev") if run.outcome is RunOutcome.FAILED]
    table = {}
    for least, most in ((1, 10), (11, 40), (91, 1_000)):
        sized = [run for run in failed if least <= len(run.steps) <= most]
        for look in (diagnose_trajectory, findings_of):
            best = []
            for copies in ([run.model_copy(deep=True) for _ in range(5)] for run in sized):
                spent = timeit.repeat(lambda: look(copies.pop()), timer=time.process_time, number=1, repeat=5)  # noqa: B023
                best.append(min(spent) * 1_000)
            figures = f"{len(best)} runs, median {statistics.median(best):.1f} ms, most {max(best):.1f} ms"
            table[f"{least} to {most} steps, {look.__name__}"] = figures
    return table


def development(public: Path) -> dict[str, Any]:
    """Figures of development data."""
    folders = [public / "whowhen-dev" / name for name in ("Algorithm-Generated", "Hand-Crafted")]
    passing = (record.trajectory for record in load(public / "tau2/runs.jsonl.xz"))
    return {
        "Who&When, development half": figures(labelled(*folders, format="whowhen")),
        "recorded failures of small teams": figures(labelled(HERE / "data/real_failures/real_failures.parquet")),
        "values planted in tau2": figures(planted(public)),
        "passing runs of tau2": alarms(run for run in passing if run is not None),
        "passing runs of the own set": alarms(load_runs(None, "dev") + load_runs(None, "held_out")),
    }


def main() -> None:
    """Measure what is asked for, print it, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    for name in (measures := {"unread": unread, "labels": graded, "speed": speed}):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    chosen = [measure for name, measure in measures.items() if getattr(asked, name)] or [development]
    found = {key: value for measure in chosen for key, value in measure(asked.public).items()}
    print(json.dumps(found, indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
