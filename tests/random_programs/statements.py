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


# --- writes -----------------------------------------------------------------------------------------
def target(p, ndim=0, fits=None):
    """The name of an array that can be written to."""
    a = p.pick(ndim, fits)
    return a if a is None or p.env[a].flags.writeable else None


def write(p):
    a = target(p)
    if a is None:
        return None
    key = p.key(a)
    shape = p.region(a, key)
    if shape is None:
        return None
    b = p.fitting(shape, kind=p.kind(a))
    value = p.one(b, b, f"xp.tanh({b})" if b in p.env else b, f"{b} * {p.number()}")
    return f"{a}[{key}] = {value}"


def write_own_part(p):
    a = target(p, ndim=1, fits=lambda s: s[0] > 1)
    if a is None:
        return None
    keys = [p.key(a), *(p.basic_key(p.shape(a)) for _ in range(8))]
    shape = p.region(a, keys[0])
    same = [key for key in keys[1:] if p.region(a, key) == shape]
    return f"{a}[{keys[0]}] {p.one('', '', '+', '*')}= {a}[{same[0]}]" if same else None


def update_part(p):
    a = target(p, ndim=1)
    if a is None:
        return None
    key = p.key(a)
    shape = p.region(a, key)
    if shape is None:
        return None
    if p.chance(0.2):
        return f"{a}[{key}] {p.one('**= 2', '/= 1.25')}"
    return f"{a}[{key}] {p.one('+', '-', '*')}= {p.fitting(shape, kind=p.kind(a))}"


def write_through_a_nameless_view(p):
    a = target(p, ndim=1, fits=lambda s: 0 not in s)
    if a is None:
        return None
    forms = [f"xp.flip({a})", f"{a}[...]", f"{a}[None]", f"xp.moveaxis({a}, 0, -1)"]
    forms += [f"{a}.T"] * 2 if len(p.shape(a)) == 2 else []
    size = p.env[a].size
    if p.env[a].flags.c_contiguous:
        forms += [f"xp.reshape({a}, (-1,))", f"xp.reshape({a}, (1, {size}))"]
    form = p.one(*forms)
    key = p.basic_key(eval(form, p.scope, dict(p.env)).shape)
    shape = p.region(form, key)
    sign = p.one("", "", "+", "-", "*")
    return None if shape is None else f"{form}[{key}] {sign}= {p.fitting(shape, kind=p.kind(a))}"


def in_place(p):
    a = p.pick()
    if p.shape(a) and not p.env[a].flags.writeable:
        return None
    kind = p.kind(a)
    b = p.one(a, p.fitting(p.shape(a), kind), p.fitting(p.shape(a), kind))
    if p.chance(0.1) and p.shape(a):
        return f"{a} **= 2"
    if p.chance(0.2):
        return f"{a} /= {b} * {b} + 0.7"
    return f"{a} {p.one('+', '-', '*')}= {b}"


def in_place_product(p):
    a = target(p, ndim=2)
    n = a and p.shape(a)[-1]
    b = a and p.pick(fits=lambda s: s == (n, n), kind=p.kind(a))
    return b and f"{a} @= {b}"


def alias(p):
    return f"{p.fresh()} = {p.pick()}"


def copy(p):
    a = p.pick(ndim=1)
    return a and f"{p.fresh()} = xp.asarray({a}, copy=True)"


def zeros(p):
    a = p.pick(ndim=1)
    dtype = p.one("", ", dtype=xp.float32") if p.flavour == "single" else ""
    made = p.one(f"xp.zeros({p.shape(a)}{dtype})", f"xp.zeros_like({a})") if a else None
    return a and f"{p.fresh()} = {made}"


def forget(p):
    return f"del {p.pick()}" if len(p.alive) > 6 else None


# --- loops ------------------------------------------------------------------------------------------
def scan(p):
    a = target(p, ndim=1, fits=lambda s: 1 < s[0] < 8)
    b = a and p.fitting(p.shape(a)[1:], kind=p.kind(a))
    move = p.one("xp.tanh({a}[i - 1] + {b})", "{a}[i - 1] * {b}", "{a}[i] + {b} * 0.5")
    move = a and move.format(a=a, b=b)
    return a and f"for i in range(1, {p.shape(a)[0]}):\n    {a}[i] = {move}"


def scan_of_zeros(p):
    """A state made row by row (or column by column), each from the ones before it."""
    a = p.pick(ndim=1, fits=lambda s: len(s) == 1)
    if a is None:
        return None
    n, h, rows = p.shape(a)[0], p.fresh(), p.integer(3, 6)
    shape, now, before, older = p.one(
        ((rows, n), "i", "i - 1", "i - 2"), ((n, rows), ":, i", "..., i - 1", ":, i - 2")
    )
    dtype = p.env[a].dtype.name
    made = f"xp.zeros({shape}, dtype=xp.{dtype})"
    b = p.fitting((n,), kind=p.kind(a))
    move = p.one(
        "xp.tanh({h}[{before}] + {b})",
        "{h}[{before}] * 0.5 + {b}",
        "{h}[{before}] - {h}[{older}] * {b}",
    ).format(h=h, b=b if b != h else "0.5", before=before, older=older)
    if h == a:
        return None
    return (
        f"{h} = {made}\n{h}[{now.replace('i', '0')}] = {a}\n"
        f"for i in range(2, {rows}):\n    {h}[{now}] = {move}\n    {h}[{now}] *= 0.9"
    )


def until(p):
    """A loop that an index ends, or a value."""
    a = target(
        p,
        ndim=1,
        fits=lambda s: 1 < s[0] < 8,
    )
    if a is None:
        return None
    if p.kind(a) == "f" and p.chance(0.5):
        top = f"xp.max(xp.abs({a}))"
        return f"while xp.above({top}, 0.8):\n    {a} *= 0.7\n    {a}[0] -= {a}[-1] * 0.1"
    b = p.fitting(p.shape(a)[1:], kind=p.kind(a))
    n = p.shape(a)[0]
    return f"i = 1\nwhile i < {n}:\n    {a}[i] += {a}[i - 1] * {b}\n    i += {p.one(1, 2)}"


def rows(p):
    a = target(p, ndim=2)
    f = p.one("row *= 0.5", "row += row[::-1]", "row[0] = row[-1] * 0.7", "row -= i * 0.1")
    each = p.one("{a}", "xp.unstack({a}, axis=-1)", "{a}[::-1]").format(a=a)
    return a and f"for i, row in enumerate({each}):\n    {f}"


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


def write_number(p):
    a = target(p, ndim=1)
    number = f"{p.number()}{p.one('+', '-')}0.4j"
    return a and p.env[a].dtype.kind == "c" and f"{a}[{p.key(a)}] {p.one('', '+', '*')}= {number}"


REAL = {
    unary: 2.5, real_unary: 1, safe: 1, power: 1, binary: 5, quotient: 2, extremes: 1, clipped: 0.5,
    lengths: 0.5, selection: 1, reduction: 2, along_axis: 1, product: 1, basic_view: 5, reshape: 2,
    rearrangement: 4, broadcast: 0.7, joined: 0.7, rolled: 0.4, taken: 0.5, picked: 2,
    index_reused: 0.5, write: 7, write_own_part: 2, update_part: 3, write_through_a_nameless_view: 2,
    in_place: 6, in_place_product: 1, alias: 0.7, copy: 0.7, zeros: 0.5, forget: 1, scan: 1,
    scan_of_zeros: 1, until: 1, rows: 1,
}  # fmt: skip
ODDS = {
    "real": REAL,
    "single": REAL | {cast: 2},
    "complex": REAL | {parts: 3, complexes: 2, write_number: 1},
}
