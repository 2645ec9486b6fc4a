"""From a view to batches: neighbours, histories, features and negatives. There is no random state."""
