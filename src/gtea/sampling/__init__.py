"""From a view to batches: neighbours, histories, node features and negatives, drawn by counting, never by a state."""
