"""Why an account has its score: the exact effect of removing each of its counterparties."""
