"""The event store on disk: built once, memory-mapped, seen through views that hide the future."""
