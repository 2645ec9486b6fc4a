"""Training: loops, checkpoints, and runs that can be taken up again."""
