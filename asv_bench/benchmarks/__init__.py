"""Benchmarks of arraytape: counts, which have no noise, and times as ratios to NumPy's."""
