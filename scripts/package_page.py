"""What a package index shows of a distribution: links that work there, and where the project lives.

Nothing in this repository says at which address it lives; `make build REPOSITORY=https://...` does, and here it is put
into a copy of the sources. Without an address, links to files become plain text.
"""

import json
import re
from pathlib import PurePosixPath

_LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)\s]+)\)")
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|#", re.IGNORECASE)
_PAGES = {
    "Source": "",
    "Documentation": "/tree/{ref}/docs",
    "Changelog": "/blob/{ref}/CHANGELOG.md",
    "Issues": "/issues",
}
"""Names that package indexes know, and the places below the address, as GitHub and its like have them."""


def with_absolute_links(text, folder, repository, ref):
    """A README whose relative links lead to files of the repository.

    Args:
        text: Markdown.
        folder: Where the README lies in the repository, such as `adapters/crewai`; `.` for its root.
        repository: The repository's address; empty where nobody said it.
        ref: The tag or branch that links lead to.
    """

    def replaced(found):
        mark, words, target = found.groups()
        if _ABSOLUTE.match(target):
            return found[0]
        if not repository:
            return words
        kind = "raw" if mark else "blob"
        path, hash_sign, anchor = target.partition("#")
        return f"{mark}[{words}]({repository}/{kind}/{ref}/{_resolved(folder, path)}{hash_sign}{anchor})"

    # Code is left as it is: what stands in it is no link.
    parts = re.split(r"(^```.*?^```[^\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)


def with_urls(pyproject, repository, ref):
    """A pyproject.toml with the table `[project.urls]`; as it is where nobody said the address.

    Raises:
        ValueError: It has such a table already.
    """
    if "[project.urls]" in pyproject:
        raise ValueError(
            "pyproject.toml states [project.urls] itself; take that table out, or build without REPOSITORY"
        )
    if not repository:
        return pyproject
    lines = [f"{name} = {json.dumps(repository + place.format(ref=ref))}" for name, place in _PAGES.items()]
    return pyproject.rstrip("\n") + "\n\n[project.urls]\n" + "\n".join(lines) + "\n"


def _resolved(folder, path):
    """`path`, as it is written in a file of `folder`, from the repository's root."""
    parts = []
    for part in PurePosixPath(folder, path).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
