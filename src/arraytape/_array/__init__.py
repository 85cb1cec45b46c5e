"""The Array: handles, views, paths, aliasing, memory shared with foreign code, untracked conversions."""
