"""Create and extend stores: read tables, check rows, sort with DuckDB, write arrays, publish."""
