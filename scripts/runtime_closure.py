"""Which distributions are installed with tracer-hooks, its extras and its adapters, and for which of these.

Read from what is installed: each distribution names what it needs in turn. Requirements for other systems and
other versions of Python count, so that the answer does not depend on where it was asked. Tools for development,
documentation and benchmarks are not part of it.
"""

import itertools
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
# Extras that nobody needs to use tracer-hooks, and those that only name distributions with files of their own.
NOT_RUNTIME = {"dev", "docs", "bench"}
ADAPTERS = ("autogen", "crewai", "langgraph")
PACKAGES = ("lab", "models")  # "testing" is a tool of development
# What builds of PyTorch for one kind of accelerator ask for; other builds do not.
ACCELERATORS = ("cuda-", "intel-", "nvidia-", "pytorch-triton", "triton")
_SYSTEMS = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}
ENVIRONMENTS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": system,
        "platform_system": _SYSTEMS[system][0],
        "os_name": _SYSTEMS[system][1],
        "platform_machine": machine,
    }
    for python, system, machine in itertools.product(
        ("3.11", "3.12", "3.13"), _SYSTEMS, ("x86_64", "AMD64", "arm64", "aarch64")
    )
]


def parts():
    """The requirements of each part: the core, each extra that is for users, each adapter with its client of models."""
    core = _project("pyproject.toml")
    yield "core", _requirements(core["dependencies"])
    for extra in sorted(core["optional-dependencies"].keys() - NOT_RUNTIME):
        if found := _requirements(core["optional-dependencies"][extra]):
            yield extra, found
    for name in ADAPTERS:
        adapter = _project(f"adapters/{name}/pyproject.toml")
        extras = itertools.chain(*adapter.get("optional-dependencies", {}).values())
        yield name, _requirements([*adapter["dependencies"], *extras])
    for name in PACKAGES:
        package = _project(f"packages/{name}/pyproject.toml")
        yield name, _requirements(package["dependencies"])
        for extra, lines in package.get("optional-dependencies", {}).items():
            yield f"{name}[{extra}]", _requirements(lines)


def closure(requirements, path):
    """All that `requirements` lead to.

    Args:
        requirements: Where to begin.
        path: Folders in which distributions are looked for, as in `sys.path`.

    Returns:
        The distributions by canonical name, and the requirements that lead to a distribution that is not installed.
    """
    found, missing, known = {}, {}, {}
    todo = list(requirements)
    while todo:
        one = todo.pop()
        name = canonicalize_name(one.name)
        if name in known and one.extras <= known[name]:
            continue
        known[name] = known.get(name, set()) | one.extras
        distribution = next(iter(distributions(name=name, path=path)), None)
        if distribution is None:
            missing[name] = one
            continue
        found[name] = distribution
        asked = map(Requirement, distribution.requires or ())
        asked = (each for each in asked if not each.name.lower().startswith(ACCELERATORS))
        todo += [each for each in asked if _wanted(each, known[name])]
    return found, missing


def _wanted(requirement, extras):
    """Whether a requirement counts on any system, for a distribution that was asked for with `extras`."""
    marker = requirement.marker
    combinations = itertools.product(ENVIRONMENTS, ["", *extras])
    return marker is None or any(marker.evaluate({**where, "extra": extra}) for where, extra in combinations)


def _project(path):
    return tomllib.loads((ROOT / path).read_text())["project"]


def _requirements(lines):
    """What is asked for, without our own distributions."""
    asked = map(Requirement, lines)
    return [one for one in asked if not canonicalize_name(one.name).startswith("tracer-hooks")]
