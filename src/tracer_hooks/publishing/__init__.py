"""Diagnoses written into backends of traces, Phoenix, MLflow and Langfuse, and failed traces read from them."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.publishing._annotations import Annotation as Annotation
    from tracer_hooks.publishing._annotations import annotations_of as annotations_of
    from tracer_hooks.publishing._annotations import write_annotations as write_annotations
    from tracer_hooks.publishing._destinations import Destination as Destination
    from tracer_hooks.publishing._destinations import destinations_of as destinations_of
    from tracer_hooks.publishing._destinations import send_request as send_request
    from tracer_hooks.publishing._publisher import Publisher as Publisher
    from tracer_hooks.publishing._publisher import publish_now as publish_now
    from tracer_hooks.publishing._reading import traces_in as traces_in

__all__ = lazy_names(__name__)
