"""Models: bodies, filters, steppers, optimisers, pipelines, expressions."""

import abc
import copy
import dataclasses
import enum
import functools
import math
import typing

import numpy as np

import arraytape as xp
from c_helpers import Metrics, Positive, Real


# ---------------------------------------------------------------- bodies
class BodyBase:
    mass = Positive()

    def __init__(self, mass, position, velocity, **extra):
        super().__init__(**extra)
        self.mass, self.position, self.velocity = mass, position, velocity
        self.journal = []

    def force(self):
        return 0.0 * self.position

    def step(self, dt):
        self.velocity = self.velocity + self.force() / self.mass * dt
        self.position = self.position + self.velocity * dt
        self.note()
        return self

    def note(self):
        pass

    @property
    def energy(self):
        return 0.5 * self.mass * self.velocity**2


class Tail:
    def __init__(self):
        pass


class SpringMixin:
    def __init__(self, *, stiffness=2.0, **extra):
        super().__init__(**extra)
        self.stiffness = stiffness

    def force(self):
        return super().force() - self.stiffness * self.position


class DragMixin:
    def __init__(self, *, drag=0.1, **extra):
        super().__init__(**extra)
        self.drag = drag

    def force(self):
        return super().force() - self.drag * self.velocity * self.speed()

    def speed(self):
        return abs(self.velocity)


class HostDragMixin(DragMixin):
    """The speed comes from the C library's sqrt."""

    def speed(self):
        return math.sqrt(float(self.velocity) ** 2)


class JournalMixin:
    def note(self):
        super().note()
        self.journal.append({"pos": float(self.position), "vel": float(self.velocity)})


class Body(JournalMixin, SpringMixin, DragMixin, BodyBase, Tail):
    pass


class HostBody(JournalMixin, SpringMixin, HostDragMixin, BodyBase, Tail):
    pass


class ConstrainedBody(Body):
    """Replays the journal to correct drift."""

    def step(self, dt):
        super().step(dt)
        self.position = 0.5 * self.position + 0.5 * self.journal[-1]["pos"]
        return self


class Wheel:
    radius = Real()
    width = Positive()

    def __init__(self, radius, width):
        self.radius, self.width = radius, width

    @property
    def volume(self):
        return math.pi * self.radius**2 * self.width


# ---------------------------------------------------------------- filters
class FilterState(typing.NamedTuple):
    mean: typing.Any
    var: typing.Any
    gain: typing.Any = None


class Kalman:
    def __init__(self, q=0.1, r=0.5):
        self.q, self.r = q, r
        self.innovations = []

    def predict(self, s):
        return s._replace(mean=0.95 * s.mean, var=0.9 * s.var + self.q)

    def gain(self, s):
        return s.var / (s.var + self.r)

    def update(self, s, z):
        k = self.gain(s)
        innovation = z - s.mean
        self.innovations.append(float(innovation))
        return FilterState(s.mean + k * innovation, (1 - k) * s.var, k)

    def run(self, s, zs):
        return functools.reduce(lambda acc, z: self.update(self.predict(acc), z), zs, s)


class TabulatedKalman(Kalman):
    """Looks gains up in a table on the host."""

    grid = np.linspace(0.0, 5.0, 101)

    def gain(self, s):
        return float(np.interp(float(s.var), self.grid, self.grid / (self.grid + self.r)))


class AdaptiveKalman(Kalman):
    """Estimates r from the innovations seen so far."""

    def update(self, s, z):
        out = super().update(s, z)
        self.r = 0.5 + 0.2 * np.var(self.innovations)
        return out


class GatedKalman(Kalman):
    """Skips outliers: only a comparison."""

    def update(self, s, z):
        if abs(float(z - s.mean)) > 3.0 * math.sqrt(float(s.var + self.r)):
            self.innovations.append(math.nan)
            return s
        return super().update(s, z)


# ---------------------------------------------------------------- steppers
class Stepper(abc.ABC):
    def __init__(self, rhs):
        self.rhs, self.log = rhs, Metrics()

    @abc.abstractmethod
    def advance(self, t, y, h): ...

    def integrate(self, y, t1=1.0, n=8):
        h = t1 / n
        for i in range(n):
            y = self.advance(i * h, y, h)
            self.log.log(norm=xp.sqrt(xp.sum(y**2)))
        return y


class Euler(Stepper):
    def advance(self, t, y, h):
        return y + h * self.rhs(t, y)


class RK4(Stepper):
    def advance(self, t, y, h):
        k1 = self.rhs(t, y)
        k2 = self.rhs(t + h / 2, y + h / 2 * k1)
        k3 = self.rhs(t + h / 2, y + h / 2 * k2)
        k4 = self.rhs(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class NormPreserving(Euler):
    """Rescales to the norm that was logged first."""

    def advance(self, t, y, h):
        y = super().advance(t, y, h)
        if norms := self.log.rows.get("norm"):
            y = y * (norms[0] / xp.sqrt(xp.sum(y**2)))
        return y


class Halving:
    """Adaptive; step sizes are halved and doubled by a comparison."""

    def __init__(self, rhs, tol=1e-3):
        self.rhs, self.tol, self.accepted = rhs, tol, []

    def next_step(self, h, err):
        return h / 2 if err > self.tol else min(2 * h, 0.25)

    def integrate(self, y, t1=1.0):
        t, h = 0.0, 0.25
        while t < t1 - 1e-12:
            h = min(h, t1 - t)
            k1 = self.rhs(t, y)
            low = y + h * k1
            high = y + h / 2 * (k1 + self.rhs(t + h, low))
            err = float(xp.max(abs(high - low)))
            if err <= self.tol or h < 0.04:
                t, y = t + h, high
                self.accepted.append((t, h, err))
            h = self.next_step(h, err)
        return y


class Proportional(Halving):
    """Adaptive; the step is a smooth function of the error."""

    def next_step(self, h, err):
        return h * min(2.0, max(0.3, 0.9 * (self.tol / (err + 1e-15)) ** 0.5))


# ---------------------------------------------------------------- optimisers
class Momentum:
    def __init__(self, lr=0.1, beta=0.8):
        self.lr, self.beta, self.velocity, self.steps = lr, beta, None, 0

    def step(self, p, g):
        v = g if self.velocity is None else self.beta * self.velocity + g
        self.velocity, self.steps = v, self.steps + 1
        return p - self.lr * v

    def state_dict(self):
        return {
            "lr": self.lr,
            "beta": self.beta,
            "steps": self.steps,
            "velocity": None if self.velocity is None else np.array(self.velocity),
        }

    def load_state_dict(self, state):
        vars(self).update(copy.deepcopy(state))
        return self


class PlateauSchedule:
    def __init__(self, lr, factor=0.5, patience=1):
        self.lr, self.factor, self.patience = lr, factor, patience
        self.best, self.bad = math.inf, 0

    def step(self, loss):
        value = float(loss)
        if value < self.best - 1e-3:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
            if self.bad > self.patience:
                self.lr, self.bad = self.lr * self.factor, 0
        return self.lr


class LossScaledSchedule(PlateauSchedule):
    def step(self, loss):
        super().step(loss)
        return self.lr / (1.0 + self.best)


# ---------------------------------------------------------------- pipelines
class Transformer:
    def fit(self, x):
        return self

    def transform(self, x):
        raise NotImplementedError

    def fit_transform(self, x):
        return self.fit(x).transform(x)


class Center(Transformer):
    def fit(self, x):
        self.mean_ = xp.mean(x)
        return self

    def transform(self, x):
        return x - self.mean_


class FrozenCenter(Center):
    def fit(self, x):
        self.mean_ = np.mean(np.asarray(x))
        return self


class MinMax(Transformer):
    def fit(self, x):
        self.lo_, self.hi_ = xp.min(x), xp.max(x)
        self.feature_range_ = tuple(map(float, (self.lo_, self.hi_)))
        return self

    def transform(self, x):
        return (x - self.lo_) / (self.hi_ - self.lo_)

    def inverse_transform(self, z):
        lo, hi = self.feature_range_
        return z * (hi - lo) + lo


class Poly(Transformer):
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def transform(self, x):
        return functools.reduce(lambda acc, c: acc * x + c, self.coefficients, 0.0 * x)


class Pipe(Transformer):
    def __init__(self, *steps, audit=None):
        self.steps, self.audit = steps, audit

    def transform(self, x):
        for s in self.steps:
            x = s.fit_transform(x)
            if self.audit is not None:
                self.audit.append((type(s).__name__, np.asarray(x).mean(), x.tolist()))
        return x


# ---------------------------------------------------------------- expressions
class Node:
    def accept(self, visitor):
        return getattr(visitor, "visit_" + type(self).__name__.lower())(self)

    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)


@dataclasses.dataclass(frozen=True)
class Const(Node):
    value: float


@dataclasses.dataclass(frozen=True)
class Name(Node):
    name: str


@dataclasses.dataclass(frozen=True)
class Sum(Node):
    left: Node
    right: Node


@dataclasses.dataclass(frozen=True)
class Product(Node):
    left: Node
    right: Node


@dataclasses.dataclass(frozen=True)
class Sine(Node):
    inner: Node


class Evaluate:
    def __init__(self, env):
        self.env = env

    def visit_const(self, n):
        return n.value

    def visit_name(self, n):
        return self.env[n.name]

    def visit_sum(self, n):
        return n.left.accept(self) + n.right.accept(self)

    def visit_product(self, n):
        return n.left.accept(self) * n.right.accept(self)

    def visit_sine(self, n):
        return xp.sin(n.inner.accept(self))


class HostSine(Evaluate):
    def visit_sine(self, n):
        return math.sin(n.inner.accept(self))


class Render(Evaluate):
    """Text with the values filled in."""

    def visit_const(self, n):
        return f"{n.value:g}"

    def visit_name(self, n):
        return f"{n.name}={self.env[n.name]:.4f}"

    def visit_sum(self, n):
        return f"({n.left.accept(self)} + {n.right.accept(self)})"

    def visit_product(self, n):
        return f"{n.left.accept(self)}*{n.right.accept(self)}"

    def visit_sine(self, n):
        return f"sin({n.inner.accept(self)})"


class Fold:
    """Substitutes known names by constants, bottom up."""

    def __init__(self, known):
        self.known = known

    def visit_const(self, n):
        return n

    def visit_name(self, n):
        return Const(float(self.known[n.name])) if n.name in self.known else n

    def visit_sine(self, n):
        return Sine(n.inner.accept(self))

    def _pair(self, n):
        match (a := n.left.accept(self)), (b := n.right.accept(self)):
            case Const(u), Const(v):
                return Const(u + v if isinstance(n, Sum) else u * v)
            case _:
                return type(n)(a, b)

    visit_sum = visit_product = _pair


# ---------------------------------------------------------------- machines
class Phase(enum.Enum):
    HEAT = "heat"
    HOLD = "hold"
    COOL = "cool"
    DONE = "done"


@dataclasses.dataclass
class Kettle:
    temp: typing.Any
    target: float = 3.0
    phase: Phase = Phase.HEAT
    history: list = dataclasses.field(default_factory=list)
    set_point: float = dataclasses.field(init=False)

    def __post_init__(self):
        self.set_point = self.target * 0.9
        self.history.append(float(self.temp))

    @property
    def celsius(self):
        return self.temp * 10.0 - 5.0

    def tick(self):
        match self.phase:
            case Phase.HEAT:
                self.temp = self.temp * 1.3 + 0.1
                if self.temp > self.set_point:
                    self.phase = Phase.HOLD
            case Phase.HOLD:
                self.temp = 0.9 * self.temp + 0.1 * self.target
                self.phase = Phase.COOL
            case Phase.COOL:
                self.temp = self.temp * 0.7
                if float(self.temp) < 2.0:
                    self.phase = Phase.DONE
            case Phase.DONE:
                return False
        self.history.append(float(self.temp))
        return True


class LatchingKettle(Kettle):
    """Holds at the temperature at which heating ended."""

    def tick(self):
        before = self.phase
        alive = super().tick()
        if before is not self.phase and self.phase is Phase.HOLD:
            self.target = self.history[-1]
        return alive


class Layer:
    """Dense layer with preallocated buffers."""

    def __init__(self, w, b):
        self.w, self.b = w, b
        self.buffer = np.empty(np.shape(b))

    def forward(self, v):
        return xp.tanh(self.w @ v + self.b)

    def forward_buffered(self, v):
        np.matmul(self.w, np.asarray(v), out=self.buffer)
        np.add(self.buffer, self.b, out=self.buffer)
        return np.tanh(self.buffer, out=self.buffer)
