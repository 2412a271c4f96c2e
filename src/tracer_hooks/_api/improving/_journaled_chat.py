"""A language model whose answers are kept, so that a job that begins again gets the same ones."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from tracer_hooks._api.improving._digest import digest
from tracer_hooks.budget import Spending
from tracer_hooks.endpoint import Chat, ChatCompletion, ask
from tracer_hooks.errors import BudgetSpentError
from tracer_hooks.journal import Journal
from tracer_hooks.schema import Usage


class JournaledChat:
    """A :data:`~tracer_hooks.endpoint.Chat` that asks another one, once for each question and number.

    Args:
        chat: Asks the model.
        journal: Where answers are kept.
        spending: What may be spent, and what was.

    Attributes:
        usage: Tokens of all answers so far, those from the journal included.
    """

    def __init__(self, chat: Chat, journal: Journal, spending: Spending) -> None:
        self._chat, self._journal, self._spending = chat, journal, spending
        self.usage = Usage()
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, messages: Sequence[dict[str, str]]) -> ChatCompletion:
        """The answer to ``messages``; see :data:`~tracer_hooks.endpoint.Chat`.

        Raises:
            BudgetSpentError: What it may cost is spent.
        """
        named = digest(list(messages), 16)
        with self._lock:
            self._asked[named] += 1
            unit = f"chat/{named}/{self._asked[named]}"
        if unit in self._journal:
            kept = self._journal[unit]
            written = ChatCompletion(kept["text"], Usage.model_validate(kept["usage"]))
        else:
            if self._spending.refusal is not None:
                raise BudgetSpentError(f"the budget is spent: {self._spending.refusal}")
            written = ask(self._chat, messages)
            self._journal.add(unit, {"text": written.text, "usage": written.usage.model_dump(mode="json")})
        with self._lock:
            self.usage += written.usage
        self._spending.charge(written.usage)
        return written
