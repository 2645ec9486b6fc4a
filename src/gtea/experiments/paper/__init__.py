"""The paper's tables and figures, reproduced on public data sets or on a user's own data."""
