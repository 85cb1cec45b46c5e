"""The statements of programs: each takes a scope and gives lines and blocks, or None."""

import numpy as np

HOW_GRAD = ("function", "tape", "persistent_tape", "tape_in_tape", "vjp", "pushing")
HOW_JACOBIAN = ("function", "tape", "pushing", "vjp")


def has_axes(x):
    return x.ndim > 0 and x.size > 0


# --- values ---------------------------------------------------------------------------------------
def elementwise(s):
    a = s.pick()
    x = s.alive[a]
    b = s.fitting(x.shape)
    forms = (
        f"np.sin({a}) * {b}", f"np.tanh({a}) + {b}", f"{a} * {b}", f"{a} - {b} * {b}",
        f"{a} / (1.5 + {a} * {a})", f"np.exp(-{a} * {a})", f"xp.sqrt(1.0 + {a} * {a})",
        f"{a} ** 2", f"{s.number()} - {a}", f"t.squash({a})", f"xp.log(2.0 + np.cos({a}))",
    )  # fmt: skip
    form = s.one(*forms)
    if b[0].isalpha() and s.chance(0.1):
        form = f"t.blend({a}, {b})"
    return f"{s.new()} = {form}"


def selected(s):
    a = s.pick(has_axes)
    if a is None:
        return None
    b = s.fitting(s.alive[a].shape)
    c = s.one(f"np.maximum({a}, {b})", f"np.where(t.above({a}, {s.number()}), {a}, {b})",
              f"xp.sort({a}, axis=-1)", f"np.minimum({a}, {s.number()})")  # fmt: skip
    return f"{s.new()} = {c}"


def reduced(s):
    a = s.pick(has_axes)
    if a is None:
        return None
    x = s.alive[a]
    axis = s.integer(-x.ndim, x.ndim)
    forms = (
        f"np.sum({a}, axis={axis})", f"xp.mean({a}, axis={axis}, keepdims=True)",
        f"np.max({a}, axis={axis})", f"np.cumsum({a}, axis={axis})", f"np.sum({a})",
        f"xp.prod({a}, axis={axis})", f"np.mean({a})",
    )  # fmt: skip
    return f"{s.new()} = {s.one(*forms)}"


def product(s):
    a = s.pick(has_axes)
    x = None if a is None else s.alive[a]
    b = a and s.pick(lambda y: y.ndim and y.shape[-2 if y.ndim > 1 else 0] == x.shape[-1])
    if b is None:
        return None
    y = s.alive[b]
    forms = [f"{a} @ {b}", f"np.matmul({a}, {b})"]
    forms += [f"np.outer({a}, {b})"] if x.ndim == y.ndim == 1 else []
    forms += [f"np.einsum('ij,jk->ki', {a}, {b})"] * 2 if x.ndim == y.ndim == 2 else []
    return f"{s.new()} = {s.one(*forms)}"


def joined(s):
    a = s.pick(has_axes)
    b = a and s.pick(lambda y: y.shape == s.alive[a].shape)
    return a and f"{s.new()} = {s.one('np.stack', 'np.concatenate')}([{a}, {b}])"


def made_like(s):
    """A new array in the dtype of another one, and what is written to it."""
    a, b = s.pick(), s.new()
    x = s.alive[a]
    c = s.fitting(x.shape)
    if c[0].isalpha() and s.chance(0.2):
        return f"{b} = xp.astype({c}, {a}.dtype, copy=True)"
    lines = [f"{b} = xp.{s.one('zeros', 'ones')}({x.shape}, dtype={a}.dtype)"]
    return [*lines, f"{b}[...] {s.one('', '+', '*')}= {c}"]


# --- views and layouts ----------------------------------------------------------------------------
def basic_key(s, shape):
    parts = []
    for n in shape:
        k = s.integer(-n, n)
        parts.append(s.one(":", f"{k}", "::-1", "1:", f"{max(k, 0)}:", "::2"))
    if parts and s.chance(0.3):
        parts = parts[: s.integer(1, len(parts) + 1)]
    return ", ".join(parts) or "..."


def view(s):
    a = s.pick()
    x = s.alive[a]
    forms = [f"{a}[...]", f"{a}[None]", f"{a}.reshape(-1)", f"np.ravel({a})"]
    if has_axes(x):
        forms += [f"{a}[{basic_key(s, x.shape)}]"] * 5
        forms += [f"{a}.T", f"np.flip({a})", f"xp.broadcast_to({a}, {(2, *x.shape)})"]
        forms += [f"np.moveaxis({a}, 0, -1)", f"xp.reshape({a}, (1, -1))"]
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        forms += [f"np.diagonal({a})"] * 2
    return f"{s.new()} = {s.one(*forms)}"


def picked(s):
    """By a 0-d index, which makes a view, and by others, which do not."""
    a = s.pick(has_axes)
    if a is None:
        return None
    x, n = s.alive[a], s.alive[a].shape[0]
    b = s.pick(lambda y: y.ndim == 1 and 0 < y.size <= n)
    forms = [f"{a}[[{s.integer(0, n)}, {s.integer(-n, 0)}]]", f"np.take({a}, [0, {n - 1}], axis=0)"]
    if b is not None:
        forms += [f"{a}[np.argmax({b})]", f"{a}[xp.argmin({b})]"] * 2
        forms += [f"{a}[xp.argmax({b}), None]"]
    if not s.mapped:
        forms += [f"{a}[t.above({a}, {s.number()})]"]
    if x.ndim > 1:
        forms += [f"{a}[..., {s.integer(0, x.shape[-1])}]"]
    return f"{s.new()} = {s.one(*forms)}"


def layout(s):
    a = s.pick(has_axes)
    forms = (f"t.fortran({a})", f"np.copy({a}.T).T", f"np.repeat({a}, 2, axis=0)[::2]")
    return a and f"{s.new()} = {s.one(*forms)}"


# --- writes ---------------------------------------------------------------------------------------
def fresh(s, shape, apart):
    """A value to write, which shares no memory with what is written to."""
    b = s.fitting(shape, apart)
    return s.one(b, b, f"np.sin({b})", f"{b} * {s.number()}")


def write(s):
    a = s.target()
    if a is None:
        return None
    x = s.alive[a]
    key = basic_key(s, x.shape)
    kind = s.integer(0, 10)
    if x.ndim and kind < 2:
        key = s.one("[0, -1]", f"t.above({a}, {s.number()})", "[0, 0]")
    elif x.ndim and kind < 5:
        b = s.pick(lambda y: y.ndim == 1 and 0 < y.size <= x.shape[0])
        key = f"{s.one('np.argmax', 'xp.argmin')}({b})" if b else key
    if "above" in key:
        sign = "" if s.mapped else s.one("", "*", "+")  # under vmap no mask may read
        return f"{a}[{key}] {sign}= {s.number()}"
    part = eval(f"{a}[{key}]", s.env)
    return f"{a}[{key}] {s.one('', '', '+', '-', '*')}= {fresh(s, part.shape, x)}"


def in_place(s):
    a = s.target()
    x = None if a is None else s.alive[a]
    whole = "" if a and s.binds(a) else "[...]"
    return a and f"{a}{whole} {s.one('+', '-', '*', '*')}= {fresh(s, x.shape, x)}"


def out_on_a_view(s):
    a = s.target(has_axes)
    if a is None:
        return None
    x = s.alive[a]
    key = basic_key(s, x.shape)
    part = eval(f"{a}[{key}]", s.env)
    if not part.ndim:
        return None
    b, c = fresh(s, part.shape, x), s.fitting(part.shape, x)
    f = s.one("multiply", "add", "subtract")
    forms = (f"np.{f}({b}, {c}, out={a}[{key}])", f"np.sin({c}, out={a}[{key}])",
             f"np.copyto({a}[{key}], {b})", f"np.{f}({a}[{key}], {c}, out={a}[{key}])")  # fmt: skip
    return s.one(*forms)


# --- state, decisions, errors ---------------------------------------------------------------------
def plain_function(s):
    """A function that may write to what is around it, called twice."""
    a, name = s.pick(), s.new("f")
    block, _ = s.function(name, s.alive[a], "plain")
    calls = [f"{s.new()} = {name}({a})"]
    if s.chance(0.5):
        calls += [f"{s.new()} = {name}({a})"]
    return [block, *calls]


def closures(s):
    """Functions that share a state, which is bound anew."""
    a, name = s.pick(), s.new("f")
    make = f"""def {name}():
    state = [{a} * {s.number()}]
    def push(u):
        state.append(state[-1] * {s.number()} + u)
        return state[-1]
    def last():
        return state[-1]
    return push, last"""
    push, last = s.new("p"), s.new("q")
    lines = [
        make,
        f"{push}, {last} = {name}()",
        f"{s.new()} = {push}({s.fitting(s.alive[a].shape)})",
    ]
    if s.target(lambda x: x is s.alive[a]):
        lines.append(f"{a}{'' if s.binds(a) else '[...]'} *= {s.number()}")
    return [*lines, f"{s.new()} = {push}({s.number()}) * {last}()"]


def objects(s):
    """An object whose attributes are bound anew, and written to in place."""
    a, name, o = s.pick(), s.new("C"), s.new("o")
    b = s.fitting(s.alive[a].shape)
    move = s.one("self.s = self.s * 0.5 + np.sin(u)", "self.s += u", "self.s[...] = self.s * u")
    make = f"""class {name}:
    def __init__(self, s):
        self.s, self.steps = s * {s.number()}, 0
    def step(self, u):
        {move}
        self.steps += 1
        return self.s * {s.one("self.steps", "1.0", "self.s")}"""
    return [
        make,
        f"{o} = {name}({a})",
        f"{s.new()} = {o}.step({b})",
        f"{s.new()} = {o}.step({s.number()})",
    ]


def failing(s):
    """An op that raises after some that did not."""
    a = s.target(has_axes)
    if a is None:
        return None
    x = s.alive[a]
    b = s.fitting(x.shape, x)
    whole = "" if s.binds(a) else "[...]"
    bad = s.one(f"{a}[99] = 1.0", f"np.add({a}, np.zeros(7), out={a})", f"{a}[...] = np.zeros((5, 7))",
                f"{a}{whole} += np.zeros((5, 7))", f"np.broadcast_to({a}, {(2, *x.shape)})[0] = 1.0",
                f"{a} @ np.zeros((9, 9))")  # fmt: skip
    return f"""try:
    {a}[0] {s.one("*", "+", "")}= {s.number()}
    {bad}
except (IndexError, ValueError, TypeError):
    {s.new()} = {a} * {b}"""


def decision(s):
    a, b = s.pick(lambda x: x.size), s.pick()
    test = f"t.above(np.sum({a}), {s.number()})"
    name = s.new()
    return f"{name} = {b} * {s.number()} if {test} else np.sin({b})"


def loop(s):
    a = s.target(lambda x: x.ndim and 1 < x.shape[0] < 5)
    if a is None:
        return None
    n = s.alive[a].shape[0]
    b = s.fitting(s.alive[a].shape[1:], s.alive[a])
    move = s.one(f"{a}[i] = np.sin({a}[i - 1]) + {b}", f"{a}[i] *= {a}[i - 1]", f"{a}[i] += {b}")
    return f"for i in range(1, {n}):\n    {move}"


def variable(s):
    """A Variable: state that cuts history, differentiated by itself in the program."""
    a, v = s.pick(has_axes), s.new("v")
    if a is None:
        return None
    shape = s.alive[a].shape
    lines = [f"{v} = t.variable({s.values(shape)})", f"{s.new()} = {v}.value() * {a}"]
    lines.append(f"{v}.assign_add({s.values(shape)})")
    gradient = f"t.grad(lambda w: np.sum(w * w * {a}), 'tape')({v}.value())"
    return [*lines, f"{s.new()} = {s.one(gradient, f'{v}.value() * {a} * {a}')}"]


# --- transforms -----------------------------------------------------------------------------------
def surrounded(s, a, block, call, write_result=True):
    """A call, perhaps between writes to what goes in and to what comes out."""
    x, lines = s.alive[a], [block]
    writable = s.target(lambda y: y is x) and has_axes(x)
    if writable and s.chance(0.5):
        lines.append(f"{a}[0] *= {s.number()}")
    lines.append(call)
    if writable and s.chance(0.6):
        lines.append(f"{a}[{s.one('0', '-1', '...')}] = {s.number()}")
    name = call.partition(" = ")[0]
    if write_result and s.chance(0.3):
        lines.append(f"{name}[{s.one('...', '0', '-1')}] {s.one('', '*')}= {s.number()}")
    return lines


def mapped(s):
    a = s.pick(has_axes)
    if a is None:
        return None
    x = s.alive[a]
    axis = s.integer(-x.ndim, x.ndim)
    name, one = s.new("f"), np.array(x.take(0, axis))
    block, given = s.function(name, one, "mapped")
    out = s.integer(-given.ndim - 1, given.ndim + 1)
    return surrounded(s, a, block, f"{s.new()} = t.vmap({name}, {axis}, {out})({a})")


def mapped_beside(s):
    """vmap of a function of two, of which one may be the same for all examples."""
    a = s.pick(has_axes)
    b = a and s.pick()
    if b is None:
        return None
    axes = "(0, None)"
    if s.alive[b].ndim and s.alive[b].shape[0] == s.alive[a].shape[0] and s.chance(0.5):
        axes = "(0, 0)"
    body = s.one(
        "    w = w * 1.0\n    w[...] = w * np.sum(u)\n    return w",
        "    w = w + np.sum(u * u)\n    return np.sum(w) * u",
        "    w = np.sin(w)\n    w += np.mean(u)\n    return w * w",
    )
    name = s.new("f")
    call = f"{s.new()} = t.vmap({name}, {axes})({a}, {b})"
    return surrounded(s, a, f"def {name}(u, w):\n{body}", call)


def gradient(s):
    a = s.pick(lambda x: 0 < x.size < 10)
    if a is None:
        return None
    name = s.new("f")
    block, _ = s.function(name, s.alive[a], "pure", whole=True)
    how = s.one(*HOW_GRAD)
    return surrounded(s, a, block, f"{s.new()} = t.grad({name}, {how!r})({a})")


def rows(s):
    a = s.pick(lambda x: 0 < x.size < 5)
    if a is None:
        return None
    name = s.new("f")
    block, _ = s.function(name, s.alive[a], "pure")
    how = s.one(*HOW_JACOBIAN)
    return surrounded(s, a, block, f"{s.new()} = t.jacobian({name}, {how!r})({a})")


def pushed(s):
    a = s.pick(lambda x: x.size)
    b = s.pick(lambda x: x.shape == s.alive[a].shape)
    name = s.new("f")
    block, _ = s.function(name, s.alive[a], "pure")
    how = s.one("function", "accumulator", "twice back")
    return surrounded(s, a, block, f"{s.new()} = t.along({name}, {a}, {b}, {how!r})", False)


def curved(s):
    a = s.pick(lambda x: 0 < x.size < 5)
    if a is None:
        return None
    b = s.pick(lambda x: x.shape == s.alive[a].shape)
    name = s.new("f")
    block, _ = s.function(name, s.alive[a], "pure", length=2, whole=True)
    how = s.one("function", "reverse over forward", "reverse over reverse")
    return surrounded(s, a, block, f"{s.new()} = t.hvp({name}, {a}, {b}, {how!r})")


def ruled(s):
    """A function with a rule of its own, or that runs again; perhaps for each example."""
    a, name = s.pick(lambda x: x.size), s.new("f")
    block, _ = s.function(name, s.alive[a], "rule")
    how = s.one("closed", "fresh", "again", "both")
    return surrounded(s, a, block, f"{s.new()} = t.ruled({name}, {how!r})({a})")


def ruled_for_each(s):
    a = s.pick(has_axes)
    if a is None:
        return None
    how, rule = s.one("closed", "fresh", "again", "both"), s.new("f")
    body = s.one("np.sin(u) * u", "np.exp(-u * u) + u", "np.tanh(u * 2.0)", "u / (1.0 + u * u)")
    make = f"{rule} = t.ruled(lambda u: {body}, {how!r})"
    forms = [f"lambda u: {rule}(u) * u", f"lambda u: {rule}({rule}(u) + {s.number()})"]
    if not s.depth:  # NumPy's side takes no derivative of a derivative
        forms.append(f"t.grad(lambda u: np.sum({rule}(u * u)), 'function')")
    f = s.one(*forms)
    return surrounded(s, a, make, f"{s.new()} = t.vmap({f})({a})")


FLAT = {
    elementwise: 10, selected: 2, reduced: 4, product: 2, joined: 1, made_like: 1, view: 6, picked: 4,
    layout: 1,
    write: 10, in_place: 5, out_on_a_view: 2,
}  # fmt: skip
PURE = FLAT | {ruled: 1, ruled_for_each: 1, mapped: 1, mapped_beside: 1}
STATEMENTS = FLAT | {
    plain_function: 3, closures: 2, objects: 3, failing: 3, decision: 2, loop: 2, variable: 2,
    mapped: 6, mapped_beside: 3, gradient: 5, rows: 3, pushed: 4, curved: 1, ruled: 3,
    ruled_for_each: 3,
}  # fmt: skip
