"""How many secrets redaction blanks, how many words of ordinary prose it touches, and how long it takes.

    python benchmarks/redaction.py [--missed]

The secrets are the frozen list of ``_redaction_examples.py``. The prose is this project's documentation and README, and
the descriptions and licences of all packages that are installed beside it. Times are CPU seconds for one megabyte.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

from _redaction_examples import examples

from tracer_hooks.telemetry._redact import BLANK, Redactor

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
