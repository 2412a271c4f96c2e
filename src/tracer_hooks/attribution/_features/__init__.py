"""Interpretable features of the steps of a trajectory."""

from tracer_hooks.attribution._features._table import FeatureTable, features_of, group_of

__all__ = ["FeatureTable", "features_of", "group_of"]
