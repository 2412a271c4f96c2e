"""Redaction of secrets in text and in data, and the marks of a secret.

A secret is known by the form that a known provider gives it, by the name before it, or by its check digits.

The forms, and whose documentation describes them, were written down from memory; no page was looked up for a row. What
they find was measured on a list of made-up secrets (docs/benchmarks.md), not on real ones.

A row is looked for only where one of its keywords stands in the text, which is what keeps long texts fast. Patterns
have no nested or overlapping repetitions, and runs are bounded or taken whole, so that the time is linear in the text.

The check digits are two sums of a few lines each; python-stdnum, which knows hundreds of kinds of numbers, would be a
dependency of the core for two of them.
"""

# ruff: noqa: E501 - a table of one row a form
from __future__ import annotations

import enum
import json
import re
from functools import lru_cache
from typing import NamedTuple

from pydantic import JsonValue

from tracer_hooks.schema import to_json_value


class SecretForm(NamedTuple):
    """Form in which one provider's secrets are written."""

    provider: str
    keywords: tuple[str, ...]
    """In lower case; the pattern cannot match a text in whose lower case none of them stands."""
    pattern: str
    """From the first character of the secret to its last."""
    source: str
    """Where to look the form up, as remembered: the documentation that describes it, not a page that was read."""


_BOUNDARY = r"[\w-]"
_HEX_CLASS = r"[0-9a-fA-F]"
SECRET_FORMS = (
    SecretForm("1Password", ("ops_eyj",), rf"ops_eyJ{_BOUNDARY}{{200,}}+=*", "developer.1password.com: service accounts"),
    SecretForm("Adafruit IO", ("aio_",), r"aio_[A-Za-z0-9]{28}", "io.adafruit.com: API authentication"),
    SecretForm("age", ("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}", "age-encryption.org: format v1"),
    SecretForm("Airtable", ("pat",), rf"pat[A-Za-z0-9]{{14}}\.{_HEX_CLASS}{{64}}", "airtable.com/developers: personal access tokens"),
    SecretForm("Alibaba Cloud", ("ltai",), r"LTAI[A-Za-z0-9]{12,24}", "alibabacloud.com/help: AccessKey pairs"),
    SecretForm("Artifactory", ("akcp", "cmvmd"), r"(?:AKCp[A-Za-z0-9]{10,}+|cmVmd[A-Za-z0-9]{40,}+)", "jfrog.com/help: API keys, reference tokens"),
    SecretForm("Atlassian", ("atatt3", "atctt3", "atbb"), rf"(?:AT[AC]TT3{_BOUNDARY}{{50,}}+=*{_HEX_CLASS}*|ATBB[A-Za-z0-9]{{24,}}+)", "support.atlassian.com: API tokens"),
    SecretForm("AWS", ("akia", "asia", "abia", "acca", "absk"), r"(?:A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])|ABSK[A-Za-z0-9+/]{100,}+=*)", "docs.aws.amazon.com: IAM unique identifiers, Bedrock API keys"),
    SecretForm("Azure AD", ("q~",), r"[A-Za-z0-9]{3}[78]Q~[\w.~-]{31,34}", "learn.microsoft.com: client secrets"),
    SecretForm("Clojars", ("clojars_",), r"CLOJARS_[A-Za-z0-9]{60}", "github.com/clojars: deploy tokens"),
    SecretForm("Cloudflare", ("v1.0-",), rf"v1\.0-{_HEX_CLASS}{{20,32}}-{_HEX_CLASS}{{100,}}+", "developers.cloudflare.com: Origin CA keys"),
    SecretForm("Databricks", ("dapi",), rf"dapi{_HEX_CLASS}{{32}}(?:-\d)?", "docs.databricks.com: personal access tokens"),
    SecretForm("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"do[opr]_v1_{_HEX_CLASS}{{64}}", "docs.digitalocean.com: API tokens"),
    SecretForm("Discord", (".",), r"(?:[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,40})", "discord.com/developers: bot tokens"),
    SecretForm("Discord webhook", ("/webhooks/",), r"https://(?:\w{1,10}\.)?discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{10,20}/[\w-]{20,}+", "discord.com/developers: webhooks"),
    SecretForm("Doppler", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}", "docs.doppler.com: token formats"),
    SecretForm("Duffel", ("duffel_",), r"duffel_(?:test|live)_[\w=-]{43}", "duffel.com/docs: access tokens"),
    SecretForm("Dynatrace", ("dt0c01.", "dt0s"), r"dt0[cs]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "docs.dynatrace.com: token format"),
    SecretForm("EasyPost", ("ezak", "eztk"), r"EZ[AT]K[A-Za-z0-9]{54}", "docs.easypost.com: API keys"),
    SecretForm("Facebook", ("eaa",), r"EAA[A-Za-z0-9]{80,}+", "developers.facebook.com: access tokens"),
    SecretForm("Figma", ("figd_",), r"figd_[\w-]{40,}+", "developers.figma.com: personal access tokens"),
    SecretForm("Fireworks", ("fw_",), r"fw_[A-Za-z0-9]{20,}+", "docs.fireworks.ai: API keys"),
    SecretForm("Flutterwave", ("flwseck",), r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,64}-X", "developer.flutterwave.com: API keys"),
    SecretForm("Fly.io", ("fo1_", "fm1", "fm2_"), r"(?:fo1_[\w-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{100,}+=*)", "fly.io/docs: access tokens"),
    SecretForm("Frame.io", ("fio-u-",), r"fio-u-[\w=-]{64}", "developer.frame.io: developer tokens"),
    SecretForm("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"(?:gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_\w{16,}+)", "docs.github.com: token formats"),
    SecretForm("GitLab", ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-", "gloas-", "glffct-", "glrtr-", "glwt-"), r"gl(?:pat|dt|rtr?|ptt|ft|soat|cbt|imt|agent|oas|ffct|wt)-[\w.-]{16,}+", "docs.gitlab.com: token prefixes"),
    SecretForm("Google", ("aiza", "ya29.", "gocspx-"), rf"(?:AIza{_BOUNDARY}{{35}}|ya29\.[\w.-]{{20,}}+|GOCSPX-{_BOUNDARY}{{28}})", "cloud.google.com: API keys, OAuth tokens and client secrets"),
    SecretForm("Grafana", ("glc_", "glsa_"), rf"(?:glc_[A-Za-z0-9+/]{{32,}}+=*|glsa_[A-Za-z0-9]{{32}}_{_HEX_CLASS}{{8}})", "grafana.com/docs: service accounts, access policies"),
    SecretForm("Groq", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}+", "console.groq.com: API keys"),
    SecretForm("Harness", ("pat.", "sat."), r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", "developer.harness.io: API keys"),
    SecretForm("Hugging Face", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{16,}+", "huggingface.co/docs: user access tokens"),
    SecretForm("Infracost", ("ico-",), r"ico-[A-Za-z0-9]{32}", "infracost.io/docs: API keys"),
    SecretForm("Intra 42", ("s-s4t2",), rf"s-s4t2(?:ud|af)-{_HEX_CLASS}{{64}}", "api.intra.42.fr: applications"),
    SecretForm("JSON web token", ("eyj",), rf"(?<![_-])eyJ{_BOUNDARY}{{8,}}+\.{_BOUNDARY}{{4,}}+\.{_BOUNDARY}*+", "RFC 7519"),
    SecretForm("LangSmith", ("lsv2_",), rf"lsv2_(?:pt|sk)_{_HEX_CLASS}{{32}}_{_HEX_CLASS}{{10}}", "docs.smith.langchain.com: API keys"),
    SecretForm("Linear", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}+", "linear.app/developers: API keys"),
    SecretForm("Mailchimp", ("-us",), rf"{_HEX_CLASS}{{32}}-us\d{{1,2}}(?!\d)", "mailchimp.com/developer: API keys"),
    SecretForm("Mailgun", ("key-", "pubkey-"), rf"(?:pub)?key-{_HEX_CLASS}{{32}}", "documentation.mailgun.com: API keys"),
    SecretForm("New Relic", ("nrak-", "nrjs-", "nral"), rf"(?:NRAK-[A-Z0-9]{{27}}|NRJS-{_HEX_CLASS}{{19}}|{_HEX_CLASS}{{36}}NRAL)", "docs.newrelic.com: API keys"),
    SecretForm("npm", ("npm_",), r"npm_[A-Za-z0-9]{36}", "docs.npmjs.com: access tokens"),
    SecretForm("Notion", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})", "developers.notion.com: token formats"),
    SecretForm("NVIDIA", ("nvapi-",), r"nvapi-[\w-]{40,}+", "docs.nvidia.com: API keys"),
    SecretForm("OpenAI, Anthropic, OpenRouter and the like", ("sk-", "pk-", "rk-"), r"[spr]k-[A-Za-z0-9][\w-]{15,}+", "platform.openai.com, docs.anthropic.com: API keys"),
    SecretForm("OpenShift", ("sha256~",), r"sha256~[\w-]{43}", "docs.openshift.com: OAuth access tokens"),
    SecretForm("Perplexity", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}+", "docs.perplexity.ai: API keys"),
    SecretForm("Pinecone", ("pcsk_",), r"pcsk_\w{50,}+", "docs.pinecone.io: API keys"),
    SecretForm("PlanetScale", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "planetscale.com/docs: service tokens"),
    SecretForm("Postman", ("pmak-",), rf"PMAK-{_HEX_CLASS}{{24}}-{_HEX_CLASS}{{34}}", "learning.postman.com: API keys"),
    SecretForm("Prefect", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}", "docs.prefect.io: API keys"),
    SecretForm("private key", ("private key",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", "RFC 7468, RFC 9580"),
    SecretForm("PuTTY", ("putty-user-key-file",), r"PuTTY-User-Key-File-\d.*?(?:Private-MAC: \w++|\Z)", "the.earth.li/~sgtatham/putty: PPK format"),
    SecretForm("Pulumi", ("pul-",), rf"pul-{_HEX_CLASS}{{40}}", "pulumi.com/docs: access tokens"),
    SecretForm("PyPI", ("pypi-",), r"pypi-AgE[\w-]{50,}+", "pypi.org/help: API tokens"),
    SecretForm("ReadMe", ("rdme_",), r"rdme_[a-z0-9]{70}", "docs.readme.com: API keys"),
    SecretForm("Replicate", ("r8_",), r"r8_[A-Za-z0-9]{37}", "replicate.com/docs: API tokens"),
    SecretForm("RubyGems", ("rubygems_",), rf"rubygems_{_HEX_CLASS}{{48}}", "guides.rubygems.org: API keys"),
    SecretForm("Scalingo", ("tk-us-",), r"tk-us-[\w-]{48}", "developers.scalingo.com: tokens"),
    SecretForm("SendGrid", ("sg.",), r"SG\.[\w-]{22}\.[\w-]{43}", "docs.sendgrid.com: API keys"),
    SecretForm("Brevo", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-{_HEX_CLASS}{{64}}-[A-Za-z0-9]{{16}}", "developers.brevo.com: API keys"),
    SecretForm("Sentry", ("sntryu_", "sntrys_"), rf"(?:sntryu_{_HEX_CLASS}{{64}}|sntrys_eyJ[A-Za-z0-9+/=_-]{{60,}}+)", "docs.sentry.io: auth tokens"),
    SecretForm("Shippo", ("shippo_",), rf"shippo_(?:live|test)_{_HEX_CLASS}{{40}}", "docs.goshippo.com: API tokens"),
    SecretForm("Shopify", ("shpat_", "shpss_", "shpca_", "shppa_"), rf"shp(?:at|ss|ca|pa)_{_HEX_CLASS}{{32}}", "shopify.dev: access tokens"),
    SecretForm("Slack", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"), r"(?:xox[abprse](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{10,}+)", "api.slack.com: token types"),
    SecretForm("Slack webhook", ("hooks.slack.com",), r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}+", "api.slack.com: incoming webhooks"),
    SecretForm("Square", ("eaaa", "sq0"), r"(?:EAAA[\w+=-]{56,64}|sq0(?:csp|atp|idp)-[\w-]{22,60})", "developer.squareup.com: access tokens"),
    SecretForm("Stripe", ("k_live_", "k_test_", "k_prod_", "whsec_"), r"(?:[rsp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{24,}+)", "docs.stripe.com: API keys, webhook secrets"),
    SecretForm("Tavily", ("tvly-",), r"tvly-[\w-]{20,}+", "docs.tavily.com: API keys"),
    SecretForm("Telegram", (":aa",), r"\d{8,10}:AA[\w-]{33}", "core.telegram.org/bots: authorising your bot"),
    SecretForm("Twilio", ("sk",), rf"SK{_HEX_CLASS}{{32}}(?![0-9a-zA-Z])", "twilio.com/docs: API keys"),
    SecretForm("Typeform", ("tfp_",), r"tfp_[\w.=-]{40,}+", "typeform.com/developers: personal access tokens"),
    SecretForm("Vault", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,}+", "developer.hashicorp.com: Vault tokens"),
    SecretForm("Voyage AI", ("pa-",), r"pa-[A-Za-z0-9_-]{43}(?![\w-])", "docs.voyageai.com: API keys"),
    SecretForm("xAI", ("xai-",), r"xai-[A-Za-z0-9]{70,}+", "docs.x.ai: API keys"),
    SecretForm("Yandex Cloud", ("aqvn", "t1."), r"(?:AQVN[\w-]{35,38}|t1\.[\w-]{16,}+={0,2}\.[\w-]{86}={0,2})", "yandex.cloud/docs: API keys, IAM tokens"),
)  # fmt: skip

# A letter before it is a part of another word, unless it is one that an escape, as in JSON, stands for.
_PLACEHOLDER_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
COMPILED_FORMS = tuple(
    (form.keywords, re.compile(_PLACEHOLDER_START + form.pattern, re.DOTALL)) for form in SECRET_FORMS
)
"""Keywords and pattern of each form."""


class SecrecyOfName(enum.IntEnum):
    """Measure of how much a name says of its value."""

    NOTHING = 0
    """The value is no secret."""
    WEAK = 1
    """It may be one: ``token``, ``session``. What is written like a word or a number is none."""
    STRONG = 2
    """It is one: ``password``, ``api_key``."""
    LINE = 3
    """All that follows on the line is: ``Authorization``, ``Cookie``."""


_LINE_NAMES = ("authorization", "cookie", "setcookie", "proxyauthorization")
_STRONG_NAMES = (
    "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "apikey", "accesskey", "privatekey",
    "signingkey", "encryptionkey", "secretkey", "accountkey", "subscriptionkey", "masterkey", "sharedkey", "licensekey",
    "credential", "accesstoken", "authtoken", "refreshtoken", "bearertoken", "idtoken", "privatetoken", "sessiontoken",
    "apitoken", "dbpass", "clientsecret", "authkey", "hmackey", "connectionstring",
)  # fmt: skip
_STRONG_ENDINGS = ("pass", "passw", "jwt", "apikeys")
_WEAK_ENDINGS = (
    "token", "tokens", "auth", "sessionid", "session", "sid", "signature", "sig", "otp", "pin", "key", "keys",
)  # fmt: skip
_PARAMETERS = frozenset({"key", "code", "sig", "signature", "token", "auth", "hash", "jwt", "state", "ticket"})
"""In the query of a URL these names stand for little else."""
_WORDS_BEFORE_NO_SECRET = frozenset(
    {
        "public", "primary", "foreign", "sort", "partition", "cache", "dict", "by", "hot", "short", "row", "max",
        "min", "num", "n", "total", "input", "output", "prompt", "completion", "cached", "reasoning", "used",
        "count", "keyword", "stop", "special", "pad", "eos", "bos", "unk", "next", "per", "publishable",
        "translation", "message", "lookup", "order", "group", "index", "unique", "kept", "answer",
    }
)  # fmt: skip
"""Words before ``key`` and ``token`` that say that it is another kind of key, or a piece of text."""
_NAMES_ABOUT_SECRETS = frozenset(
    {
        "name", "names", "id", "ids", "type", "types", "count", "length", "len", "limit", "limits", "policy",
        "manager", "scanner", "version", "url", "uri", "endpoint", "file", "path", "field", "hint", "reset",
        "required", "error", "errors", "store", "strength", "format", "prefix", "budget", "usage",
    }
)  # fmt: skip
"""Last words of names that stand for something about a secret."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SEPARATORS = re.compile(r"[\W_]+")


@lru_cache(maxsize=4096)
def weight_of(name: str, *, is_parameter: bool = False) -> SecrecyOfName:
    """Secrecy of the value that stands under ``name``."""
    plain = _SEPARATORS.sub("", name[:200]).lower()
    if plain.endswith(_LINE_NAMES):
        return SecrecyOfName.LINE
    if is_parameter and plain in _PARAMETERS:
        return SecrecyOfName.STRONG
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    if words and (
        words[-1] in _NAMES_ABOUT_SECRETS
        or (words[-1].rstrip("s") in ("key", "token") and _WORDS_BEFORE_NO_SECRET.intersection(words[-2:-1]))
    ):
        return SecrecyOfName.NOTHING
    if any(word in plain for word in _STRONG_NAMES) or plain.endswith(_STRONG_ENDINGS):
        return SecrecyOfName.STRONG
    return SecrecyOfName.WEAK if plain.endswith(_WEAK_ENDINGS) else SecrecyOfName.NOTHING


_WORD_VALUE = re.compile(r"[A-Za-z][a-z]*(?:[-_.' ][A-Za-z]?[a-z]*)*[.,;:!?)]*")
_NUMBER_VALUE = re.compile(r"[\d.,_%$]*")


def is_random(value: str, *, least: int = 8) -> bool:
    """Tell whether ``value`` is written like a secret: long enough, and neither a word nor a number."""
    return len(value) >= least and not _NUMBER_VALUE.fullmatch(value) and not _WORD_VALUE.fullmatch(value)


CARD = re.compile(
    r"(?<![\w.,-])(?:\d{4}(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{1,7}|3\d{3}(?P<space>[ -]?)\d{6}(?P=space)\d{4,5})"
    r"(?![\w-]|[.,]\d)"
)
"""Grouped as on a card, or not at all. Anything else with 13 to 19 digits is an id or a table."""
IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}|(?:50|5[6-9]|6[37])\d{10,17}"
)
"""ISO/IEC 7812: which first digits and lengths card issuers use."""
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24,
    "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""ISO 13616: how long an account number of each country is."""


def is_card(text: str) -> bool:
    """Tell whether ``text`` is a number of a payment card: an issuer's first digits, and the check digit after Luhn."""
    digits = re.sub(r"[ -]", "", text)
    if not _ISSUERS.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def iban_length(text: str) -> int:
    """Characters of ``text``, from its first, that are an account number; 0 when it is none. Words may follow it."""
    wanted = _IBAN_LENGTHS.get(text[:2], 0)
    ends = [end for end, character in enumerate(text, start=1) if character != " "]
    if not wanted or len(ends) < wanted:
        return 0
    length = ends[wanted - 1]
    number = text[:length].replace(" ", "")
    moved = number[4:] + number[:4]
    return length if int("".join(str(int(character, 36)) for character in moved)) % 97 == 1 else 0


BLANK = "[redacted]"
_HINTS = (
    "pass", "pwd", "secret", "token", "key", "auth", "cookie", "credential", "session", "sid", "sig", "jwt", "code",
    "otp", "pin", "connection", "hash", "state", "ticket",
)  # fmt: skip

# A name begins where a word begins, and is taken whole, so each character is looked at once.
_NAME = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{2,80}+)(?P<closing>\\{0,4}[\"'`]?\]?)(?P<space>[ \t]{0,8}+)"
    r"(?P<mark>:=|=>|==?|:(?!//))(?P<after>[ \t]{0,8}+)"
)
_QUOTED = re.compile(
    r"(?P<mark>\\{0,8}(?:\"\"\"|[\"'`]))(?P<value>[^\"'`\\\r\n]{1,4096}+|(?:(?!(?P=mark)).){1,4096})(?P=mark)"
)
_BARE = re.compile(r"[^\s,;&\"'`<>(){}\[\]\\]{1,4096}+")
_PARAMETER = re.compile(r"[^\s&#\"'`<>\\]{1,4096}+")
_ASSIGNED_LINE = re.compile(r"[^\r\n\"'`\\]{1,4096}+")
_BLOCK = re.compile(r"(?:[|>][-+]?)?[ \t]{0,8}+\r?\n[ \t]{1,40}+(?P<value>[^\s:]{4,4096}+)(?![ \t]*:)")
_EMPTY_VALUES = re.compile(
    r"(?:none|null|nil|true|false|undefined|str|string|int|bool|bytes|any|optional|\W+)[.,;]?", re.IGNORECASE
)
_ASSIGNED_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+", re.IGNORECASE)


def blank_assigned(text: str, lowered: str) -> str:
    """``text`` with the values of secret names blanked."""
    if not any(hint in lowered for hint in _HINTS):
        return text
    pieces, done = [], 0
    for match in _NAME.finditer(text):
        if match.start() < done:  # inside a value that was blanked
            continue
        found = _value_at(text, match)
        if found is not None:
            pieces += [text[done : found[0]], BLANK]
            done = found[1]
    return "".join([*pieces, text[done:]]) if pieces else text


def _value_at(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Find the secret that ``match`` is the name of; None when there is none."""
    is_parameter = text[match.start() - 1 : match.start()] in ("?", "&", ";") and match["mark"] == "="
    weight = weight_of(match["name"], is_parameter=is_parameter)
    if weight is SecrecyOfName.NOTHING:
        return None
    place = match.end()
    if is_parameter:
        return _secret_span(_PARAMETER.match(text, place), weight)
    quoted = _QUOTED.match(text, place)
    if quoted is not None:
        is_word = weight is SecrecyOfName.WEAK and not is_random(quoted["value"])
        return None if is_word else _secret_span(quoted, weight, "value")
    if weight is SecrecyOfName.LINE:
        scheme = _ASSIGNED_SCHEME.match(text, place)
        return _secret_span(_ASSIGNED_LINE.match(text, scheme.end() if scheme else place), weight)
    if match["mark"] == ":" and not match["after"] and match["closing"] == "" and text[place : place + 1].strip():
        weight = SecrecyOfName.WEAK  # "secret:name" is seldom an assignment
    block = _BLOCK.match(text, place)
    if block is not None:
        return _secret_span(block, weight, "value") if is_random(block["value"]) else None
    whole = _ASSIGNED_LINE if "phrase" in match["name"].lower() else _BARE
    bare = whole.match(text, place)
    if bare is None or text[bare.end() : bare.end() + 1] in ("(", "["):  # code that gets it from somewhere
        return None
    is_prose = match["mark"] == ":" and match["space"] == "" and match["after"] == " " and match["closing"] == ""
    if weight is SecrecyOfName.WEAK and "://" in bare[0]:
        return None
    if (weight is SecrecyOfName.WEAK or (is_prose and whole is _BARE)) and not is_random(bare[0], least=6):
        return None
    return _secret_span(bare, weight)


def _secret_span(found: re.Match[str] | None, weight: SecrecyOfName, group: str | int = 0) -> tuple[int, int] | None:
    if found is None:
        return None
    value = found[group]
    if weight is SecrecyOfName.LINE:
        return None if value.strip() == BLANK else found.span(group)
    if _EMPTY_VALUES.fullmatch(value) or BLANK in value or len(value) < 4:
        return None
    return found.span(group)


_MOST_JSON = 2_000_000
"""Characters of a text that is tried as JSON."""
_DEEPEST = 100
_MAIL = re.compile(
    # Lengths as in RFC 5321, and only from the beginning of a word, so that "a.a.a." and "aaaa@" take no longer.
    r"(?<![\w.%+-])(?:[\w.%+-]{1,64}+|\"[^\"\r\n]{1,62}\")@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,63}+"
)
_SCHEME = re.compile(
    r"\b(?P<before>(?:bearer|basic|token|digest)[ \t]+)(?P<value>[A-Za-z0-9._~+/=-]{12,4096}+)", re.IGNORECASE
)
_STATED = re.compile(
    r"\b(?P<before>(?:password|passphrase|passcode|pin|api[ _-]?key|access[ _-]?key|secret(?: key)?|token)[ \t]+"
    # Without "is" only what has a digit and a letter in it: "password hunter2-XY", and not "token sequence".
    r"(?:(?:is|was)(?:[ \t]+now)?:?[ \t]+|(?=[^\s\d]{0,64}\d)(?=[^\sA-Za-z]{0,64}[A-Za-z]))[\"'`*]{0,2})"
    r"(?P<value>[^\s\"'`*]{4,256}+)",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<before>\blogin\s{1,8}\S{1,64}\s{1,8}password\s{1,8})(?P<value>\S{1,256}+)")
_OPTION = re.compile(
    r"(?P<before>(?<![\w-])--(?:password|passwd|token|api-?key|secret|access-?token|client-?secret)[ \t]{1,4}[\"']?)"
    r"(?P<value>[^\s\"'-][^\s\"']{3,256}+)"
)
_USER_OPTION = re.compile(r"(?P<before>(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:)(?P<value>[^\s\"':]{3,256}+)")
_USER_INFO = re.compile(r"(?P<before>://[^\s/?#@:\"'<>]{0,128}+:)(?P<value>[^\s/?#@\"'<>]{1,256}+)(?=@)")
_USER = re.compile(r"(?P<before>://)(?P<value>[^\s/?#@:\"'<>]{16,256}+)(?=@)")
_ELEMENT = re.compile(r"(?P<before><(?P<name>[\w.:-]{2,80}+)>)(?P<value>[^<]{1,1024}+)(?=</)")


class Redactor:
    """Blanks keys and tokens, passwords, cookies, e-mail addresses, card and account numbers, and the user's patterns.

    The time is linear in the text; that of the user's own patterns is their own.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self.patterns = patterns

    def text(self, value: str) -> str:
        """``value`` with every secret replaced by ``[redacted]``; JSON in it is read as such."""
        return self._text(value, 0)

    def value(self, value: object) -> object:
        """``value`` as plain data with every string redacted; values of keys such as ``password`` are blanked whole."""
        # Opens models and dataclasses, which would else be opened at export.
        return self._plain(to_json_value(value), 0)

    def _text(self, text: str, depth: int) -> str:
        lowered = text.lower()
        opened = self._json(text, depth) if text.lstrip()[:1] in ("{", "[") else None
        if opened is not None:
            return self._own(opened)
        for keywords, pattern in COMPILED_FORMS:
            if any(keyword in lowered for keyword in keywords):
                text = pattern.sub(BLANK, text)
        text = _by_surroundings(text, lowered)
        text = blank_assigned(text, lowered)
        if "@" in text:
            text = _MAIL.sub(BLANK, text)
        text = CARD.sub(lambda found: BLANK if is_card(found[0]) else found[0], text)
        return self._own(IBAN.sub(_blank_iban, text))

    def _own(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub(BLANK, text)
        return text

    def _json(self, text: str, depth: int) -> str | None:
        """A text that is JSON, redacted as the data that it stands for; None when it is none."""
        if len(text) > _MOST_JSON or depth > _DEEPEST or '"' not in text:
            return None
        try:
            data = json.loads(text)
            shown = self._plain(data, depth + 1)
        except (ValueError, RecursionError):
            return None
        return text if shown == data else json.dumps(shown, ensure_ascii=False)

    def _plain(self, value: JsonValue, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, depth + 1)
        if isinstance(value, dict):
            result: dict[str, JsonValue] = {}
            for key, item in value.items():
                shown = self._text(key, depth + 1)
                if shown != key and shown in result:  # two keys with nothing left to tell them apart
                    shown = f"{shown} {len(result) + 1}"
                weight = weight_of(key)
                is_plain = weight is SecrecyOfName.NOTHING
                result[shown] = self._plain(item, depth + 1) if is_plain else self._blanked(item, weight, depth + 1)
            return result
        if isinstance(value, list):
            return [self._plain(item, depth + 1) for item in value]
        return value

    def _blanked(self, value: JsonValue, weight: SecrecyOfName, depth: int) -> JsonValue:
        """Blank the value of a secret name: every string in it, and numbers where the name leaves no doubt."""
        if isinstance(value, list):
            return [self._blanked(item, weight, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self._text(key, depth + 1): self._blanked(item, max(weight, weight_of(key)), depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, str):
            is_word = weight is SecrecyOfName.WEAK and " " in value and not is_random(value)
            return self._text(value, depth + 1) if is_word or not value else BLANK
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return BLANK if is_number and weight is not SecrecyOfName.WEAK else value


def _by_surroundings(text: str, lowered: str) -> str:
    """Secrets that are found by what stands around them and is no name with a mark."""
    if "bearer" in lowered or "basic" in lowered or "token" in lowered or "digest" in lowered:
        text = _SCHEME.sub(_blank_if_random, text)
    if any(word in lowered for word in ("pass", "key", "secret", "token", "pin")):
        text = _STATED.sub(_blank_if_random, text)
        text = _OPTION.sub(_blank_value, text)
    if "login" in lowered:
        text = _LOGIN.sub(_blank_value, text)
    if "-u" in lowered or "--user" in lowered:
        text = _USER_OPTION.sub(_blank_value, text)
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(_blank_value, text)
        text = _USER.sub(_blank_if_random, text)
    if "</" in text:
        text = _ELEMENT.sub(_blank_if_secret_element, text)
    return text


def _blank_value(found: re.Match[str]) -> str:
    return found["before"] + BLANK


def _blank_if_random(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:!?)")
    if not is_random(value, least=6) or BLANK in value or value.endswith(("(", "[")):
        return found[0]
    return found["before"] + BLANK + found["value"][len(value) :]


def _blank_if_secret_element(found: re.Match[str]) -> str:
    return found["before"] + BLANK if weight_of(found["name"]) is SecrecyOfName.STRONG else found[0]


def _blank_iban(found: re.Match[str]) -> str:
    length = iban_length(found[0])
    return BLANK + found[0][length:] if length else found[0]
