"""GTEA as others would write it, plainly: what the benchmarks compare with."""
