"""Training of the models that tracer-hooks ships."""
