"""The text of a program: a flat Python function on memory that is kept between calls."""
