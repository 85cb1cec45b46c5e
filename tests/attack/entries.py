"""Entry points of arraytape, each as a state, what runs on it, and what must be whole afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace as State
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp
from arraytape import checkpoint, diagnose, functional, interop, nn, optimizers
from arraytape._record.stack import BaseRecorder, entered
from arraytape.testing import storages


class Entry(NamedTuple):
    """One way into arraytape.

    make : a new state.  run : from it to numbers, as often as one likes.  snapshot : what of the state
    must be old or new after an interruption.
    """

    make: Callable[[], Any]
    run: Callable[[Any], Any]
    snapshot: Callable[[Any], Any] = lambda s: None


ENTRIES: dict[str, Entry] = {}


def entry(make, snapshot=lambda s: None):
    """Enter a function in the table under its name."""

    def enter(run):
        ENTRIES[run.__name__.replace("_", "-")] = Entry(make, run, snapshot)
        return run

    return enter


def values(**more):
    return State(
        x=xp.asarray([0.5, 1.5, 2.5]), w=xp.asarray([1.0, 2.0, 3.0]),
        a=xp.asarray([[1.0, 2.0, 0.5], [0.3, 1.0, 0.2]]),
        **{name: make() for name, make in more.items()},
    )  # fmt: skip


def numbers(x):
    return None if x is None else np.asarray(x).tolist()


# --- tapes ----------------------------------------------------------------------------------------
@entry(lambda: values(tape=xp.GradientTape))
def one_shot_tape(s):
    with s.tape:
        s.tape.watch(s.x)
        y = xp.sum(xp.exp(s.x) * s.x)
    return numbers(s.tape.gradient(y, s.x))


@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def persistent_tape(s):
    with s.tape:
        s.tape.watch(s.x)
        y = s.x * s.w
        return numbers(s.tape.gradient(y, s.x)), numbers(s.tape.gradient(y * y, s.x))


@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def reset_tape(s):
    with s.tape:
        s.tape.watch(s.x)
        s.tape.reset()
        s.tape.watch(s.x)
        y = s.x * s.w
    return numbers(s.tape.gradient(y, s.x))


@entry(lambda: values(v=lambda: xp.Variable([1.0, 2.0, 3.0]), tape=lambda: xp.GradientTape(True)))
def tape_reset_outside(s):
    for _ in range(2):
        with s.tape:
            y = s.v * s.v
        found = numbers(s.tape.gradient(y, s.v))
        s.tape.reset()
    return found


@entry(lambda: values(tape=lambda: xp.GradientTape(profile=True, memory_limit=10**6)))
def accounting_tape(s):
    with s.tape:
        s.tape.watch(s.x)
        y = s.x * s.w
    found = numbers(s.tape.gradient(y, s.x))
    return found, s.tape.summary(by="line").total.records


@entry(lambda: values(tape=lambda: xp.GradientTape(check_numerics=True)))
def checking_tape(s):
    with s.tape:
        s.tape.watch(s.x)
        y = xp.log(s.x)
    return numbers(s.tape.gradient(y, s.x))


@entry(values)
def second_order(s):
    with xp.GradientTape() as outer:
        outer.watch(s.x)
        with xp.GradientTape() as tape:
            tape.watch(s.x)
            y = s.x**3
        g = tape.gradient(y, s.x)
    return numbers(outer.gradient(g, s.x))


@entry(lambda: values(tape=xp.GradientTape, outer=xp.GradientTape))
def stopped(s):
    with s.outer, s.tape:
        s.outer.watch(s.x)
        s.tape.watch(s.x)
        with s.tape.stop_recording():
            y = s.x * s.x
        z = y * s.x
    return numbers(s.tape.gradient(z, s.x)), numbers(s.outer.gradient(z, s.x))


@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def stopped_while_used(s):
    with s.tape:
        s.tape.watch(s.x)
        y = s.x * s.x
        with s.tape.stop_recording():
            g = s.tape.gradient(y, s.x)
    return numbers(g)


@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def worker(s):
    opened, done = threading.Event(), threading.Event()

    def elsewhere():
        with s.tape:
            s.tape.watch(s.x)
            opened.set()
            done.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    opened.wait(10)
    try:
        with s.tape.in_this_thread():
            y = s.x * s.w
    finally:
        done.set()
        thread.join()
    return numbers(s.tape.gradient(y, s.x))


@entry(lambda: values(v=lambda: xp.Variable([1.0, 2.0, 3.0]), tape=xp.GradientTape))
def variables_read(s):
    with s.tape:
        y = xp.sum(s.v * s.v)
    watched = len(s.tape.watched_variables())
    return watched, numbers(s.tape.gradient(y, s.v))


@entry(lambda: values(seen=type("Seen", (BaseRecorder,), {"record": lambda self, record: None})))
def other_recorders(s):
    with entered(s.seen):
        return numbers(s.x * s.x)


@entry(values)
def numbers_that_left(s):
    with xp.GradientTape(exits="ignore") as tape:
        tape.watch(s.x)
        y = float(s.x[0]) * s.x + np.asarray(s.x)
    return numbers(tape.gradient(y, s.x))


# --- forward mode -----------------------------------------------------------------------------------
@entry(lambda: values(acc=lambda: None))
def forward(s):
    s.acc = s.acc or xp.ForwardAccumulator(s.x, s.w)
    with s.acc:
        y = xp.sum(s.x * xp.sin(s.x)) * s.a
    return numbers(s.acc.jvp(y))


@entry(values)
def forward_over_reverse(s):
    with xp.ForwardAccumulator(s.x, s.w) as acc:
        with xp.GradientTape() as tape:
            tape.watch(s.x)
            y = xp.sum(s.x**3)
        g = tape.gradient(y, s.x)
    return numbers(acc.jvp(g))


# --- Jacobians, vmap, functions of functions ----------------------------------------------------------
@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def jacobians(s):
    with s.tape:
        s.tape.watch(s.x)
        y = s.a @ xp.tanh(s.x)
        inside = s.tape.jacobian(y, s.x)
    return numbers(inside), numbers(s.tape.jacobian(y, s.x))


@entry(values)
def batch_jacobian(s):
    with xp.GradientTape() as tape:
        tape.watch(s.a)
        y = s.a * s.a
    return numbers(tape.batch_jacobian(y, s.a))


@entry(values)
def vmap(s):
    return numbers(functional.vmap(functional.grad(lambda row: xp.sum(row * row)))(s.a))


@entry(values)
def hessian(s):
    return numbers(functional.hessian(lambda x: xp.sum(x**3))(s.x))


@entry(values)
def hvp(s):
    return numbers(functional.hvp(lambda x: xp.sum(x**3), (s.x,), (s.w,)))


@entry(lambda: values(f=lambda: xp.recompute_grad(lambda x: xp.exp(x) * x)))
def recomputed(s):
    with xp.GradientTape() as tape:
        tape.watch(s.x)
        y = s.f(s.x)
    return numbers(tape.gradient(y, s.x))


@entry(lambda: values(f=lambda: xp.custom_gradient(lambda x: (x * x, lambda dy: dy * 2.0 * x))))
def custom(s):
    with xp.GradientTape() as outer:
        outer.watch(s.x)
        with xp.GradientTape() as tape:
            tape.watch(s.x)
            y = s.f(s.x)
        g = tape.gradient(y, s.x)
    return numbers(outer.gradient(g, s.x))


@entry(values)
def guarded(s):
    with xp.GradientTape() as tape:
        x = s.x - 0.5
        tape.watch(x)
        y = xp.where(x > 1.0, xp.sqrt(x), xp.asarray(0.0))
    return numbers(tape.gradient(y, x))


# --- contexts -----------------------------------------------------------------------------------------
@entry(values)
def scipy(s):
    import scipy.fft

    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(s.x)
        y = xp.real(scipy.fft.fft(s.x))
    return numbers(tape.gradient(y, s.x))


@entry(lambda: values(tape=xp.GradientTape))
def saved_data(s):
    with diagnose.saved_data(lambda x: [x], lambda held: held[0]), s.tape:
        s.tape.watch(s.x)
        y = xp.exp(s.x) * s.w
    return numbers(s.tape.gradient(y, s.x))


@entry(lambda: values(tape=lambda: xp.GradientTape(persistent=True)))
def saved_data_inside(s):
    with s.tape:
        s.tape.watch(s.x)
        with diagnose.saved_data(lambda x: [x], lambda held: held[0]):
            y = xp.exp(s.x) * s.w
        z = y * s.w
    return numbers(s.tape.gradient(z, s.x))


@entry(values)
def hooks(s):
    with xp.GradientTape() as tape:
        tape.watch(s.x)
        y = s.x * s.w
        diagnose.on_gradient(y, lambda g: 2.0 * g)
    return numbers(tape.gradient(y * 1.0, s.x)), numbers(s.w)


@entry(values)
def lines(s):
    with diagnose.lines() as seen, xp.GradientTape() as tape:
        tape.watch(s.x)
        y = s.x * s.w
    return len(seen.steps), numbers(tape.gradient(y, s.x))


@entry(values)
def other_storage(s):
    with storages.on(storages.hostile()):
        y = xp.ones(3) + 1.0
    return y.tolist(), xp.ones(2).device


@entry(values)
def numpys_functions(s):
    with xp.GradientTape() as tape:
        tape.watch(s.x)
        y = np.median(s.x) + np.linalg.norm(s.x) + np.trapezoid(s.x) + np.percentile(s.x, 30.0)
    return numbers(tape.gradient(y, s.x))


@entry(values)
def special(s):
    from scipy.special import logsumexp

    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(s.x)
        y = logsumexp(s.x)
    return numbers(tape.gradient(y, s.x))


# --- Variables, optimizers, checkpoints ---------------------------------------------------------------
def held(variables):
    return [np.asarray(v.value()).tolist() for v in variables]


@entry(lambda: State(v=xp.Variable([1.0, 2.0])), lambda s: held([s.v]))
def assigned(s):
    s.v.assign(s.v + 2.0)


@entry(lambda: State(v=xp.Variable([1.0, 2.0])), lambda s: held([s.v]))
def assigned_in_part(s):
    s.v[1:] = s.v[1:] * 2.0


@entry(lambda: State(v=xp.Variable([1.0, 2.0])), lambda s: held([s.v]))
def assigned_in_place(s):
    s.v *= 2.0


def model(optimizer):
    return lambda: State(
        u=xp.Variable([1.0, 2.0], name="u"), v=xp.Variable([3.0, 4.0], name="v"),
        optimizer=optimizer(),
    )  # fmt: skip


def state_of_optimizer(s):
    """Values, and the slots by the Variable that they are for; slots of zeros are as good as none."""
    optimizer = s.optimizer
    count = len(optimizer._updated.variables)
    assert all(len(slots) == count for slots in optimizer.slots.values()), (
        "slots and Variables differ"
    )
    slots = {}
    for name, made in optimizer.slots.items():
        for variable, slot in zip(optimizer._updated.variables, made, strict=True):
            assert slot.name.startswith(variable.name), (
                f"{slot.name} is not a slot of {variable.name}"
            )
            if np.any(np.asarray(slot.value())):
                slots[name, variable.name] = held([slot])
    return held([s.u, s.v]), int(optimizer.iterations), slots


def step(s):
    with xp.GradientTape() as tape:
        loss = xp.sum(s.u * s.v * s.v)
    variables = [s.u, s.v]
    s.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


@entry(model(optimizers.Adam), state_of_optimizer)
def adam(s):
    step(s)


@entry(model(lambda: optimizers.SGD(0.1, momentum=0.9)), state_of_optimizer)
def sgd(s):
    step(s)


@entry(model(optimizers.Adam), state_of_optimizer)
def built(s):
    s.optimizer.build([s.u])
    s.optimizer.build([s.u, s.v])


@entry(model(lambda: None), lambda s: held([s.u, s.v]))
def lbfgs(s):
    s.optimizer = optimizers.LBFGS(max_iterations=3)
    u = s.u.value() * 0.5
    s.optimizer.minimize(lambda: xp.sum((s.u - u) ** 2 + s.v**2), [s.u, s.v])


def dense():
    layer = nn.Dense(2)
    layer(xp.ones((1, 3)))
    return layer


@entry(values)
def layers(s):
    layer = dense()
    return sorted(tuple(v.shape) for v in layer.variables)


# --- solutions of equations -----------------------------------------------------------------------
def system(x, a):
    return x**3 + 0.5 * x - a


@entry(lambda: values(tape=xp.GradientTape))
def implicit_root(s):
    with s.tape:
        s.tape.watch(s.x)
        y = xp.implicit.root(system, xp.ones(3), s.x)
    return numbers(s.tape.gradient(y, s.x)), numbers(s.x)


@entry(values)
def implicit_matrix_free(s):
    def solution(a):
        return xp.implicit.linear_solve(lambda x, a: a * x, s.w, a, symmetric=True, rtol=1e-6)

    return numbers(xp.jvp(solution, (s.x,), (s.w,))[1]), numbers(s.x)


@entry(lambda: values(v=lambda: xp.Variable([1.0, 2.0])), lambda s: numbers(s.v.value()))
def implicit_vmap(s):
    with xp.GradientTape() as tape:
        y = xp.vmap(lambda a: xp.implicit.root(lambda x, a: 2.0 * x - a, 0.5 * a, a))(s.v * 1.0)
    return numbers(tape.gradient(y, s.v))


@entry(values)
def implicit_scipy_minimize(s):
    def place(a):
        return xp.sum(
            xp.implicit.scipy.minimize(
                lambda x, a: xp.sum((x - a) ** 2), np.zeros(3), a, bounds=[(None, 2.0)] * 3
            ).x
        )

    return numbers(xp.grad(place)(s.x)), numbers(s.x)


def end_of(s, method, adjoint, **options):
    return lambda a: xp.sum(
        xp.implicit.odeint(
            lambda t, y, a: -a * y, (0.0, 0.2), s.w, method, args=(a,), adjoint=adjoint, **options
        ).y[:, -1]
    )


@entry(values)
def odeint_discrete(s):
    return numbers(xp.grad(end_of(s, "RK23", "discrete"))(s.x)), numbers(s.x)


@entry(values)
def odeint_continuous(s):
    end = end_of(s, "RK4", "continuous", max_step=0.2)
    return numbers(xp.grad(end)(s.x)), numbers(s.x)


# --- functional forms on NumPy's data -------------------------------------------------------------
@entry(values)
def functional_forms(s):
    x = np.array([0.5, 1.5, 2.5])
    _, push, _ = functional.linearize(lambda x: (x**2, 1), x, has_aux=True)
    J = functional.jacfwd(lambda x: xp.sin(x))(x)
    H = functional.sparse_hessian(lambda x: xp.sum(x[1:] * x[:-1] ** 2))(x)
    v = functional.gauss_newton_product(lambda x: x**3, None, (x,), (x,))
    return push(x).tolist(), J.tolist(), H.toarray().tolist(), v[0].tolist(), x.tolist()


@entry(values)
def minimize_in_bounds(s):
    found = optimizers.minimize_scipy(
        lambda p: xp.sum((p["a"] - 5.0) ** 2), {"a": s.x}, bounds={"a": (None, [1.0, 2.0, 3.0])}
    )
    return numbers(found.x["a"]), numbers(s.x)


def checkpointed(directory):
    """Entries that write and read files in a directory."""
    path = directory / "state.safetensors"

    def make():
        for file in directory.iterdir():
            file.unlink()
        s = State(u=xp.Variable([1.0, 2.0]), v=xp.Variable([3.0, 4.0]))
        checkpoint.save(path, vars(s))
        s.u.assign([5.0, 6.0])
        s.v.assign([7.0, 8.0])
        return s

    def in_file(s):
        found = checkpoint.load(path)
        return {name: numbers(x) for name, x in found.items()}, len([*directory.iterdir()])

    return {
        "save": Entry(make, lambda s: checkpoint.save(path, vars(s)), in_file),
        "load": Entry(
            make, lambda s: len(checkpoint.load(path, vars(s))), lambda s: held([s.u, s.v])
        ),
    }
