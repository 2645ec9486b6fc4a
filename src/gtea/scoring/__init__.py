"""Scores for accounts and pairs."""
