"""Experiments: the search for settings, the paper's tables and figures, and the default model against trees.

``tune``, ``paper`` and ``defaults``; ``runs`` holds the trainings that the last two consist of.
"""
