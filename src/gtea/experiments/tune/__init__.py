"""Hyperparameter search: grid, random or TPE, scored on the validation part only."""
