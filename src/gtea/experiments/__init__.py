"""Experiments: hyperparameter search (``tune``), the paper's tables and figures (``paper``), trainings (``runs``)."""
