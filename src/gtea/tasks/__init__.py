"""What is asked of a graph: labelled accounts or pairs, split without leaks, and how well it was answered."""
