"""Public data sets made ready for the paper's experiments."""
