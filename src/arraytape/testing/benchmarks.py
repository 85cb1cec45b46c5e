"""Benchmarks of your own functions for asv: the cost of a tape in time and in memory.

Write one class in a module of asv's benchmark directory, as docs/howto/benchmarks.md shows.  Called
directly, a benchmark returns the figure that asv will measure:

>>> import numpy as np
>>> import arraytape as xp
>>> class TimeRidge(xp.testing.benchmarks.TapeBenchmarks):
...     def arrays(self):
...         random = np.random.default_rng(0)
...         return [random.normal(size=(100, 20)), random.normal(size=20)]
...     def loss(self, xp, X, w):
...         return xp.mean((X @ w) ** 2) + xp.sum(w * w)
>>> ridge = TimeRidge()
>>> ridge.setup()
>>> ridge.track_records()
6
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import tracemalloc
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import inf
from time import process_time
from types import FunctionType, ModuleType
from typing import Any, ClassVar, TypeVar

import numpy as np

from .._array.array import Array, namespace
from .._array.exits import LEFT, LeftRecord
from .._tape.tape import GradientTape
from .._util.errors import describe, entrance

__all__ = ["TapeBenchmarks"]

F = TypeVar("F", bound=Callable[..., Any])
Raw = np.ndarray[Any, Any]
BURSTS = 5  # the least number of bursts of calls for a ratio
BURST = 2e-3  # the length of one burst in seconds
VERSION = "1"  # the version of the method; asv does not compare results of different versions


def __dir__() -> list[str]:
    return sorted(__all__)


def measures(
    *, unit: str = "seconds", headline: str = "", rank: int = 100, exact: bool = False
) -> Callable[[F], F]:
    """Return a decorator that describes a benchmark method to asv and the project's dashboard.

    unit : the unit of the figure.
    headline : the title of the method's tile on the dashboard's first page, or "" for no tile.
    rank : the position among the tiles.
    exact : True for counts, which have hardly any noise.
    """

    def declare_measure(function: F) -> F:
        if not function.__name__.startswith("time_"):  # asv knows the unit of a time
            vars(function).update(unit=unit)
        vars(function).update(headline=headline, rank=rank, exact=exact)
        return function

    return declare_measure


class TapeBenchmarks(ABC):
    """A mixin of benchmarks for asv that measure the cost of a tape for a function.

    A subclass in a module of asv's benchmark directory defines the function, ``loss``, and its
    arguments, ``arrays``.  ``time_value`` and ``time_gradient`` measure seconds.  ``track_overhead`` and
    ``track_gradient_overhead`` are multiples of the time that loss takes with NumPy in the same process.
    ``track_peak_bytes`` and ``track_records`` are counts, as is ``track_exits``: the number of source
    locations where values leave the tape.  ``params``, ``param_names``, ``timeout`` and ``version`` are
    asv's own.  By default the version is a digest of the subclass's source, so that asv compares no
    results of different losses.

    ``setup`` raises ValueError if loss has different values with NumPy and with arraytape, or if all
    gradients are None.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> class TimeRidge(xp.testing.benchmarks.TapeBenchmarks):
    ...     params, param_names = [100, 1000], ["rows"]
    ...     timeout = 60.0  # seconds, asv's own
    ...     seconds = 0.01  # CPU time for each ratio; 1 by default
    ...     watched = [1]  # the arrays with respect to which the gradient is taken
    ...     def arrays(self, rows):
    ...         random = np.random.default_rng(0)
    ...         return [random.normal(size=(rows, 20)), random.normal(size=20)]
    ...     def loss(self, xp, X, w):
    ...         return xp.mean((X @ w) ** 2) + xp.sum(w * w)

    asv calls these methods.  Called directly, they return a benchmark's figure:

    >>> ridge = TimeRidge()
    >>> ridge.setup(100)
    >>> ridge.track_records(100), ridge.track_exits(100)
    (6, 0)
    >>> ridge.time_value(100)
    >>> ridge.time_gradient(100)
    >>> ridge.track_overhead(100) < ridge.track_gradient_overhead(100) < 1000
    True
    >>> ridge.track_peak_bytes(100) > 0
    True
    """

    params: ClassVar[Any] = []
    param_names: ClassVar[Any] = []
    timeout: ClassVar[float] = 120.0
    version: ClassVar[str]
    watched: ClassVar[Sequence[int] | None] = None
    """The indices of the arrays to differentiate with respect to; None: all floating-point arrays."""
    seconds: ClassVar[float] = 1.0
    """The CPU time that is spent on each ratio."""

    @abstractmethod
    def arrays(self, *params: Any) -> Sequence[Raw]:
        """Make NumPy arrays, the arguments of ``loss``.

        Parameters
        ----------
        *params : Any
            One choice of the class's ``params``.

        Returns
        -------
        Sequence of numpy.ndarray
            The arrays.
        """

    @abstractmethod
    def loss(self, xp: ModuleType, *arrays: Any) -> Any:
        """Compute a real number from the arrays without writing to them.

        Parameters
        ----------
        xp : module
            ``numpy`` or ``arraytape``.
        *arrays : array
            The arrays that the method ``arrays`` returned, converted to arrays of ``xp``.

        Returns
        -------
        array
            An array of shape (), or a scalar.
        """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "version" not in vars(cls):
            cls.version = version_of(cls)
        for name, function in vars(TapeBenchmarks).items():
            if name.startswith(("time_", "track_")):
                inherited = inspect.getattr_static(cls, name)
                if getattr(inherited, "__code__", None) is function.__code__:  # not overridden
                    setattr(cls, name, measure_of_class(function, cls))

    @entrance
    def setup(self, *params: Any) -> None:
        """Create the arrays, and check the value and gradient of the loss.  asv calls this method.

        Parameters
        ----------
        *params : Any
            One choice of the class's ``params``.

        Raises
        ------
        TypeError
            When the method ``arrays`` returns no sequence, but for example one array.
        ValueError
            When ``loss`` has no gradient, or other values with NumPy than with arraytape.
        """
        xp: Any = namespace()
        made = self.arrays(*params)
        if not isinstance(made, Sequence):
            raise TypeError(
                f"{type(self).__name__}.arrays must return a list, the arguments of loss: write "
                f"return [x] for one array; got {describe(made)}"
            )
        self._raw = [np.asarray(x) for x in made]
        self._ours: list[Array] = [xp.asarray(x, copy=True) for x in self._raw]
        chosen = self.watched
        if chosen is None:
            chosen = [i for i, x in enumerate(self._raw) if x.dtype.kind in "fc"]
        self._sources = [self._ours[i] for i in chosen]
        self._check()

    def _check(self) -> None:
        """Raise ValueError if all gradients are None, or loss differs between NumPy and arraytape."""
        name = type(self).__name__
        theirs = self.loss(np, *self._raw)
        tape, value = self._record()
        if not isinstance(value, Array) or value.shape != () or value.dtype.kind != "f":
            raise ValueError(
                f"{name}.loss gives {describe(value)} with arraytape: a benchmark takes the gradient of "
                "one real number, an Array of shape ()"
            )
        rtol = np.sqrt(np.finfo(value.dtype).eps)
        if not np.allclose(np.asarray(value), theirs, rtol=rtol, atol=rtol, equal_nan=True):
            raise ValueError(
                f"{name}.loss gives {value} with arraytape and {theirs} with NumPy: it must compute the "
                "same with both namespaces, and not write to its arrays"
            )
        if all(g is None for g in tape.gradient(value, self._sources)):
            raise ValueError(
                f"{name}.loss has no gradient with respect to any of its {len(self._sources)} watched "
                "arrays: there would be nothing to measure"
            )

    def _record(self) -> tuple[GradientTape, Array]:
        """Record one call of ``loss``, and return the tape and the value.

        The tape does not warn of untracked conversions, because ``track_exits`` counts them.
        """
        with GradientTape(exits="ignore") as tape:
            tape.watch(self._sources)
            value: Array = self.loss(namespace(), *self._ours)
        return tape, value

    def _step(self) -> Any:
        tape, value = self._record()
        return tape.gradient(value, self._sources)

    @measures()
    def time_value(self, *params: Any) -> None:
        """Compute the loss, recorded by a tape; asv measures the time."""
        self._record()

    @measures()
    def time_gradient(self, *params: Any) -> None:
        """Compute the loss and its gradient; asv measures the time."""
        self._step()

    @measures(unit="x NumPy", headline="a value on a tape, over NumPy's time", rank=1)
    def track_overhead(self, *params: Any) -> float:
        """Return the time of the recorded loss divided by the time of the loss with NumPy."""
        return time_ratio(self._record, lambda: self.loss(np, *self._raw), self.seconds)

    @measures(unit="x NumPy", headline="value and gradient, over NumPy's time of the value", rank=2)
    def track_gradient_overhead(self, *params: Any) -> float:
        """Return the time of loss and gradient divided by the time of the loss with NumPy."""
        return time_ratio(self._step, lambda: self.loss(np, *self._raw), self.seconds)

    @measures(unit="bytes", headline="peak memory", rank=3, exact=True)
    def track_peak_bytes(self, *params: Any) -> int:
        """Return the peak of memory in the loss and its gradient, minus the memory in use before."""
        return peak_bytes(self._step)

    @measures(unit="records", headline="records on the tape", rank=4, exact=True)
    def track_records(self, *params: Any) -> int:
        """Return the number of records on the tape after one call of ``loss``."""
        records = self._record()[0]._recording.records
        return sum(record[0] != LEFT.number for record in records)

    @measures(unit="exits", headline="exits: values that leave the tape", rank=5, exact=True)
    def track_exits(self, *params: Any) -> int:
        """Return the number of source locations where the tape stops following a value (float(x))."""
        records = self._record()[0]._recording.records
        left = [LeftRecord(*record) for record in records if record[0] == LEFT.number]
        return len({(record.how, *map(str, record.stack)) for record in left})


def version_of(cls: type) -> str:
    """Return a digest of the source of ``cls`` and its bases up to TapeBenchmarks.

    asv compares only results that have equal versions.
    """
    sources = [VERSION]
    for part in cls.__mro__:
        if part is TapeBenchmarks:
            break
        try:
            sources.append(inspect.getsource(part))
        except (OSError, TypeError):  # the class was defined without a file, as in a notebook
            sources.append(part.__qualname__)
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16]


def measure_of_class(function: FunctionType, cls: type) -> FunctionType:
    """Copy a benchmark method for ``cls``, and set a displayed name that contains the class's name.

    asv reads the displayed name from the function, which all subclasses would otherwise share.  The copy
    is a new method of ``cls``.
    """
    copy = FunctionType(function.__code__, function.__globals__, function.__name__)
    vars(copy).update(vars(function))
    copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
    copy.__qualname__, copy.__module__ = f"{cls.__qualname__}.{function.__name__}", cls.__module__
    what = function.__name__.partition("_")[2].replace("_", " ")
    vars(copy).update(pretty_name=f"{cls.__name__}: {what}")
    return copy


def time_ratio(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float) -> float:
    """Return the CPU time of ``ours`` divided by that of ``theirs``.

    Bursts of several calls of one and the other alternate, and the quickest burst of each counts.
    seconds : the CPU time to spend on the measurement.
    """
    numbers = [calls_per_burst(ours), calls_per_burst(theirs)]
    least = [inf, inf]
    end, done = process_time() + seconds, 0
    while done < BURSTS or process_time() < end:
        for i, call in enumerate((ours, theirs)):
            call()  # loads the data into the CPU's caches again
            start = process_time()
            for _ in range(numbers[i]):
                call()
            least[i] = min(least[i], (process_time() - start) / numbers[i])
        done += 1
    return least[0] / least[1]


def calls_per_burst(call: Callable[[], Any]) -> int:
    """Return the number of calls that take about BURST seconds, the time of one measurement."""
    call()
    start = process_time()
    call()
    return max(1, round(BURST / max(process_time() - start, 1e-6)))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Return the peak of the bytes in use during a call, minus the bytes in use before the call."""
    call()
    gc.collect()
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()
