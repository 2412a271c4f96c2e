"""A server: the pages on many runs live from the store, labels, and traces that a Collector sends."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.serving._access import Access as Access
    from tracer_hooks.serving._server import Server as Server
    from tracer_hooks.serving._server import listen as listen
    from tracer_hooks.serving._traces import TracePatience as TracePatience

__all__ = lazy_names(__name__)
