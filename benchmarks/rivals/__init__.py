"""Plain implementations of GTEA, as baselines for the benchmarks."""
