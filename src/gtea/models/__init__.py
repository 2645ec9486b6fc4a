"""The models by name: GTEA, the default hybrid and the baselines; and saved models on disk."""
