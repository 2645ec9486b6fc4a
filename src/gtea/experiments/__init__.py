"""Experiments: the search for settings (``tune``), and the paper's tables and figures (``paper``)."""
