"""The frozen list of secrets that redaction is measured on. It was written, and committed, before the rules were.

The formats are those that two public secret scanners look for (the plug-ins of detect-secrets 1.5.0, and the rule ids
of gitleaks 8), so another source than the providers' own pages, which the rules were written from. Every secret is made
up at run time from a fixed seed: no file of ours holds anything that a scanner would take for one.
"""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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

# Tokens that say themselves what they are. ``{A20}``: 20 characters of an alphabet.
TOKENS = {
    "1password service account": "ops_eyJ{A250}",
    "adafruit in a header": "aio_{A28}",
    "age secret key": "AGE-SECRET-KEY-1{U58}",
    "airtable personal access": "pat{A14}.{H64}",
    "alibaba access key": "LTAI{A20}",
    "anthropic api": "sk-ant-api03-{B93}AA",
    "anthropic admin": "sk-ant-admin01-{B93}AA",
    "artifactory api": "AKCp{A69}",
    "artifactory reference": "cmVmd{A59}",
    "atlassian api": "ATATT3{B186}",
    "aws access key": "AKIA{U16}",
    "aws temporary key": "ASIA{U16}",
    "aws bedrock": "ABSK{S109}",
    "azure ad client": "{A3}8Q~{B34}",
    "clojars": "CLOJARS_{L60}",
    "cloudflare origin ca": "v1.0-{H24}-{H146}",
    "databricks": "dapi{H32}",
    "digitalocean pat": "dop_v1_{H64}",
    "digitalocean oauth": "doo_v1_{H64}",
    "digitalocean refresh": "dor_v1_{H64}",
    "discord bot": "M{A23}.{B6}.{B27}",
    "discord webhook": "https://discord.com/api/webhooks/{D18}/{B68}",
    "doppler": "dp.pt.{A43}",
    "duffel": "duffel_test_{B43}",
    "dynatrace": "dt0c01.{U24}.{U64}",
    "easypost": "EZAK{A54}",
    "facebook page": "EAAM{A100}",
    "flutterwave secret": "FLWSECK_TEST-{H32}-X",
    "fly.io": "fo1_{B43}",
    "frame.io": "fio-u-{B64}",
    "github pat": "ghp_{A36}",
    "github oauth": "gho_{A36}",
    "github app": "ghs_{A36}",
    "github refresh": "ghr_{A36}",
    "github fine grained": "github_pat_{A22}_{A59}",
    "gitlab pat": "glpat-{B20}",
    "gitlab deploy": "gldt-{B20}",
    "gitlab runner": "glrt-{B20}",
    "gitlab pipeline trigger": "glptt-{H40}",
    "gitlab feed": "glft-{B20}",
    "google api": "AIza{B35}",
    "google oauth access": "ya29.{B60}",
    "google client secret": "GOCSPX-{B28}",
    "grafana cloud": "glc_{A60}",
    "grafana service account": "glsa_{A32}_{H8}",
    "harness": "pat.{B22}.{A24}.{A20}",
    "hugging face": "hf_{W34}",
    "infracost": "ico-{A32}",
    "intra42": "s-s4t2ud-{H64}",
    "jwt": "eyJ{A17}.eyJ{A60}.{B43}",
    "linear": "lin_api_{A40}",
    "mailchimp": "{H32}-us12",
    "mailgun": "key-{H32}",
    "npm": "npm_{A36}",
    "notion": "ntn_{D11}{A35}",
    "notion before 2024": "secret_{A43}",
    "openai": "sk-{A20}T3BlbkFJ{A20}",
    "openai project": "sk-proj-{B74}T3BlbkFJ{B74}",
    "openai service account": "sk-svcacct-{B74}T3BlbkFJ{B74}",
    "openshift": "sha256~{B43}",
    "perplexity": "pplx-{A48}",
    "planetscale": "pscale_tkn_{B43}",
    "postman": "PMAK-{H24}-{H34}",
    "prefect": "pnu_{L36}",
    "private key, rsa": "-----BEGIN RSA PRIVATE KEY-----\n{S64}\n{S64}\n-----END RSA PRIVATE KEY-----",
    "private key, openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\n{S64}\n-----END OPENSSH PRIVATE KEY-----",
    "private key, pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{S64}\n-----END PGP PRIVATE KEY BLOCK-----",
    "pulumi": "pul-{H40}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{B70}",
    "readme": "rdme_{L70}",
    "rubygems": "rubygems_{H48}",
    "scalingo": "tk-us-{B48}",
    "sendgrid": "SG.{B22}.{B43}",
    "sendinblue": "xkeysib-{H64}-{A16}",
    "sentry user": "sntryu_{H64}",
    "sentry organisation": "sntrys_eyJpYXQiO{A60}_{S43}",
    "shippo": "shippo_live_{H40}",
    "shopify access": "shpat_{H32}",
    "shopify shared secret": "shpss_{H32}",
    "slack bot": "xoxb-{D11}-{D12}-{A24}",
    "slack user": "xoxp-{D11}-{D12}-{D12}-{H32}",
    "slack app": "xapp-1-{U11}-{D13}-{H64}",
    "slack configuration": "xoxe.xoxp-1-{U163}",
    "slack webhook": "https://hooks.slack.com/services/T{U8}/B{U8}/{A24}",
    "square access": "EAAA{B60}",
    "square oauth secret": "sq0csp-{B43}",
    "stripe live": "sk_live_{A24}",
    "stripe restricted": "rk_live_{A24}",
    "stripe test": "sk_test_{A24}",
    "stripe webhook": "whsec_{A32}",
    "telegram bot": "{D9}:AA{B33}",
    "twilio": "SK{H32}",
    "typeform": "tfp_{B59}",
    "vault service": "hvs.{B95}",
    "vault batch": "hvb.{B150}",
    "yandex cloud": "AQVN{B35}",
    "yandex access": "t1.{A20}.{B86}",
}

# Values without a form of their own, found by the name that they stand under.
NAMED = {
    "aws_secret_access_key": "{S40}",
    "AZURE_CLIENT_SECRET": "{A40}",
    "AccountKey": "{S86}==",
    "COHERE_API_KEY": "{A40}",
    "DATADOG_API_KEY": "{H32}",
    "DB_PASS": "{A12}",
    "DROPBOX_ACCESS_TOKEN": "{L64}",
    "FASTLY_API_TOKEN": "{B32}",
    "HEROKU_API_KEY": "{H8}-{H4}-{H4}-{H4}-{H12}",
    "IBM_CLOUD_API_KEY": "{B44}",
    "JFROG_PASSWORD": "{A20}",
    "KUBE_TOKEN": "{A40}",
    "MYSQL_PWD": "{A10}",
    "NETLIFY_AUTH_TOKEN": "{B43}",
    "NEW_RELIC_LICENSE_KEY": "{H36}NRAL",
    "OKTA_CLIENT_SECRET": "{B40}",
    "PGPASSWORD": "{A14}",
    "SECRET_KEY": "{A50}",
    "SNYK_TOKEN": "{H8}-{H4}-{H4}-{H4}-{H12}",
    "SOFTLAYER_API_KEY": "{H64}",
    "TWITTER_BEARER_TOKEN": "{A80}",
    "client_secret": "{A24}",
    "db.password": "{A12}",
    "encryption_key": "{H64}",
    "passphrase": "{A16}",
    "private_token": "{A20}",
    "refresh_token": "{B40}",
    "session_secret": "{A32}",
    "signing_key": "{A32}",
    "x-api-key": "{A32}",
}

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
