"""A function that tests of tapes record."""


def square_slope(tape, x):
    """Watch x and return x * x."""
    tape.watch(x)
    return x * x
