"""Public data sets by name (list, find, fetch, prepare), and synthetic payments."""
