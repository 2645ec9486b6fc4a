"""Public data sets by name: list, find copies, fetch, prepare; and generated payments."""
