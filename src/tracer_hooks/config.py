"""Settings: an argument wins over an environment variable, which wins over the default.

===============================  =======================================================================
variable                         meaning
===============================  =======================================================================
``TRACER_HOOKS_CAPTURE``         content on exported spans: ``off`` (default), ``redacted`` or ``full``
``TRACER_HOOKS_RECORD``          content in the local record that diagnosis reads: same values, default ``full``
``TRACER_HOOKS_MAX_BYTES``       cap of one exported content attribute, in bytes (default 16384)
``TRACER_HOOKS_OPENINFERENCE``   ``1``: OpenInference's input and output values beside the GenAI keys
``TRACER_HOOKS_SUPPRESS``        ``1``: ask other LLM instrumentations to stay silent inside our chat spans
``TRACER_HOOKS_STORE``           path or URL of the run store, or ``off`` (default ``.tracer_hooks/runs.sqlite``)
``TRACER_HOOKS_BUBBLEWRAP``      code of the suites in bubblewrap: ``auto`` (default), ``required`` or ``off``
``TRACER_HOOKS_PUBLISH``         backends that diagnoses are written to, by URL with commas between (default ``off``)
``TRACER_HOOKS_RETENTION``       how long runs stay in the store: an age such as ``30d``, or ``1000 runs`` (default all)
``TRACER_HOOKS_EXIT_SECONDS``    how long the end of the process waits for work in the background (default 30)
``TRACER_HOOKS_SERVE_TOKEN``     what ``tracer-hooks serve`` asks every request for (default none on loopback)
``TRACER_HOOKS_MAX_FILE_MB``     most megabytes of a file of traces that is read (default 128; see the guide)
``TRACER_HOOKS_DISABLED``        ``1``: ``hook`` gives back what it was given, and nothing is observed
``TRACER_HOOKS_RETRIES``         most retries of any call, whatever ``retries=`` says; ``0`` stops them
``TRACER_HOOKS_STRICT``          ``1``: raise our own bugs instead of logging them
``TRACER_HOOKS_PREFILL_MODEL``   folder or GGUF file of the language model that the attributor ``prefill`` reads with
``TRACER_HOOKS_JUDGE_*``         options of the attributor ``judge``, such as ``TRACER_HOOKS_JUDGE_MODEL``
===============================  =======================================================================

``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` (``SPAN_ONLY``, ``SPAN_AND_EVENT`` or ``true``) turns full
capture on as well, as in other GenAI instrumentations.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeVar, cast, get_args

from tracer_hooks.errors import ConfigError, MissingExtraError

BubblewrapUse = Literal["auto", "required", "off"]
"""Whether the code of the suites runs in bubblewrap: where it works, or not at all without it, or never."""

DEFAULT_EXIT_SECONDS = 30.0
_LONGEST_S = 86_400
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_Whole = TypeVar("_Whole", int, None)
DEFAULT_STORE = Path(".tracer_hooks") / "runs.sqlite"

# What libpq takes, as far as one can tell the parts apart: of a password with an unescaped "@" or "/" a piece would be
# shown as the server's name.
_SERVER = re.compile(
    r"postgres(?:ql)?(?:\+psycopg)?://(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    r"(?P<where>[^@/?#]*(?:/[^@/?#]*)?)(?:\?(?P<query>[^#]*))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, repr=False)
class ServerUrl:
    """URL of a store on a PostgreSQL server, shown without its password.

    Raises:
        ConfigError: It is none. Nothing of it is shown, since it may hold a password.
    """

    secret: str
    """The whole URL."""

    def __post_init__(self) -> None:
        if _SERVER.fullmatch(self.secret) is None:
            raise ConfigError(
                "the store's URL cannot be read, expected postgresql://user@host:5432/database. "
                "Next: write '@', '/', '#' and '%' within a password as %40, %2F, %23 and %25, or put it in PGPASSWORD"
            )

    def __str__(self) -> str:
        parts = self._parts
        return f"postgresql://{parts['user'] + '@' if parts['user'] else ''}{parts['where']}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def absolute(self) -> ServerUrl:
        """Itself: unlike a path it says the same in every directory."""
        return self

    @property
    def has_password(self) -> bool:
        """Tell whether a password stands in it."""
        return bool(self._parts["password"]) or "password=" in (self._parts["query"] or "").lower()

    @property
    def _parts(self) -> dict[str, str | None]:
        found = _SERVER.fullmatch(self.secret)
        assert found is not None, "looked at when it was made"
        return found.groupdict()


StorePlace = Path | ServerUrl
"""Where a run store is: a file, or a database on a server."""


class ContentCapture(StrEnum):
    """Amount that is kept of what people and models wrote."""

    OFF = "off"
    """Nothing: names, times, counts and status only."""
    REDACTED = "redacted"
    """Text with keys, tokens, e-mail addresses and the user's patterns blanked."""
    FULL = "full"
    """Everything."""


@dataclass(frozen=True, kw_only=True)
class CaptureConfig:
    """Choice of what goes onto exported spans, and what stays in the local record."""

    export: ContentCapture = ContentCapture.OFF
    """Content on the spans that leave the process."""
    record: ContentCapture = ContentCapture.FULL
    """Content in the local record, which diagnosis reads; it never leaves the machine."""
    max_attribute_bytes: int = 16_384
    """Size that one exported content attribute is cut to; what is cut stays valid JSON."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """The user's own patterns to blank, beside the built-in ones."""
    openinference: bool = False
    """Whether OpenInference's ``input.value`` and ``output.value`` stand beside the GenAI keys."""
    suppress_others: bool = False
    """Whether other LLM instrumentations are asked to stay silent inside our chat spans."""

    @classmethod
    def from_env(cls, *, capture: str | ContentCapture | None = None) -> CaptureConfig:
        """Settings from the environment; ``capture`` overrides ``TRACER_HOOKS_CAPTURE``.

        Raises:
            ConfigError: A variable holds a value that cannot be used.
        """
        return cls(
            export=_capture("TRACER_HOOKS_CAPTURE", capture, _genai_capture()),
            record=_capture("TRACER_HOOKS_RECORD", None, ContentCapture.FULL),
            max_attribute_bytes=_whole("TRACER_HOOKS_MAX_BYTES", cls.max_attribute_bytes, least=256, unit="bytes"),
            openinference=_flag("TRACER_HOOKS_OPENINFERENCE"),
            suppress_others=_flag("TRACER_HOOKS_SUPPRESS"),
        )


@dataclass(frozen=True)
class Retention:
    """Rule for the runs that stay in the run store: those that are young enough, or the newest of all."""

    older_than: timedelta | None = None
    """Runs that began longer ago are deleted."""
    keep: int | None = None
    """So many runs stay, whatever their age; without ``older_than`` all others are deleted."""

    @classmethod
    def parse(cls, text: str, *, name: str = "retention") -> Retention:
        """Parse ``30d`` (also ``s``, ``m``, ``h``, ``w``) or ``1000 runs``.

        Raises:
            ConfigError: It says neither, or that nothing is kept.
        """
        count = re.fullmatch(r"\s*(\d{1,12})\s*runs?\s*", text)
        if count is not None and int(count[1]) > 0:
            return cls(keep=int(count[1]))
        age = parse_age(text, name=name, or_else=" or a number of runs such as '1000 runs'")
        if not age:
            raise ConfigError(f"{name} is {text!r}, which keeps no run at all. Next: set TRACER_HOOKS_STORE=off")
        return cls(older_than=age)


def parse_age(text: str, *, name: str, or_else: str = "") -> timedelta:
    """The time that ``30d``, ``12h`` or the like says."""
    found = re.fullmatch(r"\s*(\d{1,6})\s*([smhdw])\s*", text)
    if found is None:
        raise ConfigError(f"{name} is {text!r}, expected an age such as '30d'{or_else}")
    return int(found[1]) * _UNITS[found[2]]


_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_moment(text: str, *, name: str) -> datetime:
    """The moment that an age such as ``7d`` or a date says; one without a zone is of this machine.

    Raises:
        ConfigError: It is neither; ``name`` begins the message.
    """
    try:
        try:
            return datetime.fromisoformat(text.strip()).astimezone(UTC)
        except ValueError:
            return datetime.now(UTC) - parse_age(text, name=name, or_else=" or a date such as '2026-01-31'")
    except OverflowError as error:
        raise ConfigError(f"{name} is {text!r}, expected an age or a date that a calendar holds") from error


def parse_tags(given: Iterable[str], *, name: str) -> dict[str, str]:
    """The tags that ``KEY=VALUE`` texts name.

    Raises:
        ConfigError: One of them is none, or a key stands there twice; ``name`` begins the message.
    """
    found: dict[str, str] = {}
    for each in given:
        key, separator, value = each.partition("=")
        if not (key and separator) or found.get(key, value) != value:
            raise ConfigError(f"{name} is {each!r}, expected KEY=VALUE, each key once, as in {name} release=1.4")
        found[key] = value
    return found


@dataclass(frozen=True, kw_only=True)
class HookConfig:
    """Settings of one hooked team."""

    capture: CaptureConfig = field(default_factory=CaptureConfig)
    """What is kept of content."""
    store: StorePlace | None = DEFAULT_STORE
    """The run store's file or server; None keeps runs in memory only."""
    retention: Retention | None = None
    """Which runs stay in the store; None keeps all."""
    most_retries: int | None = None
    """How often any call is tried again at most; None where the environment does not say."""

    @classmethod
    def from_env(
        cls,
        *,
        capture: str | CaptureConfig | None = None,
        store: str | StorePlace | None = None,
        retention: str | None = None,
    ) -> HookConfig:
        """Settings from the environment, each overridden by its argument; ``store="off"`` keeps no store.

        A :class:`CaptureConfig` is taken as it is, and overrides every variable for capture.

        Raises:
            ConfigError: An argument or a variable holds a value that cannot be used.
        """
        if not isinstance(capture, CaptureConfig):
            capture = CaptureConfig.from_env(capture=capture)
        named = "retention" if retention is not None else "TRACER_HOOKS_RETENTION"
        said = retention if retention is not None else os.environ.get("TRACER_HOOKS_RETENTION", "")
        kept = Retention.parse(said, name=named) if said else None
        _seconds("TRACER_HOOKS_EXIT_SECONDS", DEFAULT_EXIT_SECONDS)  # said now, not at the end of the process
        most = _whole("TRACER_HOOKS_RETRIES", None, least=0, unit="retries")
        return cls(capture=capture, store=store_place(store), retention=kept, most_retries=most)


def is_disabled() -> bool:
    """Tell whether ``TRACER_HOOKS_DISABLED`` switches everything off.

    Raises:
        ConfigError: The variable holds a value that cannot be used.
    """
    return _flag("TRACER_HOOKS_DISABLED")


def store_place(store: str | StorePlace | None = None) -> StorePlace | None:
    """Where the run store is by argument, environment or default; None when it is switched off.

    Raises:
        ConfigError: It is a URL of something else than a file of SQLite or a PostgreSQL server.
        MissingExtraError: It is on a server, and what speaks with one is not installed.
    """
    value = store if store is not None else os.environ.get("TRACER_HOOKS_STORE") or DEFAULT_STORE
    return None if str(value).lower() == "off" else place_of(value)


def home_folder(store: StorePlace | None = None) -> Path:
    """Folder of what lies beside the store, absolute; beside a store on a server ``.tracer_hooks`` right here."""
    place = store or store_place()
    return (place if isinstance(place, Path) else DEFAULT_STORE).absolute().parent


def publish_urls(publish: str | Iterable[str] | None = None) -> tuple[str, ...]:
    """URLs of the backends to publish to, by argument or environment; none where that is ``off``."""
    value = publish if publish is not None else os.environ.get("TRACER_HOOKS_PUBLISH") or "off"
    urls = (url.strip() for text in ([value] if isinstance(value, str) else value) for url in str(text).split(","))
    return tuple(url for url in urls if url.lower() not in ("", "off"))


def place_of(named: str | os.PathLike[str] | ServerUrl) -> StorePlace:
    """The place that a path names, or a URL such as ``sqlite:///runs.sqlite`` or ``postgresql://user@host/database``.

    Raises:
        ConfigError: It is another URL. Of that the scheme alone is shown, since a URL may hold a password.
        MissingExtraError: It is on a server, and what speaks with one is not installed.
    """
    text = named.secret if isinstance(named, ServerUrl) else os.fspath(named)
    # One letter is a drive. A path made of a URL has lost the second slash, and with it how many there were.
    url = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)", text)
    if url is None:
        return Path(text)
    scheme, rest = url[1].lower(), text[url.end() :]
    if scheme in ("postgresql", "postgres", "postgresql+psycopg") and len(url[2]) > 1:
        server = ServerUrl(text)
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtraError("a run store on a PostgreSQL server", "tracer-hooks[postgres]")
        return server
    if scheme != "sqlite" or rest in ("", ":memory:") or len(url[2]) not in (3, 4):
        raise ConfigError(
            f"the store is a URL of {url[1]!r}, expected the path of a file, sqlite:///path (sqlite:////path from the "
            "root), or postgresql://user@host/database, as a text and no Path. "
            "Next: export TRACER_HOOKS_STORE=.tracer_hooks/runs.sqlite"
        )
    return Path("/" * (len(url[2]) - 3) + rest)


def bubblewrap_use(use: str | None = None) -> BubblewrapUse:
    """Tell whether the code of the suites runs in bubblewrap, by argument, environment or default.

    Raises:
        ConfigError: The argument or the variable holds a value that cannot be used.
    """
    value = use if use is not None else os.environ.get("TRACER_HOOKS_BUBBLEWRAP") or "auto"
    if value.lower() not in get_args(BubblewrapUse):
        raise ConfigError(f"TRACER_HOOKS_BUBBLEWRAP or bubblewrap= is {value!r}, expected 'auto', 'required' or 'off'")
    return cast("BubblewrapUse", value.lower())


def exit_seconds() -> float:
    """Return the seconds that the end of the process waits for diagnoses and runs still to be made and stored."""
    try:
        return _seconds("TRACER_HOOKS_EXIT_SECONDS", DEFAULT_EXIT_SECONDS)
    except ConfigError:  # it was right when the team was hooked
        return DEFAULT_EXIT_SECONDS


def _capture(variable: str, argument: object, default: ContentCapture) -> ContentCapture:
    value = argument if argument is not None else os.environ.get(variable, "")
    if not value:
        return default
    try:
        return ContentCapture(str(value).lower())
    except ValueError as error:
        raise ConfigError(f"{variable} or capture= is {value!r}, expected 'off', 'redacted' or 'full'") from error


def _genai_capture() -> ContentCapture:
    value = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").upper()
    return ContentCapture.FULL if value in ("SPAN_ONLY", "SPAN_AND_EVENT", "TRUE") else ContentCapture.OFF


def _whole(variable: str, default: _Whole, *, least: int, unit: str) -> int | _Whole:
    value = os.environ.get(variable, "")
    if not value:
        return default
    if re.fullmatch("[0-9]{1,12}", value) is None or int(value) < least:
        raise ConfigError(f"{variable} is {value!r}, expected a whole number of {unit}, {least} or more")
    return int(value)


def _seconds(variable: str, default: float) -> float:
    value = os.environ.get(variable, "")
    if not value:
        return default
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_S:  # not for NaN either
        raise ConfigError(f"{variable} is {value!r}, expected seconds from 0 to {_LONGEST_S}")
    return seconds


def _flag(variable: str) -> bool:
    value = os.environ.get(variable, "").lower()
    if value not in ("", *_OFF, *_ON):
        raise ConfigError(f"{variable} is {value!r}, expected '0' or '1'")
    return value in _ON
