"""Random programs whose parts are wrapped in recompute_grad and custom_gradient.

Each program is a tree of functions of an Array and two Variables.  Some of the functions are wrapped, in
ways that change no derivative.  Wrapped functions may contain wrapped functions.
"""

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, Variable

WEIGHTS = [1.0, 0.7, -0.3]
ALONG = [[0.5, 1.0, 0.2], [0.1, -0.4, 1.0], 0.7]


def with_rule_found_later(f):
    """Wrap f in a custom_gradient whose ``pull`` runs f again on a tape."""

    @xp.custom_gradient
    def g(x):
        def pull(dy, variables):
            with GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            found = tape.gradient(y, [x, *variables], dy, unconnected_gradients="zero")
            return found[0], found[1:]

        return f(x), pull

    return g


def with_rule_recorded(f):
    """Wrap f in a custom_gradient whose ``pull`` uses the tape that recorded f in the forward pass."""

    @xp.custom_gradient
    def g(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)

        def pull(dy, variables):
            found = tape.gradient(y, [x, *variables], dy, unconnected_gradients="zero")
            return found[0], found[1:]

        return y * 1.0, pull

    return g


def written(a):
    def f(x):
        z = x * 1.0
        z[1:] = a(x)[:2]
        z *= x
        part = z[::2]
        part += x[0]
        return z

    return f


LEAVES = {
    "sin": lambda v, w: xp.sin,
    "square": lambda v, w: lambda x: x * x,
    "exp": lambda v, w: lambda x: xp.exp(0.3 * x),
    "vector": lambda v, w: lambda x: x * v + xp.sum(v * v),
    "matrix": lambda v, w: lambda x: (xp.linalg.outer(v, v) + xp.eye(3)) @ xp.sin(x),
    "solve": lambda v, w: lambda x: xp.linalg.solve(3.0 * xp.eye(3) + xp.linalg.outer(x, v), x + w),
    "scalar": lambda v, w: lambda x: xp.tanh(x * w) * w,
}
BRANCHES = {
    "product": lambda a, b: lambda x: a(x) * b(x),
    "sum": lambda a, b: lambda x: a(x) + b(x),
    "after": lambda a, b: lambda x: a(b(x)),
    "twice": lambda a, b: lambda x: a(0.5 * a(x)),
    "write": lambda a, b: written(a),
    "where": lambda a, b: lambda x: xp.where(x > 0.2, a(x), b(x)),
    "turned": lambda a, b: lambda x: a(x[::-1]) * xp.max(x),
}
RULES = [with_rule_found_later, with_rule_recorded]


def inputs():
    """Return the two Variables that a program uses, and the Array on which it is called."""
    variables = [Variable([0.7, -0.4, 0.9], name="v"), Variable(0.6, name="w")]
    return variables, xp.asarray([0.35, -0.2, 0.8])


def program(rng, variables, wraps, depth=3):
    """Return a random function, whose parts are wrapped by functions drawn from ``wraps``.

    None in ``wraps`` leaves a part unwrapped.  The same seed and number of wraps give the same function.
    """
    kinds = BRANCHES if depth else LEAVES
    kind, wrap = rng.choice(sorted(kinds)), rng.choice(wraps)
    if depth:
        f = kinds[kind](*(program(rng, variables, wraps, depth - 1) for _ in range(2)))
    else:
        f = kinds[kind](*variables)
    return wrap(f) if wrap else f


def slopes(f, variables, x):
    """Return the value of f and its first three derivatives along a direction, by nested tapes."""

    def derivative(order):
        if not order:
            return xp.sum(f(x) * xp.asarray(WEIGHTS))
        with GradientTape() as tape:
            tape.watch(x)
            y = derivative(order - 1)
        found = tape.gradient(y, [x, *variables], unconnected_gradients="zero")
        return sum(xp.sum(g * xp.asarray(t)) for g, t in zip(found, ALONG, strict=True))

    return [float(derivative(order)) for order in range(4)]


def forward_slopes(f, variables, x):
    """Return the first and the second derivative of f along a direction, by forward mode."""
    primals, tangents = [x, *variables], [xp.asarray(t) for t in ALONG]
    with ForwardAccumulator(primals, tangents) as outer:
        with ForwardAccumulator(primals, tangents) as inner:
            y = xp.sum(f(x) * xp.asarray(WEIGHTS))
        first = inner.jvp(y, unconnected_gradients="zero")
    return [float(first), float(outer.jvp(first, unconnected_gradients="zero"))]
