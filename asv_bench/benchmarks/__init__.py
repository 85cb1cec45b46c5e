"""Cost of arraytape: counts, which are free of noise, then times as ratios to NumPy."""
