"""For mkdocs: turns the Sphinx roles in our docstrings, such as :func:`x`, into links where the page of x is built."""

import re

_ROLE = re.compile(r":(?:func|class|meth|mod|data|attr|exc):<code>(~?)([\w.]+)</code>")


def on_page_content(html, **_kwargs):
    """Give the page with its roles replaced; mkdocs calls this after the Markdown of a page was rendered."""
    return _ROLE.sub(_link, html)


def _link(match):
    short, name = match.groups()
    shown = name.rpartition(".")[2] if short else name.lstrip(".")
    return f'<autoref identifier="{name}" optional><code>{shown}</code></autoref>'
