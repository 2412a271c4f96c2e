"""Chats in OpenAI's form: the request, the prompt it becomes, the text that comes, and the tool calls found in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from _engine_batch import Sampling

CALL_OPENS, CALL_CLOSES = "<tool_call>", "</tool_call>"

_TOOLS_INTRODUCTION = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_INSTRUCTION = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


class RequestError(ValueError):
    """A request that cannot be served, with what OpenAI's error object says of it."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.code = param, code


@dataclass(frozen=True)
class ChatRequest:
    """A checked request.

    Attributes:
        messages: As the chat template takes them: text as strings, arguments of calls as objects.
        tools: Definitions of the functions offered; empty where ``tool_choice`` is ``"none"``.
        forced: What the answer is made to begin with: a call, where ``tool_choice`` demands one.
        most: The most tokens to write, if the request says.
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    forced: str
    sampling: Sampling
    stops: tuple[str, ...]
    most: int | None
    stream: bool
    include_usage: bool


def read_request(body: Any) -> ChatRequest:
    """Check a request's JSON. Fields that are not known are passed over.

    Raises:
        RequestError: Something is missing, or asks for what is not offered.
    """
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    if body.get("n") not in (None, 1):
        raise RequestError(f"n must be 1, not {body['n']!r}: send the request again for more answers", param="n")
    if body.get("logprobs"):
        raise RequestError("logprobs are not offered", param="logprobs")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages must be a list of at least one message", param="messages")
    tools, forced = _tools(body)
    return ChatRequest(
        messages=[_message(message, at) for at, message in enumerate(messages)],
        tools=tools,
        forced=forced,
        sampling=_sampling(body),
        stops=_stops(body.get("stop")),
        most=_most(body),
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
    )


def render(tokenizer: Any, request: ChatRequest) -> str:
    """The prompt, up to where the answer begins."""
    template = tokenizer.chat_template
    if template and (not request.tools or "tools" in template):
        prompt: str = tokenizer.apply_chat_template(
            request.messages, tools=request.tools or None, add_generation_prompt=True, tokenize=False
        )
    else:
        prompt = chatml(request.messages, request.tools)
    return prompt + request.forced


def chatml(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str:
    """ChatML with tools as Qwen2.5 writes it, for models whose template is missing or knows no tools."""
    begins = messages[0]["role"] == "system"
    system = messages[0]["content"] if begins else "You are a helpful assistant."
    if tools:
        system += _TOOLS_INTRODUCTION + "".join(f"\n{json.dumps(tool)}" for tool in tools) + _TOOLS_INSTRUCTION
    turns = [("system", system)]
    for message in messages[1 if begins else 0 :]:
        role, content = message["role"], message["content"]
        if role == "tool":
            role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
        for call in message.get("tool_calls") or ():
            asked = {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            content += f"\n{CALL_OPENS}\n{json.dumps(asked)}\n{CALL_CLOSES}"
        turns.append((role, content))
    return "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns) + "<|im_start|>assistant\n"


def _message(message: Any, at: int) -> dict[str, Any]:
    where = f"messages[{at}]"
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise RequestError(f"{where} needs a role: system, developer, user, assistant or tool", param=where)
    read = {"role": "system" if role == "developer" else role, "content": _text(message.get("content"), where)}
    if role == "assistant" and message.get("tool_calls"):
        read["tool_calls"] = [_call(call, where) for call in message["tool_calls"]]
    return read


def _text(content: Any, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise RequestError(f"{where}.content must be text or a list of text parts", param=f"{where}.content")


def _call(call: Any, where: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RequestError(f"{where}.tool_calls must hold calls of functions with a name", param=f"{where}.tool_calls")
    arguments = function.get("arguments") or "{}"
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except json.JSONDecodeError:
            # What a model wrote and is shown again need not be JSON.
            arguments = {"arguments": arguments}
    return {"type": "function", "function": {"name": function["name"], "arguments": arguments}}


def _tools(body: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    tools, choice = body.get("tools") or [], body.get("tool_choice") or "auto"
    names = []
    for at, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise RequestError(f"tools[{at}] must be a function with a name", param=f"tools[{at}]")
        names.append(function["name"])
    if choice == "none" or (choice == "auto" and not tools):
        return [], ""
    if choice == "auto":
        return tools, ""
    if choice == "required" and tools:
        return tools, f'{CALL_OPENS}\n{{"name": "'
    name = (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None
    if name not in names:
        raise RequestError(f"tool_choice {choice!r} names none of the tools {names}", param="tool_choice")
    return tools, f'{CALL_OPENS}\n{{"name": "{name}", "arguments": '


def _sampling(body: Mapping[str, Any]) -> Sampling:
    seed = body.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise RequestError(f"seed must be an integer, not {seed!r}", param="seed")
    return Sampling(
        temperature=_number(body, "temperature", 1.0, 0.0, 2.0), top_p=_number(body, "top_p", 1.0, 0.0, 1.0), seed=seed
    )


def _number(body: Mapping[str, Any], name: str, default: float, low: float, high: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise RequestError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}", param=name)
    return float(value)


def _stops(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value or []
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise RequestError("stop must be a string or a list of strings", param="stop")
    return tuple(stop for stop in stops if stop)


def _most(body: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise RequestError(f"{name} must be an integer from 1, not {value!r}", param=name)
            return value
    return None


# Qwen2.5 marks a call with <tool_call>. Its small coder models also write <tools> or a code block; those count
# where they name a function that was offered.
_MARKED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_LOOSE = re.compile(r"<tools>\s*(.*?)\s*(?:</tools>|\Z)|```(?:json|xml)?\s*(\{.*?\})\s*(?:```|\Z)", re.DOTALL)


def parse_calls(text: str, names: Collection[str], salt: str) -> tuple[str, list[dict[str, Any]]]:
    """Split ``text`` into what is said and what is called.

    Args:
        text: What the model wrote.
        names: The functions offered.
        salt: The prompt; with the call it makes an id that is the same each time the same thing is called there.

    Returns:
        The text without the calls, and the calls as OpenAI writes them. A call that is no JSON stays text.
    """
    found = _objects(text, _MARKED, None)
    if not found:
        found = _objects(text, _LOOSE, names)
    if not found and (whole := _asked(text, names)) is not None:
        found = [(0, len(text), whole)]
    calls: list[dict[str, Any]] = []
    kept, end = [], 0
    for begin, stop, asked in found:
        kept.append(text[end:begin])
        end = stop
        calls.append(_answered_call(asked, f"{salt}\0{len(calls)}"))
    kept.append(text[end:])
    return "".join(kept).strip() if calls else text, calls


def _objects(
    text: str, pattern: re.Pattern[str], names: Collection[str] | None
) -> list[tuple[int, int, dict[str, Any]]]:
    found = []
    for match in pattern.finditer(text):
        asked = _asked(next((group for group in match.groups() if group), ""), names)
        if asked is not None:
            found.append((match.start(), match.end(), asked))
    return found


def _asked(text: str, names: Collection[str] | None) -> dict[str, Any] | None:
    try:
        # Models leave text behind a whole object, such as a brace too many.
        asked, _ = json.JSONDecoder(strict=False).raw_decode(text.strip())
    except json.JSONDecodeError:
        return None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        return None
    if names is not None and (asked["name"] not in names or "arguments" not in asked):
        return None
    return asked


def _answered_call(asked: dict[str, Any], salt: str) -> dict[str, Any]:
    arguments = asked.get("arguments", {})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    digest = hashlib.sha256(f"{salt}\0{asked['name']}\0{written}".encode()).hexdigest()
    return {"id": f"call_{digest[:24]}", "type": "function", "function": {"name": asked["name"], "arguments": written}}


class TextStream:
    """The text of one answer.

    Attributes:
        text: All text so far; ends before a stop string once one is found.
        stopped: Whether a stop string was found.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._stops = tuple(stops)
        self._tokens: list[int] = []
        self._begin = 0
        self._read = 0
        self._sent = 0
        self.text = ""
        self.stopped = False

    def push(self, token: int) -> None:
        """Add a token."""
        self._tokens.append(token)
        # Decoding a few tokens of context makes spaces and characters of several tokens come out whole.
        before = self._decode(self._tokens[self._begin : self._read])
        after = self._decode(self._tokens[self._begin :])
        if len(after) > len(before) and not after.endswith("\N{REPLACEMENT CHARACTER}"):
            self._begin, self._read = self._read, len(self._tokens)
            self._add(after[len(before) :])

    def finish(self) -> None:
        """Add what is left of an unfinished character."""
        if not self.stopped:
            before = self._decode(self._tokens[self._begin : self._read])
            self._add(self._decode(self._tokens[self._begin :])[len(before) :])
            self._begin = self._read = len(self._tokens)

    def ready(self, *, whole: bool = False) -> str:
        """The text not yet asked for; what may be the beginning of a stop string is held back unless ``whole``."""
        end = len(self.text)
        if not whole and not self.stopped:
            end -= max((_overlap(self.text, stop) for stop in self._stops), default=0)
        piece = self.text[self._sent : end]
        self._sent = max(self._sent, end)
        return piece

    def _add(self, piece: str) -> None:
        longest = max((len(stop) for stop in self._stops), default=1)
        begin = max(0, len(self.text) - longest + 1)
        self.text += piece
        found = [at for stop in self._stops if (at := self.text.find(stop, begin)) >= 0]
        if found:
            self.text, self.stopped = self.text[: min(found)], True

    def _decode(self, tokens: Sequence[int]) -> str:
        if not tokens:
            return ""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of ``text`` that begins ``stop``."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
