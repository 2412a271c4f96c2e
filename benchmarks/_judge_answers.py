"""What a language model answers to the same question in three orders, without computing a shared beginning twice."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from _judge_parts import Choice
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from tracer_hooks.attribution._judge._local import CHOICE_PREFIX
from tracer_hooks.attribution.teaching import base_of, choice_reply, prompt_ids
from tracer_hooks.training._answers import answer_in
from tracer_hooks.training.data import PromptRow

LETTERS = "ABC"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The reply to one order of the options."""

    order: tuple[int, ...]
    """The place among `structural`'s three of the option behind each letter."""
    letter: int | None
    """The letter of the greedy reply; None for a reply that the judge would not accept."""
    logprobs: tuple[float, ...]
    """Of each letter, where the reply stands at its letter; they need not sum to one."""


class Reader:
    """Reads prompts greedily and keeps what it has read of a prompt for the next one that begins alike.

    Args:
        folder: A model of transformers, or a LoRA adapter beside one.
        dtype: Of the weights; the same for every model that is compared.
    """

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        base = base_of(folder)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModelForCausalLM.from_pretrained(base or folder, local_files_only=True, dtype=dtype)
        if base is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
        self._model = with_exact_head(model.eval())
        self._cache = DynamicCache()
        self._read: list[int] = []

    def answers(self, choice: Choice, rows: Sequence[PromptRow], most: int) -> list[Answer]:
        """One answer for each order of the options."""
        letters = [int(self.tokenizer.encode(letter, add_special_tokens=False)[0]) for letter in LETTERS]
        found = []
        for row in rows:
            told = answer_in(self._reply(prompt_ids(self.tokenizer, row.messages), most), row)
            at_letter = self.after(prompt_ids(self.tokenizer, row.messages, CHOICE_PREFIX))[0]
            found.append(
                Answer(
                    order=tuple(choice.steps.index(step) for step in row.options if step is not None),
                    letter=None if told is None else row.options.index(told.step),
                    logprobs=tuple(round(float(at_letter[token]), 4) for token in letters),
                )
            )
        return found

    def after(self, ids: Sequence[int], guess: Sequence[int] = ()) -> torch.Tensor:
        """Log-probabilities of the token after ``ids``, and after each token of a guess how it goes on."""
        same = _shared(self._read, ids[:-1])
        self._cache.crop(same - len(self._read))  # as many as are not shared, as a negative number
        given = [*ids[same:], *guess]
        with torch.inference_mode():
            told = self._model(
                input_ids=torch.tensor([given]),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=len(guess) + 1,
            )
        self._cache, self._read = told.past_key_values, [*ids, *guess]
        return torch.log_softmax(told.logits[0].float(), dim=-1)

    def _reply(self, prompt: Sequence[int], most: int) -> str:
        """The greedy reply; what a usual reply would say is read at once, and kept as far as it is what comes."""
        usual = [self.tokenizer.encode(choice_reply(letter), add_special_tokens=False) for letter in LETTERS]
        said: list[int] = []
        while len(said) < most:
            guess = common_guess(usual, said)
            for place, token in enumerate(self.after([*prompt, *said], guess).argmax(dim=-1).tolist()):
                if token == self.tokenizer.eos_token_id:
                    return str(self.tokenizer.decode(said, skip_special_tokens=True))
                said.append(token)
                if place < len(guess) and token != guess[place]:
                    break
        return str(self.tokenizer.decode(said[:most], skip_special_tokens=True))


def with_exact_head(model: Any) -> Any:
    """The model with the last layer in float32: in bfloat16 letters of nearly the same likelihood come out the same."""
    head = copy.deepcopy(model.get_output_embeddings()).float()
    head.register_forward_pre_hook(lambda module, given: (given[0].float(),))
    model.set_output_embeddings(head)
    return model


def common_guess(usual: Sequence[Sequence[int]], said: Sequence[int]) -> list[int]:
    """How all usual replies go on that begin with what was said; nothing where they differ, or none does."""
    rests = [list(one[len(said) :]) for one in usual if list(one[: len(said)]) == list(said)]
    if not rests:
        return []
    return rests[0][: min(_shared(rests[0], rest) for rest in rests)]


def ask_all(
    reader: Callable[[], Reader],
    asked: Sequence[tuple[Choice, Callable[[Reader], Sequence[PromptRow]]]],
    journal: Path,
    most: int,
) -> dict[str, list[Answer]]:
    """The answers to every choice by its run; those that stand in the journal are not asked again.

    Args:
        reader: Loads the model; not called when nothing is left to ask.
        asked: Each choice with what makes its questions.
        journal: JSON lines; a run is one line.
        most: Tokens of a reply.
    """
    known = dict(_read_journal(journal))
    left = [(choice, rows) for choice, rows in asked if choice.run not in known]
    if left:
        model = reader()
        with journal.open("a", encoding="utf-8") as out:
            for choice, rows in left:
                known[choice.run] = model.answers(choice, rows(model), most)
                line = {"run": choice.run, "answers": [asdict(one) for one in known[choice.run]]}
                print(json.dumps(line), file=out, flush=True)
    return {choice.run: known[choice.run] for choice, _ in asked}


def as_answers(told: Sequence[dict[str, Any]]) -> list[Answer]:
    """Answers as they stand in a JSON document."""
    return [Answer(order=tuple(one["order"]), letter=one["letter"], logprobs=tuple(one["logprobs"])) for one in told]


def _read_journal(journal: Path) -> Iterator[tuple[str, list[Answer]]]:
    if not journal.exists():
        return
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            one = json.loads(line)
        except ValueError:  # the line that a stopped process left unfinished
            continue
        yield one["run"], as_answers(one["answers"])


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts begin with alike."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
