"""What of an agent's instructions a rewrite must keep: names that code relies on, and rules for the reply's form."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLACEHOLDER = re.compile(
    r"\{\{?\s*[A-Za-z_][\w.\[\]]*\s*\}?\}"  # {name}, {{ name }}
    r"|%\([A-Za-z_]\w*\)[sdrf]"
    r"|\$\{[A-Za-z_]\w*\}|\$[a-z_]\w*"
    r"|<[A-Za-z_][\w-]*>"
)
_TOKEN = re.compile(r"`[^`\n]+`|```\w*|\b[A-Z][A-Z_]{3,}\b:?|\"[\w-]+\"(?=\s*:)")
"""What a program looks for in a reply: a marker in capitals, a fence, a code word, a key of JSON."""
_FORM = re.compile(
    r"\b(?:nothing else|no other|in (?:one|a single|exactly|at most) "
    r"|(?:one|single) (?:line|word|sentence|block|number)"
    r"|format|json|yaml|xml|markdown|begin(?:s|ning)? with|start(?:s|ing)? with|end(?:s|ing)? with"
    r"|(?:reply|respond|answer|return|write|output|give|say) (?:only|just|exactly|with)|only (?:the|a|one|with)"
    r"|examples?:|for example:|e\.g\.:|terminate|must be|do not (?:write|add|explain|use))",
    re.IGNORECASE,
)


def protected_words(text: str, tools: Iterable[str] = ()) -> list[str]:
    """Placeholders, markers, and names of tools, as they stand in ``text``."""
    found = [match.group() for match in _PLACEHOLDER.finditer(text)]
    found += [match.group() for match in _TOKEN.finditer(text)]
    found += [name for name in tools if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return list(dict.fromkeys(found))


def says_the_form(sentence: str) -> bool:
    """Whether a sentence says how the reply has to look."""
    return _FORM.search(sentence) is not None
