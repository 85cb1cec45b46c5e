"""The Array: handles, views, writes, memory shared with NumPy and others, untracked conversions."""
