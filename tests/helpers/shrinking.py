"""Reduction of a failing random program to the statements that its failure needs."""

ALL = 8  # the number of neighbouring statements that are left out together at first


def failure(check, skipped):
    """Return the error of ``check()`` as text, or None if it passes or raises ``skipped``."""
    try:
        check()
    except skipped:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(body, fails):
    """Return the body without the statements that its failure does not need.

    fails : a function that returns True if a smaller body also fails.
    A block is a statement with a ``body``, whose last ``kept`` statements have to stay;
    ``with_body(body)`` returns the block with another body.
    """
    size = ALL
    while size:
        body = without(body, fails, size)
        size //= 2
    return body


def without(body, fails, size):
    """Leave out runs of ``size`` statements without which ``fails`` still returns True."""
    for at in range(len(body) // size * size, -1, -size):
        smaller = body[:at] + body[at + size :]
        if len(smaller) < len(body) and fails(smaller):
            body = smaller
    for i, part in enumerate(body):
        if hasattr(part, "with_body"):
            cut = len(part.body) - part.kept

            def around(inner, i=i, part=part, body=body, last=part.body[cut:]):
                return [*body[:i], part.with_body([*inner, *last]), *body[i + 1 :]]

            inner = without(part.body[:cut], lambda inner, f=around: fails(f(inner)), size)
            body = around(inner)
    return body
