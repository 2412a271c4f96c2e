"""Plan of an improvement: which tasks are for what, and a journal that answers what was asked before."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tracer_hooks.budget import Spending
from tracer_hooks.endpoint import Chat, ChatCompletion, ask, estimated_tokens
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement._improvement import ImproveOptions
from tracer_hooks.journal import Journal
from tracer_hooks.schema import Usage
from tracer_hooks.tasks import SuiteTask

FEWEST_TASKS = 16
"""Below it no part is large enough to say anything."""
_SHARES = (0.4, 0.35)
"""Of all tasks, those that propose and those that accept; the rest is never used."""
_FEWEST_HALVED = 12
_FEWEST_COMPARED = 8


@dataclass(frozen=True)
class Split:
    """Tasks in parts that have none in common.

    Attributes:
        propose: Their failures are shown to who writes prompts, and candidates are compared on them.
        accept: New prompts are tried on them against the old ones.
        unused: Run once at the end, for the success before and after.
    """

    propose: tuple[SuiteTask, ...]
    accept: tuple[SuiteTask, ...]
    unused: tuple[SuiteTask, ...]

    @classmethod
    def of(cls, tasks: Sequence[SuiteTask], *, seed: int = 0) -> Split:
        """Deal the tasks out; those with the same text come into the same part."""
        by_text: dict[str, list[SuiteTask]] = {}
        for task in sorted(tasks, key=lambda task: (task.suite, task.id)):
            by_text.setdefault(" ".join(task.text.split()).casefold(), []).append(task)
        if len(by_text) < FEWEST_TASKS:
            raise ConfigError(
                f"{len(by_text)} different tasks are too few to propose prompts on some, accept them on others and "
                f"leave some unused; expected at least {FEWEST_TASKS}, better 60 or more. Add "
                f"{FEWEST_TASKS - len(by_text)} to the file"
            )
        groups = list(by_text.values())
        random.Random(seed).shuffle(groups)
        first = round(_SHARES[0] * len(groups))
        second = first + round(_SHARES[1] * len(groups))
        parts = groups[:first], groups[first:second], groups[second:]
        return cls(*(tuple(task for group in part for task in group) for part in parts))

    @property
    def parts(self) -> tuple[tuple[SuiteTask, ...], ...]:
        """All parts."""
        return self.propose, self.accept, self.unused

    @property
    def sizes(self) -> dict[str, int]:
        """How many tasks each part has."""
        return dict(zip(("propose", "accept", "unused"), map(len, self.parts), strict=True))

    def halves(self) -> tuple[tuple[SuiteTask, ...], tuple[SuiteTask, ...]]:
        """The proposing tasks in two: whose failures are read, and on which candidates are compared.

        Few tasks are not halved, and are compared on twice: a run is a draw, and a handful of draws chooses by chance.
        """
        middle = (len(self.propose) + 1) // 2
        read, compare = self.propose[:middle], self.propose[middle:]
        if len(self.propose) < _FEWEST_HALVED:
            read = compare = self.propose
        return read, compare if len(compare) >= _FEWEST_COMPARED else compare * 2


def digest(value: Any, length: int = 64) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of ``value`` as JSON; lone surrogates are let through."""
    return hashlib.sha256(json.dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def plan_digest(split: Split, options: ImproveOptions, writer: str, *, from_store: bool) -> str:
    """Digest of what may not change from one session of a job to the next."""
    # "blame" was an option: folders that were begun with it are gone on with.
    attributor = getattr(options.attributor, "name", options.attributor)
    return digest(
        {
            "tasks": [[task.suite, task.id, task.text, task.reference] for part in split.parts for task in part],
            "options": [options.metric_calls, options.minibatch, "blame", writer],
            "more": [options.seed, list(options.agents), from_store, attributor, options.feedback],
            "rule": {name: value for name, value in asdict(options.rule).items() if name != "most_pairs"},
        }
    )


class JournaledChat:
    """A :data:`~tracer_hooks.endpoint.Chat` that asks another one, once for each question and number."""

    def __init__(self, chat: Chat, journal: Journal, spending: Spending) -> None:
        self._chat, self._journal, self._spending = chat, journal, spending
        self.usage = Usage()
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, messages: Sequence[dict[str, str]]) -> ChatCompletion:
        """The answer to ``messages``; see :data:`~tracer_hooks.endpoint.Chat`."""
        named = digest(list(messages), 16)
        with self._lock:
            self._asked[named] += 1
            unit = f"chat/{named}/{self._asked[named]}"
        if unit in self._journal:
            kept = self._journal[unit]
            written = ChatCompletion(kept["text"], Usage.model_validate(kept["usage"]))
            self._spending.charge(written.usage)
        else:
            read = sum(estimated_tokens(message["content"]) for message in messages)
            with self._spending.under_way(Usage(input_tokens=read)) as settle:
                written = ask(self._chat, messages)
                self._journal.add(unit, {"text": written.text, "usage": written.usage.model_dump(mode="json")})
                settle(written.usage)
        with self._lock:
            self.usage += written.usage
        return written
