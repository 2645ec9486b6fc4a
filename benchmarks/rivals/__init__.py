"""Plain implementations of GTEA and of its statistics, as baselines for the benchmarks."""
