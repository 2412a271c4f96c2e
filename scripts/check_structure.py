"""Hold sizes of distributions to ceilings, class names to one meaning, imports between distributions to public names.

`make lint` runs this. Ceilings are in scripts/size.toml, in lines and files of Python. They fall: whoever makes a room
smaller lowers its ceiling in the same commit. A ceiling rises only by the lines that an issue grants, in a commit that
says so. Only the standard library is used.
"""

import ast
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = "scripts/size.toml"
SLACK = 0.02
"""A ceiling more than this share above the measured lines has been forgotten."""


def main(root):
    """Print what is too large or named twice; return the exit code."""
    problems = [*sizes(root), *repeated_names(root), *private_imports(root)]
    print("\n".join(f"check_structure: {problem}" for problem in problems), end="\n" if problems else "")
    return bool(problems)


def sizes(root):
    """Sentences on the distributions that are larger than they may be, or whose ceiling can fall."""
    for name, room in tomllib.loads((root / CEILINGS).read_text()).items():
        files = [path for folder in room["folders"] for path in python_files(root / folder)]
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        for what, found, most in (("lines", lines, room["lines"]), ("files", len(files), room["files"])):
            if found > most:
                yield (
                    f"{name} has {found:,} {what}, at most {most:,} are recorded in {CEILINGS}. Delete something that "
                    "is worth less than what you add, or put it together; a ceiling rises only by what an issue grants"
                )
        if lines < room["lines"] * (1 - SLACK):
            yield f"{name} has {lines:,} lines, {CEILINGS} still says {room['lines']:,}: lower it to {lines:,}"


def repeated_names(root):
    """Sentences on public class names that stand for two things."""
    places = defaultdict(list)
    for folder in ("src", "adapters", "packages"):
        for path in python_files(root / folder):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path.relative_to(root)}:{node.lineno}")
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"class {name} stands for {len(found)} things: {', '.join(found)}. Name each for what it is"


def private_imports(root):
    """Sentences on private names of the core that another distribution imports."""
    for path in python_files(root / "packages"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tracer_hooks":
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                if any(name.startswith("_") for name in names):
                    yield (
                        f"{path.relative_to(root)}:{node.lineno} imports a private name of {node.module}; export it in "
                        "a public package, or in tracer_hooks.extension"
                    )


def python_files(folder):
    """The Python files below a folder, without the tests of a distribution inside it."""
    return [path for path in sorted(folder.rglob("*.py")) if "tests" not in path.relative_to(folder).parts]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
