"""Experiments: hyperparameter search (``tune``) and the paper's tables and figures (``paper``)."""
