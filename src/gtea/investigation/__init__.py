"""From a table of transactions to ranked accounts with reasons, in one command."""
