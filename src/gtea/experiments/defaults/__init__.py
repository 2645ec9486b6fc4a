"""Is the default model ever behind a tree? Every table with no setting, and the differences with their intervals."""
