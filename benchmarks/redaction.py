"""How many secrets redaction blanks, how many words of ordinary prose it touches, and how long it takes.

    python benchmarks/redaction.py [--missed]

The secrets are the frozen list of ``redaction.py``. The prose is this project's documentation and README, and
the descriptions and licences of all packages that are installed beside it. Times are CPU seconds for one megabyte.
"""

from __future__ import annotations

import argparse
import base64
import importlib.metadata
import json
import random
import re
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.telemetry._redact import BLANK, Redactor

SEED = 20_261_123

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "-_",
    "S": string.ascii_letters + string.digits + "+/",
    "W": string.ascii_letters,
}
_PIECE = re.compile(r"\{([ALUHDBSW])(\d+)\}")

_FORMS = json.loads((Path(__file__).parent / "data" / "redaction" / "secret_forms.json").read_text(encoding="utf-8"))
TOKENS: dict[str, str] = _FORMS["tokens"]
"""Tokens that say themselves what they are. ``{A20}``: 20 characters of an alphabet."""
NAMED: dict[str, str] = _FORMS["named"]
"""Values without a form of their own, found by the name that they stand under."""

IN_WORDS: dict[str, Callable[[str], str]] = {
    "a sentence": lambda secret: f"I tried it with {secret} and the server said no.",
    "a JSON value": lambda secret: '{"input": {"value": "' + secret.replace("\n", "\\n") + '"}}',
    "a shell command": lambda secret: f"curl -sS https://api.example.com/v1/me -u '{secret}:' | jq .id",
    "a log line": lambda secret: f"2026-03-01 12:00:01 WARNING client[41]: rejected credential {secret}; retrying",
    "an exception": lambda secret: f"ValueError: invalid header value: {secret!r}",
    "Markdown": lambda secret: f"Use this one:\n\n```\n{secret}\n```\n",
    "a list": lambda secret: f"- first: nothing\n- second: <{secret}>\n",
}
UNDER_A_NAME: dict[str, Callable[[str, str], str]] = {
    "an environment file": lambda name, secret: f"DEBUG=1\n{name}={secret}\nPORT=80\n",
    "shell": lambda name, secret: f'export {name}="{secret}" && run',
    "JSON": lambda name, secret: f'{{"user": "bob", "{name}": "{secret}", "port": 80}}',
    "YAML": lambda name, secret: f"config:\n  {name}: {secret}\n  port: 80\n",
    "Python": lambda name, secret: f"settings = dict(debug=True)\nsettings['{name}'] = '{secret}'",
    "JSON in JSON": lambda name, secret: f'{{"body": "{{\\"{name}\\": \\"{secret}\\"}}"}}',
    "TOML": lambda name, secret: f"[auth]\n{name} = '{secret}'\n",
}

# Where a secret is found by what stands around it.
AROUND: dict[str, tuple[str, Callable[[str], str]]] = {
    "basic authorisation": (
        "{A24}",
        lambda secret: f"Authorization: Basic {base64.b64encode(f'bob:{secret}'.encode()).decode()}",
    ),
    "bearer header": ("{A40}", lambda secret: f"Authorization: Bearer {secret}"),
    "token header": ("{H40}", lambda secret: f"authorization: token {secret}"),
    "proxy authorisation": ("{A30}", lambda secret: f"Proxy-Authorization: Digest username=bob, response={secret}"),
    "api key header": ("{H32}", lambda secret: f"Ocp-Apim-Subscription-Key: {secret}"),
    "header in a dict": ("{A40}", lambda secret: f"headers={{'X-Auth-Token': '{secret}'}}"),
    "cookie": ("{A32}", lambda secret: f"Cookie: theme=dark; sessionid={secret}"),
    "set-cookie": ("{A32}", lambda secret: f"Set-Cookie: sid={secret}; HttpOnly; Path=/"),
    "password in a URL": ("{A10}", lambda secret: f"postgres://bob:{secret}@db.internal:5432/shop"),
    "password in a URL without a user": ("{A10}", lambda secret: f"redis://:{secret}@localhost:6379/0"),
    "token as a user": ("{A40}", lambda secret: f"git clone https://{secret}@git.example.com/team/app.git"),
    "parameter api_key": ("{A20}", lambda secret: f"GET https://x.example/v1?q=1&api_key={secret}&n=2"),
    "parameter token": ("{A20}", lambda secret: f"https://x.example/cb?token={secret}"),
    "parameter key": ("{B30}", lambda secret: f"https://maps.example/api?address=Bonn&key={secret}"),
    "parameter sig": ("{A43}", lambda secret: f"https://a.blob.example/c?sv=2020&sig={secret}%3D"),
    "parameter code": ("{A30}", lambda secret: f"https://app.example/callback?code={secret}&state=xyz"),
    "presigned URL": ("{H64}", lambda secret: f"https://b.s3.example/o?X-Amz-Expires=60&X-Amz-Signature={secret}"),
    "password option": ("{A12}", lambda secret: f"mysql --host db --password={secret} shop"),
    "password of curl": ("{A12}", lambda secret: f"curl -u bob:{secret} https://x.example/"),
    "connection string": ("{A14}", lambda secret: f"Server=db;Database=shop;User Id=bob;Password={secret};"),
    "netrc": ("{A14}", lambda secret: f"machine x.example login bob password {secret}"),
    "npmrc": ("{A36}", lambda secret: f"//registry.example/:_authToken={secret}"),
    "docker config": ("{A40}", lambda secret: '{"auths": {"r.example": {"auth": "' + secret + '"}}}'),
    "sentence": ("{A12}", lambda secret: f"The password is {secret}, please log in for me."),
    "multi-line YAML": ("{A16}", lambda secret: f"password: |\n  {secret}\n"),
    "XML": ("{A16}", lambda secret: f"<user>bob</user><password>{secret}</password>"),
}


@dataclass(frozen=True)
class Example:
    """One secret in one context."""

    name: str
    secret: str
    """What must not be read any more."""
    text: str
    """What it stands in."""


def examples(seed: int = SEED) -> Iterator[Example]:
    """The whole list: every token in two contexts, every named value in two, and the others."""
    rnd = random.Random(seed)
    for index, (name, form) in enumerate(TOKENS.items()):
        for context in _two(list(IN_WORDS), index):
            secret = _made(form, rnd)
            text = IN_WORDS[context](secret)
            yield Example(f"{name} in {context}", max(_PLACED.split(secret), key=len), text)
    for index, (name, form) in enumerate(NAMED.items()):
        for context in _two(list(UNDER_A_NAME), index):
            secret = _made(form, rnd)
            yield Example(f"{name} in {context}", secret, UNDER_A_NAME[context](name, secret))
    for name, (form, around) in AROUND.items():
        secret = _made(form, rnd)
        text = around(secret)
        yield Example(name, secret if secret in text else text.rpartition(" ")[2], text)


_PLACED = re.compile(r"[\n/:]|-----")


def _two(contexts: list[str], index: int) -> tuple[str, str]:
    return contexts[index % len(contexts)], contexts[(index + 3) % len(contexts)]


def _made(form: str, rnd: random.Random) -> str:
    def filled(piece: re.Match[str]) -> str:
        return "".join(rnd.choices(_ALPHABETS[piece[1]], k=int(piece[2])))

    return _PIECE.sub(filled, form)


ROOT = Path(__file__).resolve().parents[1]
WORST = {
    "a-a-a-": "a-", "aaaa": "a", "a.a.a.": "a.", "aaaa@": "aaaa@", "a@b.": "a@b.", "eyJ": "eyJ", "eyJ-.": "eyJ-.",
    "nested quotes": '"\'"', "escaped quotes": '\\\\"', 'password="': 'password="', "password=": "password=",
    "key: ": "key: ", "BEGIN PRIVATE KEY": "-----BEGIN PRIVATE KEY-----", "bearer ": "bearer ", "digits": "4111 ",
    "IBAN": "DE89 3704 0044 ", "://a:": "://a:", "{": "{", '{"a":': '{"a":', "sk-": "sk-", "<a>": "<ab>",
    "dots": "M" + "a" * 24 + ".", "hex": "0123456789abcdef",
}  # fmt: skip
_MEGABYTE = 1_000_000


def main() -> None:
    """Print the three tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--missed", action="store_true", help="List the secrets that were not blanked, and touched words."
    )
    shows_missed = parser.parse_args().missed
    redactor = Redactor()
    tried, missed = list(examples()), [one for one in examples() if one.secret in redactor.text(one.text)]
    print(f"secrets blanked: {len(tried) - len(missed)} of {len(tried)} ({1 - len(missed) / len(tried):.1%})")
    for one in missed if shows_missed else ():
        print(f"  missed: {one.name}")
    words = touched = size = 0
    seconds = 0.0
    for text in corpus():
        began = time.process_time()
        shown = redactor.text(text)
        seconds += time.process_time() - began
        words += len(text.split())
        size += len(text)
        for place in re.finditer(re.escape(BLANK), shown) if BLANK not in text else ():
            touched += 1
            if shows_missed:
                print(f"  touched: {shown[max(0, place.start() - 60) : place.end() + 10]!r}")
    print(f"words of prose touched: {touched} of {words:,} ({touched / words:.3%})")
    print(f"seconds for a megabyte of prose: {seconds * _MEGABYTE / size:.2f}")
    print(f"seconds for a megabyte of JSON: {_seconds(redactor, _trace_text()):.2f}")
    worst = {
        name: _seconds(redactor, (unit * (_MEGABYTE // len(unit) + 1))[:_MEGABYTE]) for name, unit in WORST.items()
    }
    print(
        f"seconds for a megabyte of the worst input: {max(worst.values()):.2f} ({max(worst, key=worst.__getitem__)!r})"
    )
    for name, took in worst.items() if shows_missed else ():
        print(f"  {name!r}: {took:.2f}")


def corpus() -> Iterator[str]:
    """Texts that people wrote for people."""
    yield (ROOT / "README.md").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        yield page.read_text(encoding="utf-8")
    for package in importlib.metadata.distributions():
        yield str(package.metadata.get_payload() or package.metadata.get("Description") or "")
        for file in package.files or ():
            if "licen" in file.name.lower() and file.suffix in ("", ".txt", ".md", ".rst"):
                place = Path(str(file.locate()))
                if place.is_file():
                    yield place.read_text(encoding="utf-8", errors="replace")


def _trace_text() -> str:
    """A conversation as it is exported: JSON with prose, code and ids."""
    page = (ROOT / "docs" / "guides" / "hook.md").read_text(encoding="utf-8")
    message = {"role": "user", "parts": [{"type": "text", "content": page}], "id": "call_a1b2c3d4e5f6"}
    return json.dumps([message] * (_MEGABYTE // len(page) + 1))[:_MEGABYTE]


def _seconds(redactor: Redactor, text: str) -> float:
    began = time.process_time()
    redactor.text(text)
    return time.process_time() - began


if __name__ == "__main__":
    main()
