"""Runs of an experiment: the data, single trainings that resume, and the processes that do them."""
