"""Weights of the attributor ``encoder`` of tracer-hooks; see ``MODEL_CARD.md`` beside this file."""
