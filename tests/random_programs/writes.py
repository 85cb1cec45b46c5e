"""Writes and loops of random programs: see ``statements``."""


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


def write_number(p):
    a = target(p, ndim=1)
    number = f"{p.number()}{p.one('+', '-')}0.4j"
    return a and p.env[a].dtype.kind == "c" and f"{a}[{p.key(a)}] {p.one('', '+', '*')}= {number}"


REFUSED = (
    "{a} += xp.ones((7, 5))",
    "{a}[100] = 1.0",
    "{a}[0] = xp.ones((9, 9))",
    "{a} @= xp.ones((7, 7))",
    "{a}[xp.asarray([0, 99])] += {b}",
    "{a}[0, 99] *= {b}",
    "{a}[..., None, 99]",
    "{a} -= {b}[None, None, None, None]",
    "{a}[::-1] /= xp.ones((11, 11))",
    "{a}[{b}] = 1.0",
    "{a}[0] = None",
    "{a} **= 'x'",
    "{a}[xp.asarray([True] * 19)] = {b}",
    "xp.broadcast_to({a}, (2, *{a}.shape))[0] += {b}",
    "xp.reshape({a}, (7, 11))",
    "xp.matmul({a}, xp.ones((77, 2)))",
    "xp.sum({a}, axis=9)",
)


def refused(p):
    """What raises, and must leave everything as it was."""
    line = p.one(*REFUSED).format(a=p.pick(), b=p.pick())
    errors = "(ValueError, IndexError, TypeError, AttributeError)"
    return f"try:\n    {line}\nexcept {errors}:\n    pass\nelse:\n    raise ValueError('no error')"
