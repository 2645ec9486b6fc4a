"""Training: tasks, the training loop, checkpoints and resumable runs."""
