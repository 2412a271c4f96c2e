"""What the secrets of known providers look like, one row a form.

The forms, and whose documentation describes them, were written down from memory; no page was looked up for a row. What
they find was measured on a list of made-up secrets (docs/benchmarks.md), not on real ones.

A row is looked for only where one of its keywords stands in the text, which is what keeps long texts fast. Patterns have
no nested or overlapping repetitions, and runs are bounded or taken whole, so that the time is linear in the text.
"""

# ruff: noqa: E501 - a table of one row a form
from __future__ import annotations

import re
from typing import NamedTuple


class SecretForm(NamedTuple):
    """How one provider's secrets are written."""

    provider: str
    keywords: tuple[str, ...]
    """In lower case; the pattern cannot match a text in whose lower case none of them stands."""
    pattern: str
    """From the first character of the secret to its last."""
    source: str
    """Where to look the form up, as remembered: the documentation that describes it, not a page that was read."""


_B = r"[\w-]"
_HEX = r"[0-9a-fA-F]"

FORMS = (
    SecretForm("1Password", ("ops_eyj",), rf"ops_eyJ{_B}{{200,}}+=*", "developer.1password.com: service accounts"),
    SecretForm("Adafruit IO", ("aio_",), r"aio_[A-Za-z0-9]{28}", "io.adafruit.com: API authentication"),
    SecretForm("age", ("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}", "age-encryption.org: format v1"),
    SecretForm("Airtable", ("pat",), rf"pat[A-Za-z0-9]{{14}}\.{_HEX}{{64}}", "airtable.com/developers: personal access tokens"),
    SecretForm("Alibaba Cloud", ("ltai",), r"LTAI[A-Za-z0-9]{12,24}", "alibabacloud.com/help: AccessKey pairs"),
    SecretForm("Artifactory", ("akcp", "cmvmd"), r"(?:AKCp[A-Za-z0-9]{10,}+|cmVmd[A-Za-z0-9]{40,}+)", "jfrog.com/help: API keys, reference tokens"),
    SecretForm("Atlassian", ("atatt3", "atctt3", "atbb"), rf"(?:AT[AC]TT3{_B}{{50,}}+=*{_HEX}*|ATBB[A-Za-z0-9]{{24,}}+)", "support.atlassian.com: API tokens"),
    SecretForm("AWS", ("akia", "asia", "abia", "acca", "absk"), r"(?:A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])|ABSK[A-Za-z0-9+/]{100,}+=*)", "docs.aws.amazon.com: IAM unique identifiers, Bedrock API keys"),
    SecretForm("Azure AD", ("q~",), r"[A-Za-z0-9]{3}[78]Q~[\w.~-]{31,34}", "learn.microsoft.com: client secrets"),
    SecretForm("Clojars", ("clojars_",), r"CLOJARS_[A-Za-z0-9]{60}", "github.com/clojars: deploy tokens"),
    SecretForm("Cloudflare", ("v1.0-",), rf"v1\.0-{_HEX}{{20,32}}-{_HEX}{{100,}}+", "developers.cloudflare.com: Origin CA keys"),
    SecretForm("Databricks", ("dapi",), rf"dapi{_HEX}{{32}}(?:-\d)?", "docs.databricks.com: personal access tokens"),
    SecretForm("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"do[opr]_v1_{_HEX}{{64}}", "docs.digitalocean.com: API tokens"),
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
    SecretForm("Google", ("aiza", "ya29.", "gocspx-"), rf"(?:AIza{_B}{{35}}|ya29\.[\w.-]{{20,}}+|GOCSPX-{_B}{{28}})", "cloud.google.com: API keys, OAuth tokens and client secrets"),
    SecretForm("Grafana", ("glc_", "glsa_"), rf"(?:glc_[A-Za-z0-9+/]{{32,}}+=*|glsa_[A-Za-z0-9]{{32}}_{_HEX}{{8}})", "grafana.com/docs: service accounts, access policies"),
    SecretForm("Groq", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}+", "console.groq.com: API keys"),
    SecretForm("Harness", ("pat.", "sat."), r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", "developer.harness.io: API keys"),
    SecretForm("Hugging Face", ("hf_", "api_org_"), r"(?:hf_|api_org_)[A-Za-z0-9]{16,}+", "huggingface.co/docs: user access tokens"),
    SecretForm("Infracost", ("ico-",), r"ico-[A-Za-z0-9]{32}", "infracost.io/docs: API keys"),
    SecretForm("Intra 42", ("s-s4t2",), rf"s-s4t2(?:ud|af)-{_HEX}{{64}}", "api.intra.42.fr: applications"),
    SecretForm("JSON web token", ("eyj",), rf"(?<![_-])eyJ{_B}{{8,}}+\.{_B}{{4,}}+\.{_B}*+", "RFC 7519"),
    SecretForm("LangSmith", ("lsv2_",), rf"lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}", "docs.smith.langchain.com: API keys"),
    SecretForm("Linear", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}+", "linear.app/developers: API keys"),
    SecretForm("Mailchimp", ("-us",), rf"{_HEX}{{32}}-us\d{{1,2}}(?!\d)", "mailchimp.com/developer: API keys"),
    SecretForm("Mailgun", ("key-", "pubkey-"), rf"(?:pub)?key-{_HEX}{{32}}", "documentation.mailgun.com: API keys"),
    SecretForm("New Relic", ("nrak-", "nrjs-", "nral"), rf"(?:NRAK-[A-Z0-9]{{27}}|NRJS-{_HEX}{{19}}|{_HEX}{{36}}NRAL)", "docs.newrelic.com: API keys"),
    SecretForm("npm", ("npm_",), r"npm_[A-Za-z0-9]{36}", "docs.npmjs.com: access tokens"),
    SecretForm("Notion", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})", "developers.notion.com: token formats"),
    SecretForm("NVIDIA", ("nvapi-",), r"nvapi-[\w-]{40,}+", "docs.nvidia.com: API keys"),
    SecretForm("OpenAI, Anthropic, OpenRouter and the like", ("sk-", "pk-", "rk-"), r"[spr]k-[A-Za-z0-9][\w-]{15,}+", "platform.openai.com, docs.anthropic.com: API keys"),
    SecretForm("OpenShift", ("sha256~",), r"sha256~[\w-]{43}", "docs.openshift.com: OAuth access tokens"),
    SecretForm("Perplexity", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}+", "docs.perplexity.ai: API keys"),
    SecretForm("Pinecone", ("pcsk_",), r"pcsk_\w{50,}+", "docs.pinecone.io: API keys"),
    SecretForm("PlanetScale", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "planetscale.com/docs: service tokens"),
    SecretForm("Postman", ("pmak-",), rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}", "learning.postman.com: API keys"),
    SecretForm("Prefect", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}", "docs.prefect.io: API keys"),
    SecretForm("private key", ("private key",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", "RFC 7468, RFC 9580"),
    SecretForm("PuTTY", ("putty-user-key-file",), r"PuTTY-User-Key-File-\d.*?(?:Private-MAC: \w++|\Z)", "the.earth.li/~sgtatham/putty: PPK format"),
    SecretForm("Pulumi", ("pul-",), rf"pul-{_HEX}{{40}}", "pulumi.com/docs: access tokens"),
    SecretForm("PyPI", ("pypi-",), r"pypi-AgE[\w-]{50,}+", "pypi.org/help: API tokens"),
    SecretForm("ReadMe", ("rdme_",), r"rdme_[a-z0-9]{70}", "docs.readme.com: API keys"),
    SecretForm("Replicate", ("r8_",), r"r8_[A-Za-z0-9]{37}", "replicate.com/docs: API tokens"),
    SecretForm("RubyGems", ("rubygems_",), rf"rubygems_{_HEX}{{48}}", "guides.rubygems.org: API keys"),
    SecretForm("Scalingo", ("tk-us-",), r"tk-us-[\w-]{48}", "developers.scalingo.com: tokens"),
    SecretForm("SendGrid", ("sg.",), r"SG\.[\w-]{22}\.[\w-]{43}", "docs.sendgrid.com: API keys"),
    SecretForm("Brevo", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-{_HEX}{{64}}-[A-Za-z0-9]{{16}}", "developers.brevo.com: API keys"),
    SecretForm("Sentry", ("sntryu_", "sntrys_"), rf"(?:sntryu_{_HEX}{{64}}|sntrys_eyJ[A-Za-z0-9+/=_-]{{60,}}+)", "docs.sentry.io: auth tokens"),
    SecretForm("Shippo", ("shippo_",), rf"shippo_(?:live|test)_{_HEX}{{40}}", "docs.goshippo.com: API tokens"),
    SecretForm("Shopify", ("shpat_", "shpss_", "shpca_", "shppa_"), rf"shp(?:at|ss|ca|pa)_{_HEX}{{32}}", "shopify.dev: access tokens"),
    SecretForm("Slack", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"), r"(?:xox[abprse](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{10,}+)", "api.slack.com: token types"),
    SecretForm("Slack webhook", ("hooks.slack.com",), r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}+", "api.slack.com: incoming webhooks"),
    SecretForm("Square", ("eaaa", "sq0"), r"(?:EAAA[\w+=-]{56,64}|sq0(?:csp|atp|idp)-[\w-]{22,60})", "developer.squareup.com: access tokens"),
    SecretForm("Stripe", ("k_live_", "k_test_", "k_prod_", "whsec_"), r"(?:[rsp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{24,}+)", "docs.stripe.com: API keys, webhook secrets"),
    SecretForm("Tavily", ("tvly-",), r"tvly-[\w-]{20,}+", "docs.tavily.com: API keys"),
    SecretForm("Telegram", (":aa",), r"\d{8,10}:AA[\w-]{33}", "core.telegram.org/bots: authorising your bot"),
    SecretForm("Twilio", ("sk",), rf"SK{_HEX}{{32}}(?![0-9a-zA-Z])", "twilio.com/docs: API keys"),
    SecretForm("Typeform", ("tfp_",), r"tfp_[\w.=-]{40,}+", "typeform.com/developers: personal access tokens"),
    SecretForm("Vault", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,}+", "developer.hashicorp.com: Vault tokens"),
    SecretForm("Voyage AI", ("pa-",), r"pa-[A-Za-z0-9_-]{43}(?![\w-])", "docs.voyageai.com: API keys"),
    SecretForm("xAI", ("xai-",), r"xai-[A-Za-z0-9]{70,}+", "docs.x.ai: API keys"),
    SecretForm("Yandex Cloud", ("aqvn", "t1."), r"(?:AQVN[\w-]{35,38}|t1\.[\w-]{16,}+={0,2}\.[\w-]{86}={0,2})", "yandex.cloud/docs: API keys, IAM tokens"),
)  # fmt: skip

# A letter before it is a part of another word, unless it is one that an escape, as in JSON, stands for.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"

COMPILED = tuple((form.keywords, re.compile(_START + form.pattern, re.DOTALL)) for form in FORMS)
"""Keywords and pattern of each form."""
