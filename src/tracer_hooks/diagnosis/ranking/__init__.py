"""The learned rank of the steps of a run: signals, features, a model fitted to labels."""
