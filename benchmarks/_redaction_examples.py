"""The frozen list of secrets that redaction is measured on. It was written, and committed, before the rules were.

The formats are those that two public secret scanners look for (the plug-ins of detect-secrets 1.5.0, and the rule ids
of gitleaks 8), so another source than the providers' own pages, which the rules were written from. Every secret is made
up at run time from a fixed seed: no file of ours holds anything that a scanner would take for one.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

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
