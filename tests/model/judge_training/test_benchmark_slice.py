"""The benchmark of a trained judge, on a model of some thousand weights."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

from tracer_hooks.attribution import JudgeOptions
from tracer_hooks.attribution._judge._local import LocalChat
from tracer_hooks.attribution.teaching import prompt_ids
from tracer_hooks.endpoint import ChatRequest
from tracer_hooks.schema import save_jsonl
from tracer_hooks.training._answers import answer_in, reply
from tracer_hooks.training.data import JudgeTaskOptions, read_labeled

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """A module of the benchmarks by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def two_teams(run_of, tmp_path):
    """Labelled runs of a team and of another one."""
    path = tmp_path / "labeled.jsonl"
    teams = [("trio", range(24)), ("others", range(100, 108))]
    save_jsonl(path, [run_of(number, step_label=False, team=team) for team, numbers in teams for number in numbers])
    return path


def test_reading_a_shared_beginning_once_changes_no_reply(module, tiny_chat, labels):
    answers, parts = module("_judge_answers"), module("_judge_parts")
    asked = JudgeTaskOptions(task="shortlist", context_tokens=3072, reply_tokens=32)
    reader = answers.Reader(tiny_chat, torch.float32)
    plain = LocalChat(JudgeOptions(model=str(tiny_chat), context_tokens=3072))
    rows = read_labeled([labels]).rows
    asked_of = [parts.questions_of(row, asked, lambda text: len(reader.tokenizer.encode(text))) for row in rows]
    for questions in [one for one in asked_of if one][:2]:
        steps = tuple(sorted(questions[0].options))
        choice = parts.Choice(
            run="1",
            question=0,
            team="trio",
            steps=steps,
            weights=(0.4, 0.3, 0.3),
            agents=("a", "b", "c"),
            right=(True, False, False),
        )
        found = reader.answers(choice, questions, 32)
        for one, question in zip(found, questions, strict=True):
            text = reply(plain._model, plain._tokenizer, prompt_ids(plain._tokenizer, question.messages), max_tokens=32)
            told = answer_in(text, question)
            assert one.letter == (None if told is None else question.options.index(told.step))
            assert [steps[place] for place in one.order] == list(question.options)
            request = ChatRequest(
                messages=question.messages, labels=("A", "B", "C"), schema={}, schema_name="x", max_tokens=32
            )
            expected = plain.complete(request).label_logprobs
            assert one.logprobs == pytest.approx([expected[letter] for letter in "ABC"], abs=1e-3)


def test_a_slice_goes_on_where_it_stopped(module, monkeypatch, capsys, two_teams, tiny_chat, tmp_path):
    slice_ = module("judge_training")
    given = ["--data", two_teams, "--model", tiny_chat, "--out", tmp_path / "out", "--leave-out", "others"]
    given += ["--sft-runs", 3, "--grpo-runs", 1, "--tested-runs", 2, "--context-tokens", 3072, "--rollouts", 2]
    monkeypatch.setattr(sys, "argv", ["judge_training.py", *map(str, given)])
    slice_.main()
    first = capsys.readouterr().out
    document = json.loads((tmp_path / "out" / "judge_training.json").read_text())
    tested = {name: {one["run"] for one in part["choices"]} for name, part in document["parts"].items()}
    assert not (tested["sft"] | tested["grpo"]) & (tested["other questions"] | tested["team left out"])
    assert {one["team"] for one in document["parts"]["team left out"]["choices"]} == {"others"}
    assert all(one["team"] == "trio" for one in document["parts"]["other questions"]["choices"])
    assert (
        document["training"]["after SFT"]["stopped"] == document["training"]["after SFT and GRPO"]["stopped"] == "done"
    )
    monkeypatch.setattr(slice_, "Reader", None)  # nothing is asked again
    monkeypatch.setattr(slice_, "train_sft", None)
    monkeypatch.setattr(slice_, "train_grpo", None)
    slice_.main()
    assert capsys.readouterr().out == first
    assert "| after SFT and GRPO |" in first
