"""The paper's tables and figures, measured on public data sets or on a user's own data."""
