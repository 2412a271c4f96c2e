"""Hold every text pattern of the diagnosis to two cases that its author did not write.

`make lint` runs this. scripts/patterns.json names, for each regular expression of the packages below, two runs of
somebody else's in which it is found. A pattern that is new, or was changed, has no such entry and fails; `--find`
looks for them in files that tracer-hooks reads, and writes those that it found:

    python scripts/check_patterns.py --find ../data/who_and_when ../data/tau2.jsonl

Patterns from before this check that no run at hand holds are listed under "unproven"; that list only gets shorter.
"""

import dataclasses
import hashlib
import json
import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "patterns.json"
PACKAGES = ("diagnosis", "values")
CASES = 2
_MOST_CHARACTERS = 20_000
"""Of one text: a pattern that is found somewhere is found early somewhere."""


def main(arguments):
    """Print what has no cases, or look for them; return the exit code."""
    table = json.loads(TABLE.read_text())
    found = dict(patterns())
    if arguments[:1] == ["--find"]:
        return fill(table, found, [Path(place) for place in arguments[1:]])
    known, unproven = table["cases"], set(table["unproven"])
    missing = sorted(key for key in found if len(set(known.get(key, ()))) < CASES and key not in unproven)
    for key in missing:
        print(
            f"check_patterns: {key} ({found[key].pattern[:60]!r}) is new or changed, expected the ids of {CASES} cases "
            "that you did not write: python scripts/check_patterns.py --find DATA..., or say it without a pattern"
        )
    gone = sorted({*known, *unproven} - found.keys())
    for key in gone:
        print(f"check_patterns: {key} is gone: take it out of {TABLE.relative_to(ROOT)}")
    return bool(missing or gone)


def patterns():
    """Every compiled pattern at the top of a module: its module, name and digest, and the pattern."""
    sys.path.insert(0, str(ROOT / "src"))
    for package in PACKAGES:
        for path in sorted((ROOT / "src/tracer_hooks" / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
            source = path.read_text()
            if "re.compile" not in source:
                continue
            module = import_module(name)
            for attribute, value in sorted(vars(module).items()):
                if re.search(rf"^{re.escape(attribute)}\b.*=", source, re.MULTILINE):
                    for place, pattern in enumerate(inside(value)):
                        digest = hashlib.sha256(f"{pattern.flags} {pattern.pattern}".encode()).hexdigest()[:10]
                        yield f"{attribute}[{place}] {digest}", pattern


def inside(value):
    """The patterns that a value is, or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from inside(each)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from inside(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from inside(getattr(value, field.name, None))


def fill(table, found, places):
    """Look for the cases that are missing, and write the table anew; return the exit code."""
    known = {key: list(table["cases"].get(key, ())) for key in found}
    for case, text in texts(places):
        for key, pattern in found.items():
            if len(known[key]) < CASES and case not in known[key] and pattern.search(text):
                known[key].append(case)
    proven = {key: cases for key, cases in sorted(known.items()) if len(cases) >= CASES}
    unproven = sorted(key for key in table["unproven"] if key in found and key not in proven)
    TABLE.write_text(json.dumps({"cases": proven, "unproven": unproven}, indent=1) + "\n")
    print(f"check_patterns: {len(proven)} of {len(found)} patterns have {CASES} cases")
    return 0


def texts(places):
    """The id of each run in the files, with each text in it."""
    from tracer_hooks.datasets import load

    for place in places:
        for record in load(place):
            run = record.trajectory
            if run is None:  # a file of something else among them
                continue
            case = f"{place.name}/{run.run_id}"
            yield case, run.task[:_MOST_CHARACTERS]
            for step in run.steps:
                yield case, step.content[:_MOST_CHARACTERS]
                for call in step.tool_calls:
                    yield case, f"{call.name} {call.arguments} {call.result or ''}"[:_MOST_CHARACTERS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
