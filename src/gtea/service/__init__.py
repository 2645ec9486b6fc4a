"""Live scores over HTTP: a log on disk, one writer, many readers."""
