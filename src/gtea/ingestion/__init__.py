"""Everything that makes or grows a store: reading tables, checking rows, sorting with DuckDB, publishing."""
