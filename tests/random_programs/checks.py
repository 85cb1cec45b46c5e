"""What must hold of a program: NumPy's values bit for bit, and the derivatives that differences give.

Real programs are held against the complex step.  Of programs with complex arrays, which it does not
serve, central differences take its place.
"""

from functools import lru_cache

import numpy as np

import arraytape as xp
from arraytape._record.plan import Plan, plan_of

from .program import Program
from .spaces import COMPLEX, NUMPY, ArrayTapeSpace

FIRST = {"real": 1e-8, "single": 1e-3, "complex": 1e-6}  # tolerances on slopes
SECOND = 1e-5
MIDDLE = 0.4  # what sets the weights of a program's middle apart
STEPS = (1e-6, 1e-5, 1e-7)  # where a kink lies within one step of differences, another one counts


@lru_cache(4096)
def weights(shape, dtype, turn):
    line = 1.0 + turn + 0.7 * np.arange(int(np.prod(shape)))
    found = np.cos(line) + 0.3
    return (found if dtype.kind == "f" else found - 1j * np.sin(line)).reshape(shape)


def total(program, space, env):
    """A real weighted sum of all arrays."""
    answer = 0.0
    for turn, name in enumerate(program.names):
        x, like = env[name], program.env[name]
        part = space.sum(x * space.beside(weights(like.shape, like.dtype, turn)))
        answer = answer + (space.real(part) if like.dtype.kind == "c" else part)
    return answer


def along(program, gradients, directions):
    """The elements of the directional derivative by each input."""
    return [np.real(np.conj(np.asarray(g)) * directions[x]) for x, g in gradients.items()]


def check_values(program, env):
    for name in program.names:
        found, expected = np.asarray(env[name]), np.asarray(program.env[name])
        assert found.shape == expected.shape, f"{name}: {found.shape}, NumPy {expected.shape}"
        assert found.dtype == expected.dtype, f"{name}: {found.dtype}, NumPy {expected.dtype}"
        # NumPy's scalars round products in another way than arrays.  Products in place are summed in an
        # order that depends, on some processors, on the layout, which other storages have their own of.
        if program.flavour == "complex" or ("@=" in program.text and not program.shared):
            np.testing.assert_allclose(found, expected, 1e-11, 1e-11, err_msg=name)
        elif found.tobytes() != expected.tobytes():
            np.testing.assert_array_equal(found, expected, err_msg=name)
            raise AssertionError(f"{name}: signs of zeros differ")


# --- what the derivatives should be -----------------------------------------------------------------
def nudge(by):
    """To be called with the middle of a program: a step of this length along its weights."""

    def write(x):
        x += by * weights(x.shape, x.dtype, MIDDLE)

    return write


def by_complex_step(program, sources, at=0.0, turn=None, middle=False):
    halfway = nudge(1e-30j) if middle else None
    env = program.run(COMPLEX, program.given(COMPLEX, at, turn, step=sources), halfway)
    return float(np.imag(total(program, COMPLEX, env))) / 1e-30


def by_differences(program, sources, h, middle=False):
    directions = {x: program.along[x] * (x in sources) for x in program.inputs}
    ahead, behind = (
        program.run(NUMPY, program.given(NUMPY, at, directions), nudge(at) if middle else None)
        for at in (h, -h)
    )
    return float(total(program, NUMPY, ahead) - total(program, NUMPY, behind)) / (2 * h)


def slopes(program, sources, middle=False):
    """The derivative of the total along the sources' directions; several, where one may be wrong."""
    if program.flavour != "complex":
        yield by_complex_step(program, sources, middle=middle)
        return
    for h in STEPS:
        yield by_differences(program, sources, h, middle)


def check_near(found, candidates, scale, tolerance, what):
    for expected in candidates:
        if abs(found - expected) <= tolerance * max(1.0, scale, abs(expected)):
            return
    raise AssertionError(f"{what}: the tape gives {found!r}, expected {expected!r}")


# --- checks -----------------------------------------------------------------------------------------
def not_taken(x):
    """0, by a selection that leaves out a NaN: its gradient needs the guarded pass."""
    return xp.sum(xp.where(xp.abs(x) > 1e6, xp.sqrt(xp.abs(x) - 1e6), 0.0))


@np.errstate(invalid="ignore")
def check_slopes(program, space, watched, middle=False, guarded=False):
    """The gradient by some inputs and, where asked, by an array that the program made and wrote to."""
    env, inputs = program.begin(space)
    sources = {x: inputs[x] for x in watched}
    directions = dict(program.along)

    def watch(x):
        tape.watch(x)
        sources["middle"] = x
        directions["middle"] = weights(x.shape, program.data["m0"].dtype, MIDDLE)

    with xp.GradientTape() as tape:
        tape.watch(sources)
        program.run(space, env, watch if middle else None)
        y = total(program, space, env)
        if guarded:
            y = y + not_taken(sources[watched[0]])
    check_values(program, env)
    gradients = tape.gradient(y, sources, unconnected_gradients="zero")
    parts = along(program, gradients, directions)
    found, scale = sum(map(np.sum, parts)), sum(np.sum(np.abs(part)) for part in parts)
    what = f"slope by {', '.join(sources)}"
    check_near(found, slopes(program, watched, middle), scale, FIRST[program.flavour], what)
    return scale


def check_pushed(program, space, scale):
    """Forward mode along all inputs at once."""
    env, inputs = program.begin(space)
    tangents = {x: xp.asarray(program.along[x]) for x in inputs}
    with xp.ForwardAccumulator(inputs, tangents) as accumulator:
        program.run(space, env)
        y = total(program, space, env)
    check_values(program, env)
    found = float(accumulator.jvp(y, unconnected_gradients="zero"))
    expected = slopes(program, program.inputs)
    check_near(found, expected, scale, FIRST[program.flavour], "forward mode")


def first_order(program, space, env, inputs):
    """The derivative of the total along all inputs, as an Array."""
    with xp.GradientTape() as tape:
        tape.watch(inputs)
        program.run(space, env)
        y = total(program, space, env)
    gradients = tape.gradient(y, inputs, unconnected_gradients="zero")
    slope = 0.0
    for x, g in gradients.items():
        slope = slope + xp.sum(xp.real(xp.conj(g) * space.beside(program.along[x])))
    return slope


def check_curvature(program, space):
    """The gradient of the slope along all inputs, against differences of slopes."""
    env, inputs = program.begin(space)
    with xp.GradientTape(persistent=True) as outer:
        outer.watch(inputs)
        slope = first_order(program, space, env, inputs)
    check_values(program, env)
    second = outer.gradient(slope, inputs, unconnected_gradients="zero")
    parts = along(program, second, program.turn)
    found, scale = sum(map(np.sum, parts)), sum(np.sum(np.abs(part)) for part in parts)
    if np.isnan(found) and at_a_tip(outer):
        return

    def moved(at):
        if program.flavour != "complex":
            return by_complex_step(program, program.inputs, at, program.turn)
        env = program.given(space, at, program.turn)
        return float(first_order(program, space, env, {x: env[x] for x in program.inputs}))

    expected = ((moved(h) - moved(-h)) / (2 * h) for h in (1e-5, 1e-6, 1e-8))  # as for STEPS
    check_near(found, expected, scale, SECOND, "second order")


def at_a_tip(tape):
    """Whether a program takes the absolute value of a complex 0, which has no curvature: it is NaN."""
    for record in tape._recording.records:
        plan = plan_of(record)
        if isinstance(plan, Plan) and plan.op.name == "abs" and plan.keeps_value("x"):
            data = np.asarray(
                getattr(plan.kept_value(record, "x"), "memory", plan.kept_value(record, "x"))
            )
            if data.dtype.kind == "c" and not data.all():
                return True
    return False


def check(program, storage=None):
    """Everything, on a storage; NumPy's when there is none."""
    space = ArrayTapeSpace(storage)
    with space.on():
        env, _ = program.begin(space)
        program.run(space, env)
        check_values(program, env)
        middle = program.seed % 2 == 1 and program.middle[0] >= 0
        scale = check_slopes(program, space, program.inputs, middle)
        one = program.inputs[program.seed % len(program.inputs)]
        check_slopes(program, space, [one], guarded=program.seed % 3 == 0)
        if program.seed % 4 in (1, 2):
            check_pushed(program, space, scale)
        if program.seed % 10 == 0 and program.flavour != "single":
            check_curvature(program, space)


def script(program):
    """The program as Python that runs by itself."""
    lines = ["import numpy as np", "import arraytape as xp", "from numpy import array"]
    lines.append("xp.above = lambda x, limit: x > limit")
    for name, x in program.data.items():
        order = sorted(range(x.ndim), key=lambda i: -x.strides[i])
        made = f"np.array({np.transpose(x, order).tolist()}, {x.dtype.name!r})"
        made = f"{made}.transpose({sorted(range(x.ndim), key=order.__getitem__)})"
        cut = program.cuts.get(name)
        shared = cut and f"{cut.replace(name, made, 1)}, copy=False"
        lines.append(f"{name} = xp.asarray({shared or made})")
    lines += [f"{name} = {text}" for name, text in program.views.items()]
    lines += [f"sources = [{', '.join(program.inputs)}]", "tape = xp.GradientTape()"]
    lines += ["with tape:", "    tape.watch(sources)"]
    lines += ["    " + line for line in program.text.splitlines()]
    return "\n".join(lines)


def replay(seed, storage=None):
    """Make and check one program; a failure comes with its script."""
    program = Program(seed, shared=storage is None)
    try:
        check(program, storage)
    except Exception as error:
        where = f" on {storage.name}" if storage else ""
        raise AssertionError(
            f"program {seed}{where}: {type(error).__name__}: {error}\n\n{script(program)}"
        ) from error
