"""The Array: handles, views, paths, aliasing, memory that foreign code shares, exits."""
