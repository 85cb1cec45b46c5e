"""The text of a program: a flat Python function, whose intermediate results use kept memory."""
