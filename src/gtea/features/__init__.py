"""What a model is told about accounts, pairs and events, and how it is scaled. Learnt before the cut, never after."""
