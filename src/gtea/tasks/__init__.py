"""Prediction tasks: labelled accounts and pairs, splits without leakage, and metrics."""
