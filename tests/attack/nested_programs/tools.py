"""What programs call beside NumPy's functions: transforms and rules, on Arrays and on NumPy alone.

On NumPy everything is complex, with imaginary parts of 0: there a derivative inside a program is a
complex step, vmap a loop, and a function with a rule of its own that function.
"""

import numpy as np

import arraytape as xp
from arraytape._array.views import order_of

from .own_ops import OPS

STEP = 1e-30
NOISE, BLUR = 1e-9, 1e-14
APART = 2e-3  # a step of real differences, which are extrapolated


def in_c(x):
    """A result of a transform, whose order in memory nobody promises, in that of C; no scalar."""
    if not x.ndim:
        return fresh(x) if isinstance(x, xp.Array) else np.array(x)
    if isinstance(x, xp.Array):
        return x if "C" in order_of(x) else np.copy(x, order="C")
    return np.ascontiguousarray(x)


def writable(x):
    """A result, which without axes may be a scalar, as an array."""
    return x if x.ndim else fresh(x)


class OnNumPy:
    """The reference.

    noise : None, or random numbers by which places of derivatives are moved a little: at ties of maxima
    and at other kinks they change.  blur : None, or random numbers for the last digits of results.
    """

    xp = np

    def __init__(self, noise=None, blur=None):
        self.noise, self.blur = noise, blur

    def result(self, x):
        """What a transform gives."""
        if self.blur is not None:
            x = x * (1.0 + BLUR * self.blur.normal(size=x.shape))
        return in_c(x)

    def start(self, x):
        return np.array(x, complex)

    def above(self, x, limit):
        return np.real(x) > limit

    def zeros(self, shape):
        return np.zeros(shape, complex)

    def fortran(self, x):
        return np.array(x, order="F")

    def variable(self, values):
        return OnNumPy.Variable(values)

    class Variable:
        """A value that may be replaced."""

        def __init__(self, values):
            self.values = np.asarray(values, complex)

        def assign_add(self, values):
            self.values = self.values + np.asarray(values)

        def assign(self, values):
            self.values = np.array(values, complex)

        def value(self):
            return self.values

    # --- transforms -----------------------------------------------------------------------------------
    def vmap(self, f, in_axes=0, out_axes=0):
        def mapped(*args):
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            sizes = {x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None}
            if len(sizes) > 1:
                raise ValueError("the mapped axes differ in length")
            (size,) = sizes
            found = []
            for i in range(size):
                one = [
                    np.array(x) if axis is None else np.array(np.moveaxis(x, axis, 0)[i])
                    for x, axis in zip(args, axes, strict=True)
                ]
                found.append(np.array(f(*one)))
            return self.result(np.stack(found, out_axes))

        return mapped

    def along(self, f, x, v, how):
        if np.shape(v) != np.shape(x):
            raise ValueError("a tangent that does not fit")
        if self.noise is not None:
            x = x + NOISE * self.noise.normal(size=x.shape)
        return self.result(np.imag(f(np.array(x + STEP * 1j * v))) / STEP + 0j)

    def jacobian(self, f, how):
        def derivative(x):
            columns = []
            for i in range(x.size):
                unit = np.zeros(x.size)
                unit[i] = 1.0
                columns.append(self.along(f, x, unit.reshape(x.shape), how))
            found = np.stack(columns, -1)
            return in_c(found.reshape((*found.shape[:-1], *x.shape)))

        return derivative

    grad = jacobian

    def hvp(self, f, x, v, how):
        gradient = self.jacobian(f, how)

        def slope(h):
            return (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)

        return self.result((4 * slope(APART / 2) - slope(APART)) / 3)

    def ruled(self, f, how):
        return lambda x: self.result(f(np.array(x)))

    def squash(self, x):
        return np.array(np.tanh(x) * 0.5)

    def blend(self, x, y):
        return np.array(x * y + np.sin(y))


def fresh(x):
    """A copy that may be written to, also where it has no axes."""
    if x.ndim:
        return xp.asarray(x, copy=True)
    copy = xp.zeros(())
    copy[...] = x
    return copy


class OnArrays:
    """What is attacked."""

    xp = xp

    def start(self, x):
        return xp.asarray(x)

    def above(self, x, limit):
        return x > limit

    def zeros(self, shape):
        return xp.zeros(shape)

    def fortran(self, x):
        return np.copy(x, order="F")

    def variable(self, values):
        return xp.Variable(values)

    # --- transforms -----------------------------------------------------------------------------------
    def vmap(self, f, in_axes=0, out_axes=0):
        mapped = xp.vmap(f, in_axes, out_axes)
        return lambda *args: in_c(mapped(*args))

    def grad(self, f, how):
        gradient = getattr(self, f"grad_by_{how}")(f)
        return lambda x: in_c(gradient(x))

    def grad_by_function(self, f):
        return xp.grad(f)

    def grad_by_tape(self, f):
        def gradient(x):
            x = fresh(x)
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x, unconnected_gradients="zero")

        return gradient

    def grad_by_persistent_tape(self, f):
        def gradient(x):
            x = fresh(x)
            with xp.GradientTape(persistent=True) as tape:
                tape.watch(x)
                with tape.stop_recording():
                    xp.sum(x * x)
                y = f(x)
            first = tape.gradient(y, x, unconnected_gradients="zero")
            first *= 2.0  # the caller's own
            return tape.gradient(y, x, unconnected_gradients="zero")

        return gradient

    def grad_by_tape_in_tape(self, f):
        def gradient(x):
            x = fresh(x)
            with xp.GradientTape() as tape:
                tape.watch(x)
                with xp.GradientTape() as inner:
                    inner.watch(x)
                    square = xp.sum(x * x)
                twice = inner.gradient(square, x)
                y = xp.sum(twice * x) - 2.0 * xp.sum(x * x) + f(x)
            return tape.gradient(y, x, unconnected_gradients="zero")

        return gradient

    def grad_by_vjp(self, f):
        return lambda x: xp.vjp(f, x)[1](xp.asarray(1.0))[0]

    def grad_by_pushing(self, f):
        def gradient(x):
            units = xp.reshape(xp.eye(x.size), (x.size, *x.shape))
            return xp.reshape(xp.vmap(lambda v: xp.jvp(f, (x,), (v,))[1])(units), x.shape)

        return gradient

    def jacobian(self, f, how):
        rows = xp.jacobian(f) if how == "function" else self.rows(f, how)
        return lambda x: in_c(rows(x))

    def rows(self, f, how):
        def derivative(x):
            x = fresh(x)
            if how == "pushing":
                units = xp.reshape(xp.eye(x.size), (x.size, *x.shape))
                found = xp.vmap(lambda v: xp.jvp(f, (x,), (v,))[1], out_axes=-1)(units)
                return xp.reshape(found, (*found.shape[:-1], *x.shape))
            if how == "vjp":
                y, pull = xp.vjp(f, x)
                units = xp.reshape(xp.eye(y.size), (y.size, *y.shape))
                return xp.reshape(xp.vmap(lambda u: pull(u)[0])(units), (*y.shape, *x.shape))
            with xp.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x)
            return tape.jacobian(y, x, unconnected_gradients="zero")

        return derivative

    def along(self, f, x, v, how):
        return in_c(self.pushed(f, x, v, how))

    def pushed(self, f, x, v, how):
        if how == "function":
            return xp.jvp(f, (x,), (v,))[1]
        x = fresh(x)
        if how == "accumulator":
            with xp.ForwardAccumulator(x, v) as accumulator:
                y = f(x)
            return accumulator.jvp(y, unconnected_gradients="zero")
        y, pull = xp.vjp(f, x)  # the derivative of what is linear in the cotangent
        return xp.vjp(lambda u: pull(u)[0], xp.zeros(y.shape))[1](v)[0]

    def hvp(self, f, x, v, how):
        return in_c(self.product(f, x, v, how))

    def product(self, f, x, v, how):
        if how == "function":
            return xp.hvp(f, (x,), (v,))[0]
        if how == "reverse over forward":
            return xp.grad(lambda x: xp.jvp(f, (x,), (v,))[1])(x)
        return xp.grad(lambda x: xp.sum(xp.grad(f)(x) * v))(x)

    # --- functions with rules -------------------------------------------------------------------------
    def ruled(self, f, how):
        ruled = self.with_rule(f, how)
        return lambda x: in_c(ruled(writable(x)))  # a scalar is another thing

    def with_rule(self, f, how):
        if how == "again":
            return xp.recompute_grad(f)

        @xp.custom_gradient
        def with_rule(x):
            if how == "closed":  # over what a tape of its own computed
                y, pull = xp.vjp(f, x)
                return y, lambda u: pull(u)[0]
            return f(x), lambda u: xp.vjp(f, x)[1](u)[0]

        return xp.recompute_grad(with_rule) if how == "both" else with_rule

    def squash(self, x):
        return writable(OPS["attack_squash"](x))

    def blend(self, x, y):
        return writable(OPS["attack_blend"](x, y))
