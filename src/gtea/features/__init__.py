"""Model inputs: features of accounts, pairs and events, and their scaling, all fitted before the cut."""
