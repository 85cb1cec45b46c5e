"""The class Array, its views and writes, memory shared with other code, and untracked conversions."""
