"""A console that no text of a stranger can steer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tracer_hooks._safe_text import on_screen


class SafeConsole(Console):
    """Prints what it is given and nothing else: no markup, no emoji codes, no control characters.

    Whoever wants a style gives a :class:`rich.text.Text`. What a terminal takes for an order can come from Rich alone.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A plain string as text; cleaned before it is laid out, so that its width is right."""
        return super().render_str(on_screen(text), **{**options, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed, cleaned; those that steer the terminal are Rich's own."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            cleaned = renderable.copy()
            cleaned.plain = on_screen(cleaned.plain)  # one sign for one, so the styles stay where they are
            renderable = cleaned
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(on_screen(segment.text), segment.style)
