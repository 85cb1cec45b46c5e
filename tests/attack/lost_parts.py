"""Programs that lose a part of their gradient through each way to hold a number, and harmless twins.

A value leaves, is held under a name that is drawn from the analysis' own lists and from Python's and
NumPy's attributes, and comes back as a constant; in the twin it is only looked at.  What a program loses
is found by differences; a tape and the function forms are asked.  Silent and wrong is a finding; a
harmless program that is told counts as a false alarm.
"""

import builtins
import contextlib
import io
import itertools
import keyword
import linecache
import random
import re
import sys
import types
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from arraytape._exits import known_names

from .attack import Attack
from .holders import HOLDERS

AT = np.array([1.1234567, 0.7654321, 1.9876543])
LEAVES = [
    "float(x[0])",
    "x[1].item()",
    "np.asarray(x)[2]",
    "float(xp.sum(x))",
    "x.tolist()[0]",
    "math.sin(x[0])",
    "float(xp.max(xp.exp(x)))",
]
# Each loses what @W depends on.
BACK = [
    "xp.sum(x * @W)",
    "@W * xp.sum(x)",
    "xp.sum(xp.exp(x) / @W)",
    "xp.sum(xp.sin(x * x) + @W)",
    "xp.sum(xp.asarray([@W, 1.0, 2.0]) * x)",
    "xp.sum(x ** 2 - xp.full(3, @W) * x)",
    "xp.sum(xp.where(x > -50.0, x * @W, 0.0))",
    "xp.sum(x[1:]) * xp.exp(xp.asarray(@W))",
]
# Each looks at @W alone; c is a number of the program's own.
LOOKS = [
    "print(@W)",
    "text = f'loss {@W}'",
    "text = 'at {}'.format(@W)",
    "seen = []\nseen.append(@W)",
    "if @W > 1e6:\n    raise ArithmeticError('diverged')",
    "assert @W == @W",
    "k = 2 if @W > 0.0 else 1",
    "k = int(@W > 0.0)",
    "while @W > 1e6:\n    pass",
    "history['loss'] = @W",
    "trace.append((len(trace), @W))",
    "log.debug('loss %s', @W)",
    "converged = abs(@W) < 1e-9\nif converged:\n    return xp.sum(x)",
    "best = max(history.get('best', -1e9), @W)\nhistory['best'] = best",
    "rows = [str(@W), 'b']\n', '.join(rows)",
]
AFTER = [
    "xp.sum(x * c)",
    "c * xp.sum(x ** 2)",
    "xp.sum(xp.exp(x) * 0.5)",
    "xp.sum(xp.asarray([c, 1.0, 2.0]) * x)",
    "xp.sum(x * WEIGHTS)",
    "xp.sum((x - xp.asarray(WEIGHTS)) ** 2)",
    "xp.sum(model.scale * x)",
    "xp.sum(x * options['scale'])",
    "sum(x[i] * WEIGHTS[i] for i in range(3))",
]
PREAMBLE = """import logging
import math
import types
import numpy as np
import arraytape as xp
WEIGHTS = np.array([0.7, 1.3, 2.1])
model = types.SimpleNamespace(scale=1.7)
options = {'scale': 0.3}
history, trace = {}, []
log = logging.getLogger('quiet')
c = 2.5
"""
USED = set(re.findall(r"[A-Za-z_]\w*", PREAMBLE + "".join(BACK + LOOKS + AFTER + LEAVES)))
WORDS = {*itertools.chain(*[re.findall(r"[A-Za-z_]\w*", " ".join(h)) for h in HOLDERS.values()])}
OWN = {
    name
    for names in vars(known_names).values()
    if isinstance(names, frozenset | dict)
    for name in names
    if isinstance(name, str)
}
ATTRIBUTES = {
    *dir(np.ndarray),
    *dir(list),
    *dir(dict),
    *dir(str),
    *dir(float),
    *dir(set),
    *dir(xp.asarray(1.0)),
}
PLAIN = {
    "price",
    "weight",
    "rate",
    "state",
    "value",
    "total",
    "best",
    "cache",
    "scale",
    "loss",
    "norm",
}
TAKEN = USED | WORDS | {*dir(builtins)}


def drawable(names, local):
    """Return those of the names that a program may give: not those that it needs itself."""
    fits = [
        n for n in names if n.isidentifier() and not keyword.iskeyword(n) and not n.startswith("_")
    ]
    return sorted(n for n in fits if not (local and n in TAKEN))


ANYWHERE, LOCALS = (
    [drawable(names, local) for names in (OWN, ATTRIBUTES, PLAIN)] for local in (False, True)
)
SCRIPT = """import sys; sys.path.insert(0, "tests")
from attack import lost_parts
lost_parts.run({})"""
FRESH = itertools.count()
COUNTS = Counter()


def is_bare(holder):
    """Return True if a holder's name is one of a variable: then it must not hide what is needed."""
    return any(re.search(r"(?<![.'\w])@N", part) for part in holder)


def program(rng, is_harmful):
    """Return the source of a program, and what it does in words."""
    what = rng.choice([*HOLDERS])
    holder = HOLDERS[what]
    name = rng.choice(rng.choice(LOCALS if is_bare(holder) else ANYWHERE))
    preamble, put, get = (
        part.replace("@V", rng.choice(LEAVES)).replace("@N", name) for part in holder
    )
    lines = put.split("\n")
    if is_harmful:
        get = rng.choice(["@W", "(0.1 + 1.7 * @W)", "math.hypot(@W, 2.0)"]).replace("@W", get)
        lines.append("return " + rng.choice(BACK).replace("@W", get))
    else:
        if rng.random() < 0.5 or "'" in get:
            lines.append(f"w = {get}")
            get = "w"
        lines += rng.choice(LOOKS).replace("@W", get).split("\n")
        lines.append("return " + rng.choice(AFTER))
    body = "\n".join(f"    {line}" for line in lines)
    return f"{PREAMBLE}{preamble}\ndef f(x):\n{body}\n", f"{what}, named {name}"


def made(source):
    """Return the function of a program, as that of a module with a file."""
    name = f"lost_parts_{next(FRESH)}"
    file = f"/{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = file
    exec(compile(source, file, "exec"), vars(module))
    return module.f


def forget(f):
    """Let a program go."""
    sys.modules.pop(f.__module__, None)
    linecache.cache.pop(f.__code__.co_filename, None)


def by_tape(f, x):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def by_accumulator(f, x):
    found = []
    for row in np.eye(3):
        with xp.ForwardAccumulator(x, xp.asarray(row)) as accumulator:
            y = f(x)
        found.append(accumulator.jvp(y))
    return None if None in found else xp.stack(found)


ASKED = {
    "tape": by_tape,
    "grad": lambda f, x: xp.grad(f)(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
    "jvp": lambda f, x: xp.stack([xp.jvp(f, (x,), (xp.asarray(v),))[1] for v in np.eye(3)]),
    "vjp": lambda f, x: xp.vjp(f, x)[1](xp.asarray(1.0))[0],
    "accumulator": by_accumulator,
}


def differences(f):
    """Return the gradient by differences."""
    h = 1e-5 * np.eye(3)
    return [(float(f(xp.asarray(AT + e))) - float(f(xp.asarray(AT - e)))) / 2e-5 for e in h]


def outcome(f, ask):
    """Return the gradient, and what was said of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = ask(f, xp.asarray(AT))
        except (xp.LostGradientError, TypeError, ValueError) as error:
            if "arraytape" not in str(error) and " [at " not in str(error):
                raise AssertionError(f"not an error of ours: {error!r}") from error
            return None, f"{type(error).__name__}: {error}"
    said = [str(w.message) for w in caught if issubclass(w.category, xp.TapeWarning)]
    return found, said[0] if said else ""


def run_one(seed, asked=None):
    """Return what was asked, how the program fared, and its source."""
    rng = random.Random(seed)
    is_harmful = rng.random() < 0.6
    source, what = program(rng, is_harmful)
    asked = rng.choices([*ASKED], [5, 3, 1, 1, 1, 1])[0] if asked is None else asked
    f = made(source)
    try:
        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            try:
                expected = differences(f)
            except Exception as error:  # a name that breaks the program itself
                return asked, f"no program: {type(error).__name__}", f"{what}\n{error}\n{source}"
            found, said = outcome(f, ASKED[asked])
    finally:
        forget(f)
    is_right = found is not None and np.allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-6)
    fates = ("false alarm", "right") if is_right or not is_harmful else ("caught", "silent")
    fate = fates[not said] if is_right or said else "silent"
    return (
        asked,
        fate,
        f"{what}\nasked by {asked}, expected {expected}, got {found}, {said}\n{source}",
    )


def run(seed):
    """One program, asked once."""
    asked, fate, report = run_one(seed)
    form = asked if asked in ("tape", "accumulator") else "function form"
    COUNTS[f"{form}: {fate}"] += 1
    script = SCRIPT.format(seed)
    assert fate != "silent", f"a part is lost in silence: {report}\n{script}"
    return 1


ATTACK = Attack(run, "programs", COUNTS)
