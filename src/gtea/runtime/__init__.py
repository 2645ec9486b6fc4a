"""Shared infrastructure: files, progress, devices, threads, compiled functions, random numbers."""
