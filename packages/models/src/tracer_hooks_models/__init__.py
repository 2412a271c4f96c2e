"""All of tracer-hooks that needs PyTorch: the attributors ``encoder`` and ``prefill``, a local judge, training.

The parts are found by entry points; importing this package loads none of them.
"""
