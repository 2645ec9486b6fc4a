"""What a practitioner would use instead: the rivals that every result stands beside."""
