"""A random program that fails, cut down to the statements that its failure needs."""

ALL = 8  # statements that are left out at a time, to begin with


def failure(check, skipped):
    """Return the finding of ``check()``; None when nothing is wrong or nothing can be compared."""
    try:
        check()
    except skipped:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(body, fails):
    """Return the body without the statements that its failure does not need.

    fails : whether another body fails, too.  A block in it has a ``body`` of its own, of which the
    ``kept`` last statements have to stay, and gives ``with_body`` another one.
    """
    size = ALL
    while size:
        body = without(body, fails, size)
        size //= 2
    return body


def without(body, fails, size):
    """Return a body without the runs of ``size`` statements that its failure does not need."""
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
