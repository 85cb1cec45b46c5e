"""The text of a program: a flat Python function on memory that stays from call to call."""
