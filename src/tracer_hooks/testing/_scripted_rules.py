"""Which reply a `ScriptedLLM` gives to which request."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

from tracer_hooks.errors import ConfigError
from tracer_hooks.testing._scripted_replies import ReplyLike, check_reply_like
from tracer_hooks.testing._scripted_request import ScriptedRequest

Pattern: TypeAlias = str | re.Pattern[str]
"""A regular expression, searched anywhere in the text; text is compiled without flags."""


@dataclass(frozen=True, kw_only=True)
class When:
    """The requests that a rule answers: all conditions given must hold; none given means every request.

    `When(system="planner", tool_result="42").then("done")`. Raises `ConfigError` when a pattern is no regular
    expression.
    """

    system: Pattern | None = None
    """Searched in the text of the system and developer messages."""

    last: Pattern | None = None
    """Searched in the text of the last message, whoever wrote it."""

    contains: Pattern | None = None
    """Searched in the text of all messages, including names and arguments of tool calls."""

    tool_result: Pattern | None = None
    """Searched in each tool result that came since the model's last reply; `""` means any result."""

    model: Pattern | None = None
    """Searched in the name of the model asked for."""

    agent: str | None = None
    """Name of the agent that asks, in any case (`ScriptedRequest.is_from` says how it is told)."""

    where: Callable[[ScriptedRequest], bool] | None = None
    """Anything else. Called from server threads."""

    def __post_init__(self) -> None:
        """Compile each pattern once, so that a bad one fails where it was written."""
        for field in ("system", "last", "contains", "tool_result", "model"):
            try:
                re.compile(getattr(self, field) or "")
            except (re.error, TypeError) as error:
                given = f"When({field}={getattr(self, field)!r})"
                raise ConfigError(
                    f"{given}: expected a regular expression ({error}); use re.escape for plain text"
                ) from error

    def then(self, *replies: ReplyLike, repeat_last: bool = True) -> Rule:
        """Give the rule that answers these requests with `replies`, in the order of the requests.

        Args:
            replies: Text, answers, or functions from the request to one of them.
            repeat_last: After the last reply, give it again. False: the rule is used up, and the next rule
                that matches answers.

        Raises:
            ConfigError: No reply is given, or one is neither text, nor an answer, nor a function.
        """
        return Rule(self, replies, repeat_last=repeat_last)

    def matches(self, request: ScriptedRequest) -> bool:
        """Tell whether all conditions hold for `request`."""
        return (
            _found(self.system, request.system)
            and _found(self.last, request.last)
            and _found(self.contains, request.text)
            and (self.tool_result is None or any(re.search(self.tool_result, t) for t in request.tool_results))
            and _found(self.model, request.model)
            and (self.agent is None or request.is_from(self.agent))
            and (self.where is None or self.where(request))
        )


@dataclass(frozen=True)
class Rule:
    """A condition and its replies; `When(...).then(...)` makes one.

    It holds no state: several scripts can share it.
    """

    when: When
    """The requests that the rule answers."""

    replies: Sequence[ReplyLike]
    """Replies in the order in which they are given."""

    _: KW_ONLY
    repeat_last: bool = True
    """Whether the last reply is given again and again."""

    def __post_init__(self) -> None:
        """Check each reply where it was written."""
        if not self.replies:
            raise ConfigError(f"{self.when!r}.then(): expected at least one reply")
        for reply in self.replies:
            check_reply_like(reply)


@dataclass(frozen=True)
class Turn:
    """The reply that a script chose for one request."""

    reply: ReplyLike
    """The reply, not yet called when it is a function."""

    key: str
    """Stem of all ids in the answer: `<rule>-<use>`, both from 1, or `<use>` for the ordered replies.

    It counts per rule, so agents that work in parallel get the same ids in every run if they have rules of
    their own.
    """


class Script:
    """Rules with their counters, safe to ask from several threads."""

    def __init__(self, rules: Sequence[Rule], ordered: Sequence[ReplyLike], default: ReplyLike | None) -> None:
        """Take rules first, then the ordered replies, then the default; see `ScriptedLLM`."""
        for rule in rules:
            if not isinstance(rule, Rule):
                raise ConfigError(f"rules: {rule!r} is no rule, expected When(...).then(...)")
        self._rules = [(str(number), rule) for number, rule in enumerate(rules, start=1)]
        if ordered:
            self._rules.append(("", Rule(When(), tuple(ordered), repeat_last=False)))
        if default is not None:
            self._rules.append(("default", Rule(When(), (default,))))
        self._lock = threading.Lock()
        self._uses = [0] * len(self._rules)

    def choose(self, request: ScriptedRequest) -> Turn | None:
        """Give the reply of the first rule that matches `request` and is not used up, or None."""
        matching = [i for i, (_, rule) in enumerate(self._rules) if rule.when.matches(request)]
        with self._lock:
            for i in matching:
                label, rule = self._rules[i]
                use = self._uses[i]
                if use < len(rule.replies) or rule.repeat_last:
                    self._uses[i] += 1
                    key = f"{label}-{use + 1}" if label else str(use + 1)
                    return Turn(rule.replies[min(use, len(rule.replies) - 1)], key)
        return None

    def used_up(self, request: ScriptedRequest) -> int:
        """Give how many rules match `request` but have no reply left."""
        return sum(rule.when.matches(request) and not rule.repeat_last for _, rule in self._rules)

    def reset(self) -> None:
        """Start every rule at its first reply again."""
        with self._lock:
            self._uses = [0] * len(self._rules)


def _found(pattern: Pattern | None, text: str) -> bool:
    return pattern is None or re.search(pattern, text) is not None
