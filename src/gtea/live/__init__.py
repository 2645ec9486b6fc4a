"""Exact scores as events arrive: what one event changes, and nothing else."""
