"""The read side of the event store: memory-mapped arrays, read through views that hide the future."""
