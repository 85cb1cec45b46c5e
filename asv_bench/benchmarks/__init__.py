"""What arraytape costs: counts that cannot be noisy, then times as ratios to NumPy."""
