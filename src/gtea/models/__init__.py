"""The models by name: GTEA, the default hybrid, and what they are compared with; and a model on disk."""
