"""The prompts, as templates in files beside this module."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tracer_hooks.schema import ErrorMode

if TYPE_CHECKING:
    import jinja2

VERSION = 2
"""Version of the prompts and of what is made of the replies; part of the attributor's name in every answer."""


def render(name: str, **values: object) -> str:
    """The prompt ``name`` with its values filled in; text from a run is never read as a template."""
    return _environment().get_template(f"{name}.md.j2").render(modes=tuple(ErrorMode), **values).strip()


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("tracer_hooks.attribution._judge"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
