"""Outcomes of calls: values compared with NumPy's, derivatives with finite differences, replays."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import arraytape
from arraytape import testing
from peers.libraries import PEERS, Data, Derivatives, Ours
from peers.libraries import Library as Backend

from .facts import Call, Library, Raw

RTOL = 1e-6  # the tolerance of derivatives, relative to the largest element or 1
STEP = 1e-4

# The outcomes, in the order of the page.
RIGHT, VALUE = "right", "a value differs"
NAME, KEYWORD, LOUD = "a name is missing", "a keyword is missing", "an error"
NUMBER, WARNED, NAN, WRONG = "a number", "warned", "NaN", "wrong"


class Outcome(NamedTuple):
    """The result of a call on a backend.

    Attributes
    ----------
    first, second, replay : str
        One of the outcomes above for the value and gradient, the second order and ``xp.function``;
        "" if it was not tried.
    detail : str
        The message of the error or warning, or the numbers that differ.
    needless : str
        A warning of a gradient that is right.
    """

    first: str
    second: str = ""
    replay: str = ""
    detail: str = ""
    needless: str = ""

    def words(self) -> str:
        """Return the outcome of the first check that failed, as text for the page, or RIGHT."""
        checks = {"": self.first, "second order: ": self.second, "replayed: ": self.replay}
        for check, outcome in checks.items():
            if outcome not in (RIGHT, ""):
                return check + outcome
        return RIGHT


class Differs(Exception):
    """The error that a check raises if its outcome is not RIGHT."""

    def __init__(self, outcome: str, detail: str = "") -> None:
        super().__init__(outcome, detail)
        self.outcome, self.detail = outcome, detail


class Numpy(Backend):
    """The backend NumPy, whose values are the reference for the other backends."""

    name, xp = "numpy", np

    def derivatives(self, *_: Any) -> Any:
        raise NotImplementedError


def results(library: Library, call: Call, backend: Backend, arrays: Sequence[Any]) -> list[Any]:
    """Call the library's function on a backend, and return its arrays and numbers."""
    library.prepare(backend.name)
    return [*numbers(call.run(library.module, backend.asarray, list(arrays)))]


class Reference:
    """NumPy's results of a call, and the gradients of their weighted sum.

    Attributes
    ----------
    floats, others : list of ndarray
        The floating-point results, and the others.
    weights : list of ndarray
        The cotangents of the floating-point results.
    """

    def __init__(self, library: Library, call: Call) -> None:
        self.library, self.call = library, call
        found = [np.asarray(y) for y in results(library, call, NUMPY, call.inputs())]
        self.floats = [y for y in found if is_floating(y)]
        self.others = [y for y in found if not is_floating(y)]
        self.weights = [testing.weights(y.shape).astype(y.dtype) for y in self.floats]

    def value(self, *inputs: Raw) -> float:
        """Return the weighted sum of the floating-point results."""
        found = results(self.library, self.call, NUMPY, [x.copy() for x in inputs])
        return testing.inner(self.weights, [np.asarray(y) for y in found if is_floating(y)])

    @functools.cached_property
    def gradient(self) -> Data:
        """Compute the gradients of ``value`` by differences for each element."""
        inputs = self.call.inputs()
        found = [np.zeros_like(x) for x in inputs]
        for i, x in enumerate(inputs):
            for at in np.ndindex(x.shape):
                for step in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                    along = [np.zeros_like(other) for other in inputs]
                    along[i][at] = step
                    found[i][at] += step * testing.differences(self.value, inputs, along, STEP)
        return found


class Trial:
    """A call on one backend.

    Attributes
    ----------
    warned : list of str
        The warnings of the tape.
    """

    def __init__(self, reference: Reference, backend: Backend) -> None:
        self.reference, self.backend = reference, backend
        self.weights = reference.weights
        self.warned: list[str] = []

    @property
    def inputs(self) -> Data:
        """Return copies of the inputs, because functions may write to them."""
        return self.reference.call.inputs()

    def results(self, arrays: Sequence[Any]) -> list[Any]:
        return results(self.reference.library, self.reference.call, self.backend, arrays)

    def function(self, _: Backend, *arrays: Any) -> list[Any]:
        """Call the library's function, and return its floating-point results."""
        return [y for y in self.results(arrays) if is_floating(y)]

    # --- the three checks --------------------------------------------------------------------------
    def check_first(self) -> None:
        """Raise Differs unless values and gradients are right."""
        arrays = [self.backend.asarray(x) for x in self.inputs]
        found = self.results(arrays)
        others = [y for y in found if not is_floating(y)]
        for y, reference in zip(others, self.reference.others, strict=True):
            if not np.array_equal(np.asarray(y), reference):
                raise Differs(VALUE, f"{y}, not {reference}")
        floats = [y for y in found if is_floating(y)]
        for y in floats:
            if arrays and not isinstance(y, type(arrays[0])):
                raise Differs(NUMBER, f"the result is a {type(y).__name__}")
        for y, reference in zip(floats, self.reference.floats, strict=True):
            self.compare_values(y, reference)
        # A peer may have a result of shape (1,) in place of ().
        self.weights = [
            w.reshape(y.shape) for w, y in zip(self.reference.weights, floats, strict=True)
        ]
        gradient = self.derivatives(self.function, self.inputs).gradient
        self.compare(gradient, self.reference.gradient)

    def compare_values(self, y: Any, reference: Raw) -> None:
        value = self.backend.numpy(y)
        if value.shape != reference.shape and isinstance(self.backend, Ours):
            raise Differs(VALUE, f"shape {value.shape}, not {reference.shape}")
        if value.size != reference.size or not np.allclose(
            value.ravel(), reference.ravel(), rtol=1e-9, atol=1e-9, equal_nan=True
        ):
            raise Differs(VALUE, f"{short(value)}, not {short(reference)}")

    def derivatives(self, function: Any, inputs: Data, along: Data | None = None) -> Derivatives:
        return self.backend.derivatives(function, inputs, self.weights, along)

    def check_second(self) -> None:
        """Raise Differs unless a Hessian-vector product agrees with finite differences of gradients."""
        along = testing.directions(self.inputs)
        probe = testing.directions(self.inputs, seed=1)

        def bowl(backend: Backend, *arrays: Any) -> Any:
            return backend.bowl(self.function(backend, *arrays), self.weights)

        def slope(*inputs: Raw) -> float:
            one = [np.asarray(1.0)]
            found = self.backend.derivatives(bowl, list(inputs), one, None)
            return testing.inner(found.gradient, probe)

        found = self.derivatives(self.function, self.inputs, along)
        expected = testing.differences(slope, self.inputs, along, STEP)
        self.compare([np.asarray(testing.inner(found.curvature, probe))], [np.asarray(expected)])

    def check_replay(self) -> None:
        """Raise Differs unless ``xp.function`` gives the eager results on other data, too."""
        replayed = arraytape.function(lambda *arrays: self.function(self.backend, *arrays))
        for scale in (1.0, 1.0, 1.02, 1.02):
            inputs = [x * scale for x in self.inputs]
            eager = self.derivatives(self.function, [x.copy() for x in inputs])
            found = self.derivatives(lambda _, *arrays: replayed(*arrays), inputs)
            self.compare([*found.value, *found.gradient], [*eager.value, *eager.gradient])

    def compare(self, found: Data, expected: Data) -> None:
        for x, reference in zip(found, expected, strict=True):
            size = max(1.0, float(np.abs(reference).max(initial=0.0)))
            if np.allclose(x, reference, rtol=0.0, atol=RTOL * size):
                continue
            if self.warned:
                raise Differs(WARNED, self.warned[0])
            numbers = f"{short(x)}, not {short(reference)}"
            raise Differs(WRONG if np.isfinite(x).all() else NAN, numbers)

    # --- all of them -------------------------------------------------------------------------------
    def outcome(self) -> Outcome:
        first, detail = self.tried(self.check_first)
        needless = self.warned[0] if first == RIGHT and self.warned else ""
        if first != RIGHT or not (self.inputs and self.reference.floats):
            return Outcome(first, detail=detail, needless=needless)
        if not isinstance(self.backend, Ours):
            return Outcome(first)
        second, said = self.tried(self.check_second)
        replay, also = self.tried(self.check_replay)
        return Outcome(first, second, replay, said or also, needless)

    def tried(self, check: Any) -> tuple[str, str]:
        """Run a check, and return its outcome and the detail."""
        self.warned = []
        try:
            with self.recorded_warnings(), np.errstate(all="ignore"):
                check()
        except Differs as found:
            return found.outcome, found.detail
        except Exception as error:
            return kind_of(error), said(error)
        return RIGHT, ""

    @contextlib.contextmanager
    def recorded_warnings(self) -> Iterator[None]:
        def keep(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
            if issubclass(category, arraytape.TapeWarning):
                self.warned.append(one_line(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = keep
            yield


def kind_of(error: Exception) -> str:
    """Return the outcome of a check that raised ``error``: NAME, KEYWORD or LOUD."""
    text = str(error)
    if re.search("module '.*' has no attribute", text):
        return NAME
    if isinstance(error, TypeError) and re.search("unexpected keyword|a parameter '", text):
        return KEYWORD
    return LOUD


def said(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)}"


def one_line(message: object) -> str:
    return " ".join(str(message).split())[:240]


def short(x: Raw) -> str:
    with np.printoptions(precision=6, threshold=8, edgeitems=2):
        return " ".join(np.array2string(x, separator=",").split())[:80]


def numbers(results: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a nesting of results."""
    if isinstance(results, tuple | list):
        for part in results:
            yield from numbers(part)
    elif isinstance(results, dict):
        yield from numbers([*results.values()])
    elif isinstance(results, bool | int | float) or hasattr(results, "dtype"):
        yield results
    elif results is not None:
        raise TypeError(f"the table has to take the arrays out of a {type(results).__name__}")


def is_floating(x: Any) -> bool:
    return isinstance(x, float) or any(
        kind in str(getattr(x, "dtype", "")) for kind in ("float", "complex")
    )


NUMPY = Numpy()


def backends(names: list[str]) -> dict[str, Backend]:
    """Return the backends by name: arraytape, and the installed ones of the peers ``names``."""
    found: dict[str, Backend] = {"arraytape": Ours()}
    for name in filter(None, names):
        with contextlib.suppress(ImportError):
            found[name] = PEERS[name]()
    return found
