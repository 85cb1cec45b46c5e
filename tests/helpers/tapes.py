"""What tests of tapes record."""


def square_slope(tape, x):
    """x * x on the tape."""
    tape.watch(x)
    return x * x
