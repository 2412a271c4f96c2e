"""Other instructions for an agent, put into what its model is asked: the team itself stays as it is.

What an agent is told may be a part of its system message only: CrewAI's is made of role, backstory, goal and the form
of tool calls. So the team's own text is looked for in the messages, and the new one takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tracer_hooks.frameworks._intervention import Intervention, ModelRequest
from tracer_hooks.telemetry import message_text, text_message

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*)\}")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")


def with_instructions(request: ModelRequest, text: str, *, covert: bool = False) -> ModelRequest | None:
    """``request`` with ``text`` in the place of the agent's instructions.

    These are :attr:`ModelRequest.told`, wherever they stand: in a system message, else in one of the user's. Where they
    are not known, they are the whole system message. Where there are none, ``text`` comes before the first message's:
    no adapter can add a message. Placeholders such as ``{topic}``, which a framework fills in, are filled in as in the
    text that was there.

    Args:
        request: What the model is about to be asked.
        text: The new instructions.
        covert: Whether the record keeps what was asked without the change.

    Returns:
        The request itself where ``text`` stands in it already; None where the request does not carry the agent's
        instructions, as one for another purpose does not.
    """
    found = _place_of(request, text)
    if found is not None:
        place, body, present, is_there = found
        if is_there:
            return request
        return _changed(request, place, present.put(body, text), text, covert=covert)
    if any(known.strip() for known in request.told) or not request.messages:
        return None
    system = next((i for i, message in enumerate(request.messages) if message.get("role") == "system"), None)
    if system is not None and not request.told:
        return _changed(request, system, text, text, covert=covert)
    first = system or 0
    body = message_text(request.messages[first])
    return _changed(request, first, f"{text}\n\n{body}".strip(), text, covert=covert)


def own_instructions(request: ModelRequest) -> str:
    """Give the team's own instructions: what is known of them, else the system message; empty where there is none."""
    if request.told:
        return request.told[0]
    system = next((message for message in request.messages if message.get("role") == "system"), None)
    return message_text(system) if system is not None else ""


@dataclass
class RewriteInstructions(Intervention):
    """Tells the named agents other instructions in every model request; see :func:`with_instructions`."""

    instructions: Mapping[str, str]

    def rewritten(self, agent: str, own: str) -> str | None:
        """Give the instructions for ``agent`` in place of the team's ``own``; None to leave those."""
        return self.instructions.get(agent)

    def noted(self, agent: str, *, is_told: bool) -> None:
        """Called with every request of an agent that is to be told something else: whether it is."""

    def informed(self, request: ModelRequest) -> ModelRequest:
        """``request`` with what is known of the agent's instructions; where nothing is, they are its system message."""
        return request

    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        text = self.rewritten(request.agent, own_instructions(request))
        if text is None:
            return None
        known = self.informed(request)
        changed = with_instructions(known, text)
        self.noted(request.agent, is_told=changed is not None)
        return None if changed is known else changed


def rewritten_instructions(intervention: Any, agent: str, own: str) -> str:
    """Give the instructions that ``intervention`` has for ``agent``, for teams that ask before they write a request."""
    text = own
    if isinstance(intervention, RewriteInstructions):
        text = intervention.rewritten(agent, own) or own
    for part in getattr(intervention, "parts", ()):
        text = rewritten_instructions(part, agent, text)
    return text


class _FoundInstructions(NamedTuple):
    """Place of instructions in a text, and the values for their placeholders."""

    start: int
    end: int
    values: Mapping[str, str]

    def put(self, body: str, text: str) -> str:
        filled = _PLACEHOLDER.sub(lambda found: self.values.get(found[1], found[0]), text)
        return body[: self.start] + filled + body[self.end :]


def _place_of(request: ModelRequest, text: str) -> tuple[int, str, _FoundInstructions, bool] | None:
    """The message that holds the instructions, where in it they stand, and whether they are ``text`` already.

    The longest first: a new text often holds the one whose place it takes.
    """
    known = sorted({known for known in (*request.told, text) if known.strip()}, key=len, reverse=True)
    bodies = (
        (place, message_text(message))
        for role in ("system", "user")
        for place, message in enumerate(request.messages)
        if message.get("role") == role
    )
    for place, body in bodies:
        for wanted in known:
            if (present := _find(wanted.strip(), body)) is not None:
                values = present.values or _placeholder_values(wanted, known)
                return place, body, present._replace(values=values), wanted == text
    return None


def _placeholder_values(text: str, known: Sequence[str]) -> Mapping[str, str]:
    """The values for placeholders, where ``text`` is a template among ``known`` that was filled in."""
    for template in known:
        if template != text and _PLACEHOLDER.search(template):
            found = re.fullmatch(_pattern(template.strip()), text.strip(), re.DOTALL)
            if found is not None:
                return {name: found[f"p{i}"] for i, name in enumerate(_names(template))}
    return {}


def _find(wanted: str, body: str) -> _FoundInstructions | None:
    """The passage ``wanted`` in ``body``, first as it is, then with its placeholders filled in."""
    if wanted in body:
        spots = [found.span() for found in re.finditer(_whole_words(re.escape(wanted), wanted), body)]
        if spots:
            # A short text may stand elsewhere by chance; instructions nearly always end their line.
            start, end = next((spot for spot in spots if _LINE_END.match(body, spot[1])), spots[0])
            return _FoundInstructions(start, end, {})
    if not _PLACEHOLDER.search(wanted):
        return None
    found = re.search(_whole_words(_pattern(wanted), wanted), body, re.DOTALL)
    if found is None:
        return None
    return _FoundInstructions(
        found.start(), found.end(), {name: found[f"p{i}"] for i, name in enumerate(_names(wanted))}
    )


def _names(template: str) -> list[str]:
    return list(dict.fromkeys(_PLACEHOLDER.findall(template)))


def _pattern(template: str) -> str:
    names, seen, parts, at = _names(template), set[str](), list[str](), 0
    for found in _PLACEHOLDER.finditer(template):
        group = f"p{names.index(found[1])}"
        parts += [re.escape(template[at : found.start()]), f"(?P={group})" if group in seen else f"(?P<{group}>.+?)"]
        seen.add(group)
        at = found.end()
    parts.append(re.escape(template[at:]))
    if at == len(template):  # where a value ends the text, it goes to the end of its line
        parts.append(r"(?=[ \t]*(?:\n|\Z))")
    return "".join(parts)


def _whole_words(pattern: str, wanted: str) -> str:
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    after = r"(?!\w)" if wanted[-1:].isalnum() else ""
    return f"{before}{pattern}{after}"


def _changed(request: ModelRequest, place: int, body: str, text: str, *, covert: bool) -> ModelRequest:
    messages = list(request.messages)
    old = messages[place]
    messages[place] = text_message(str(old.get("role", "user")), body, name=old.get("name"))
    is_covert = covert or request.covert
    return replace(request, messages=tuple(messages), told=(*request.told, text), covert=is_covert)
