"""Interpretable features of the steps of a trajectory."""

from tracer_hooks.diagnosis._features._table import FeatureTable, features_of, group_of, table_of
from tracer_hooks.diagnosis._features._view import View

__all__ = ["FeatureTable", "View", "features_of", "group_of", "table_of"]
