"""The search for settings: grid, random or TPE, by the validation part alone."""
