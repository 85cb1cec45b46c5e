"""The statements of random programs: each returns a line, or None when nothing is at hand."""


def unary(p):
    a = p.pick()
    f = p.one("tanh", "sin", "cos", "exp", "square", "negative", "positive")
    return f"{p.fresh()} = xp.{f}({a})"


def real_unary(p):
    a = p.pick(kind="f")
    f = p.one("abs", "expm1", "atan", "log1p(xp.square", "sinh", "asinh")
    return a and f"{p.fresh()} = xp.{f}({a}){')' * f.count('(')}"


def safe(p):
    a = p.pick()
    f = p.one("sqrt", "log", "reciprocal") if p.kind(a) == "f" else "reciprocal"  # no branch cuts
    return f"{p.fresh()} = xp.{f}({a} * {a} + 0.5)"


def power(p):
    a = p.pick(ndim=1)
    return a and f"{p.fresh()} = {a} ** {p.one('2', '3', '2.0')}"


def binary(p):
    a = p.pick()
    b = p.fitting(p.shape(a))
    if p.chance(0.5):
        a, b = b, a
    return f"{p.fresh()} = {a} {p.one('+', '-', '*', '*')} {b}"


def quotient(p):
    a = p.pick()
    b = p.fitting(p.shape(a))
    if b in p.env and (abs(p.env[b]) > 0.3).all():
        return f"{p.fresh()} = {a} / {b}"
    return f"{p.fresh()} = {p.one(a, '1.0')} / ({a} * {a} + 0.7)"


def extremes(p):
    a = p.pick(ndim=1, kind="f")
    b = a and p.fitting(p.shape(a), kind="f")
    return b and f"{p.fresh()} = xp.{p.one('maximum', 'minimum')}({a}, {b})"


def clipped(p):
    a = p.pick(ndim=1, kind="f")
    return a and f"{p.fresh()} = xp.clip({a}, {-p.choices.uniform(0.2, 1.0):.2f}, 0.71)"


def lengths(p):
    a = p.pick(ndim=1, kind="f")
    b = a and p.fitting(p.shape(a), kind="f")
    return b in p.env and f"{p.fresh()} = xp.hypot({a} + 2.0, {b})"


def selection(p):
    a = p.pick(ndim=1, kind="f")
    if a is None:
        return None
    b, c = p.fitting(p.shape(a)), p.fitting(p.shape(a))
    return b in p.env and f"{p.fresh()} = xp.where(xp.above({a}, {p.number()}), {b}, {c})"


def reduction(p):
    f = p.one("sum", "mean", "max", "min", "prod", "var", "sum")
    a = p.pick(fits=lambda s: 0 not in s, kind="fc" if f in ("sum", "mean", "prod") else "f")
    if a is None:
        return None
    ndim = len(p.shape(a))
    axis = p.one("None", *map(str, range(-ndim, ndim)))
    if ndim > 1 and p.chance(0.2):
        axis = p.one("(0, 1)", "(-1, 0)")
    return f"{p.fresh()} = xp.{f}({a}, axis={axis}, keepdims={p.chance(0.4)})"


def along_axis(p):
    a = p.pick(ndim=1, fits=lambda s: 0 not in s)
    f = p.one("cumulative_sum", "diff", "repeat", "sort")
    if a is None or (f == "sort" and p.kind(a) != "f"):
        return None
    axis = p.integer(0, len(p.shape(a)))
    return f"{p.fresh()} = xp.{f}({a}, {'2, ' if f == 'repeat' else ''}axis={axis})"


def product(p):
    a = p.pick(ndim=1)
    if a is None:
        return None
    n = p.shape(a)[-1]
    b = p.pick(ndim=1, fits=lambda s: (s[-2] if len(s) > 1 else s[0]) == n)
    if p.chance(0.2) and len(p.shape(a)) == 2:
        return f"{p.fresh()} = {a}.T @ {a}"
    forms = (f"{a} @ {b}", f"xp.matmul({a}, {b})", f"xp.vecdot({a}, {a})")
    return b and f"{p.fresh()} = {p.one(*forms)}"


def basic_view(p):
    a = p.pick()
    return f"{p.fresh()} = {a}[{p.basic_key(p.shape(a))}]"


def reshape(p):
    a = p.pick()
    size = p.env[a].size
    shapes = ["(-1,)", f"(1, {size})", f"({size}, 1)"]
    shapes += [f"({n}, -1)" for n in (2, 3, 4) if size % n == 0 and size]
    shapes += ["(2, 3, -1)"] if size % 6 == 0 and size else []
    return f"{p.fresh()} = xp.reshape({a}, {p.one(*shapes)})"


def rearrangement(p):
    a = p.pick(ndim=1)
    if a is None:
        return None
    shape = p.shape(a)
    ndim = len(shape)
    axis = p.integer(-ndim, ndim)
    ones = [i for i, n in enumerate(shape) if n == 1]
    options = [
        f"xp.permute_dims({a}, {tuple(p.choices.sample(range(ndim), ndim))})",
        f"xp.flip({a})",
        f"xp.flip({a}, axis={axis})",
        f"xp.expand_dims({a}, axis={axis})",
        f"xp.moveaxis({a}, {axis}, 0)",
        f"xp.unstack({a}, axis={axis})[0]",
    ]
    options += [f"{a}.T", f"xp.matrix_transpose({a})"] if ndim == 2 else []
    options += [f"xp.squeeze({a}, axis={ones[0]})"] * 4 if ones else []
    return f"{p.fresh()} = {p.one(*options)}"


def broadcast(p):
    a = p.pick(fits=lambda s: len(s) < 3)
    return a and f"{p.fresh()} = xp.broadcast_to({a}, {(2, *p.shape(a))})"


def joined(p):
    a = p.pick(ndim=1)
    if a is None:
        return None
    b = p.pick(fits=lambda s: s == p.shape(a))
    ndim = len(p.shape(a))
    return f"{p.fresh()} = xp.{p.one('stack', 'concat')}([{a}, {b}, {a}], axis={p.integer(-ndim, ndim)})"


def rolled(p):
    a = p.pick(ndim=1)
    shift, axis = p.integer(-2, 3), p.one("None", "0", "-1")
    tiled = f"xp.tile({a}, (2, {p.one('1', '2')}))"
    return a and f"{p.fresh()} = {p.one(tiled, f'xp.roll({a}, {shift}, axis={axis})')}"


def taken(p):
    a = p.pick(ndim=1)
    if a is None:
        return None
    axis = p.integer(0, len(p.shape(a)))
    n = p.shape(a)[axis]
    index = f"xp.asarray({[p.integer(0, n) for _ in range(3)]})" if n else None
    return index and f"{p.fresh()} = xp.take({a}, {index}, axis={axis})"


def picked(p):
    a = p.pick(ndim=1)
    return a and f"{p.fresh()} = {a}[{p.key(a)}]"


def index_reused(p):
    a = p.pick(ndim=1, fits=lambda s: s[0] > 1)
    return a and f"k = {p.integers(p.shape(a)[0])}\n{p.fresh()} = {a}[k]\nk[0] = 0"


# --- of some flavours -------------------------------------------------------------------------------
def cast(p):
    a = p.pick()
    return f"{p.fresh()} = xp.astype({a}, xp.{p.one('float32', 'float64')})"


def parts(p):
    a = p.pick(kind="c")
    return a and f"{p.fresh()} = xp.{p.one('real', 'imag', 'conj', 'abs')}({a})"


def complexes(p):
    a = p.pick(kind="f")
    b = a and p.fitting(p.shape(a), kind="f")
    return a and f"{p.fresh()} = {a} + 1j * {b}"
