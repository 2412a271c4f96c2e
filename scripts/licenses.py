"""Write THIRD_PARTY_LICENSES: what is installed with tracer-hooks, and under which licence; `make licenses` runs this.

The metadata of the installed packages are read. What other systems need, and the extra `ray`, which the tests do not
install, is fetched by uv into a folder that is removed again; so this needs uv and a package index.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name
from runtime_closure import ROOT, closure, parts
from stated_licence import names_the_gpl, stated_licence

OUTPUT = ROOT / "THIRD_PARTY_LICENSES"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
HEADER = """\
What is installed with tracer-hooks, its extras and its adapters, and under which licence
==========================================================================================

Written by `make licenses`; do not edit. None of these packages is part of tracer-hooks: a package installer fetches
them. Versions are those of constraints.txt and requirements/lock.txt; for the extra `ray`, which neither of them
holds, those of the day of writing. Packages that only some systems need are here too. Tools for development are not.

The licence is what the package says of itself, and in brackets where: a field of its metadata, or a file. "BSD" and
"PSF" stand where it does not say which text it means. After "files that name the GPL" come licence files in which the
word GPL, AGPL or LGPL stands, for whatever reason; docs/supply-chain.md says for which. The texts of the licences are
in each installed package, in its folder NAME-VERSION.dist-info.

PyTorch is listed as it is without an accelerator. Builds for NVIDIA's bring NVIDIA's libraries under NVIDIA's licences.
"""


def main():
    """Write the file; return the exit code."""
    if shutil.which("uv") is None:
        print("licenses: uv is not on PATH.\nNext: python3 -m pip install uv, then make licenses", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = [*sys.path, folder]
        if code := fetch_missing(path, folder):
            return code
        needed_by = {}
        for part, requirements in parts():
            for name, distribution in closure(requirements, path)[0].items():
                needed_by.setdefault(name, (distribution, []))[1].append(part)
        entries = [entry(name, *needed_by[name]) for name in sorted(needed_by)]
    OUTPUT.write_text("\n".join([HEADER, *entries]))
    print(f"licenses: {len(entries)} packages in {OUTPUT.name}")
    return 0


def fetch_missing(path, folder):
    """Install what is missing into `folder`, and what that needs in turn; return uv's exit code."""
    pins = {canonicalize_name(name): version for name, version in _PIN.findall(lock_text())}
    everything = [one for _, requirements in parts() for one in requirements]
    tried = set()
    while missing := closure(everything, path)[1]:
        if tried & missing.keys():
            print(f"licenses: {', '.join(sorted(tried & missing.keys()))} cannot be read", file=sys.stderr)
            return 1
        tried |= missing.keys()
        wanted = [
            f"{name}=={pins[name]}" if name in pins else f"{name}{one.specifier}" for name, one in missing.items()
        ]
        # What the tests do not install on this machine is for Windows, or has wheels for it.
        command = ["uv", "pip", "install", "--quiet", "--target", folder, "--python", sys.executable, "--no-deps"]
        command += ["--python-platform", "windows", "--only-binary", ":all:", *wanted]
        if code := subprocess.run(command, cwd=ROOT).returncode:
            return code
    return 0


def lock_text():
    """The lock file."""
    return (ROOT / "requirements" / "lock.txt").read_text()


def entry(name, distribution, needed_by):
    """What is written about one package."""
    licence, source = stated_licence(distribution)
    lines = [
        f"{name} {distribution.version.partition('+')[0]}",
        f"    licence: {licence} [{source}]",
        f"    homepage: {homepage(distribution)}",
        f"    needed by: {', '.join(needed_by)}",
    ]
    if gpl := names_the_gpl(distribution):
        lines.append(f"    files that name the GPL: {', '.join(map(short, gpl))}")
    return "\n".join(lines) + "\n"


def homepage(distribution):
    """The homepage by the metadata, else the place of the source, else the page of the package index."""
    metadata = distribution.metadata
    pairs = (line.partition(",") for line in metadata.get_all("Project-URL", ()))
    urls = {re.sub(r"[^a-z]", "", label.lower()): url.strip() for label, _, url in pairs}
    labels = ("homepage", "home", "repository", "source", "sourcecode", "github", "githubrepo", "documentation")
    stated = [metadata.get("Home-page"), *(urls.get(label) for label in labels)]
    return next((url for url in stated if url), f"https://pypi.org/project/{canonicalize_name(distribution.name)}/")


def short(path):
    """A path inside the folder .dist-info; in full where the file came with a copy of another package."""
    first, *rest = PurePosixPath(path).parts
    return PurePosixPath(*rest).as_posix() if first.endswith(".dist-info") else path


if __name__ == "__main__":
    sys.exit(main())
