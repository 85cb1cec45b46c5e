"""Cases with random inputs: one for each sample that an op declares, and one for each entry of OWN."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from arraytape import testing
from arraytape._record.op import REGISTRY, Op, Sample
from arraytape.ops import linalg

from .libraries import Data, Function

inf = float("inf")
# Functions whose results do not depend on the value of an input, or that have no array to differentiate.
NO_DERIVATIVE = {
    "arange", "empty", "empty_like", "eye", "fft.fftfreq", "fft.rfftfreq", "from_dlpack", "nonzero",
    "ones", "ones_like", "zeros", "zeros_like",
    *(op.name for op in REGISTRY.values() if op.kind == "nondifferentiable"),
} - {"ceil", "floor", "round", "stop_gradient", "trunc"}  # fmt: skip
# Ops that the standard does not define for complex numbers.
REAL_ONLY = {
    "atan2", "bincount",
    "cast", "ceil", "clip", "copysign", "fft.ihfft", "fft.rfft", "fft.rfftn", "floor",
    "floor_divide", "full_like", "hypot", "logaddexp", "max", "maximum", "median", "min", "minimum",
    "nextafter", "remainder", "round", "sort", "trunc", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
}  # fmt: skip


class Case(NamedTuple):
    """A computation whose value and derivatives are compared between libraries.

    op, label : names of the op and of the inputs.  function : called with a library and the inputs.
    draw : returns the input arrays for a seed.  second : True if second derivatives are compared, too.
    seeded : False if the inputs are the same for all seeds.
    """

    op: str
    label: str
    function: Function
    draw: Callable[[int], Data]
    second: bool = True
    seeded: bool = True


# --- functions of factorizations that do not depend on the free choice of phases or order -----------
def adjoint(xp: Any, x: Any) -> Any:
    return xp.matrix_transpose(xp.conj(x))


def of_svd(xp: Any, result: Any) -> Any:
    """Return results of svd without arbitrary phases: S, U @ sin(S) @ Vh, and a projector."""
    U, S, Vh = result
    first = U[..., :, :1]
    k = S.shape[-1]
    spectral = (U[..., :, :k] * xp.sin(S)[..., None, :]) @ Vh[..., :k, :]
    return S, spectral, first @ adjoint(xp, first)


def of_eigh(xp: Any, result: Any) -> Any:
    values, vectors = result
    first = vectors[..., :, :1]
    spectral = (vectors * xp.exp(values)[..., None, :]) @ adjoint(xp, vectors)
    return values, spectral, first @ adjoint(xp, first)


def of_eig(xp: Any, result: Any) -> Any:
    """Return results of eig that do not depend on the arbitrary order and phases of eigenvectors."""
    values, vectors = result
    weighted = xp.exp(values / 4.0)[..., None, :]
    spectral = (vectors * weighted) @ xp.linalg.inv(vectors)
    return spectral, xp.sum(weighted * (vectors * xp.conj(vectors)), axis=-1)


def of_eigvals(xp: Any, values: Any) -> Any:
    return xp.sum(xp.exp(values / 4.0), axis=-1), xp.sum(values * values, axis=-1)


INVARIANT = {
    "linalg.eig": of_eig,
    "linalg.eigh": of_eigh,
    "linalg.eigvals": of_eigvals,
    "linalg.svd": of_svd,
}
# From a sample's ``prepare`` to the function (namespace, first input) that returns the input to use.
PREPARE: dict[Any, Function] = {
    None: lambda xp, x: x,
    linalg.hermitian: lambda xp, x: x + adjoint(xp, x),
    linalg.positive_definite: lambda xp, x: x @ adjoint(xp, x) + 2.0 * xp.eye(x.shape[-1]),
    linalg.regular: lambda xp, x: x + xp.asarray(np.diag(3.0 * np.arange(1.0, x.shape[-1] + 1.0))),
}


def of_sample(op: Op, sample: Sample, dtype: Any) -> Case:
    """Return a Case that calls the op with a declared sample.

    The Case's inputs are the floating-point arrays of the sample; all other arguments are constants.
    """

    def split(value: Any, found: Data) -> Any:
        if isinstance(value, list):
            return [split(part, found) for part in value]
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            found.append(value)
            return len(found) - 1
        return (value,)

    def draw(seed: int) -> Data:
        found: Data = []
        split(testing.materialise(op, sample, dtype, seed), found)
        return found

    plan = split(testing.materialise(op, sample, dtype), [])

    def function(library: Any, *arrays: Any) -> Any:
        def fill(entry: Any) -> Any:
            if isinstance(entry, list):
                return [fill(part) for part in entry]
            if isinstance(entry, int):
                return arrays[entry]
            constant = entry[0]
            return library.asarray(constant) if isinstance(constant, np.ndarray) else constant

        first, *rest = fill(plan)
        first = PREPARE[sample.prepare](library.xp, first)
        result = library.op(op.name)(first, *rest, **sample.parameters)
        return INVARIANT[op.name](library.xp, result) if op.name in INVARIANT else result

    kind = "complex" if dtype is np.complex128 else "real"
    given = ", ".join(str(spec) for spec in sample.inputs)
    given += "".join(f", {k}={v}" for k, v in sample.parameters.items())
    return Case(op.name, f"{kind}: {' '.join(given.split())}", function, draw)


# --- composites and other ops without declared samples ------------------------------------------
def own(op: str, function: Function | None, *shapes: tuple[int, ...], **parameters: Any) -> Any:
    """Return an entry of OWN; ``function`` is called in place of the op, unless it is None."""
    return op, function, shapes, parameters


M = (3, 3)
OWN = (
    own("asarray", lambda xp, x: xp.asarray(x, copy=True), M),
    own("astype", lambda xp, x: xp.astype(xp.astype(x, xp.complex128), xp.complex128), M),
    own("bincount", lambda xp, w: xp.bincount(xp.asarray(np.asarray([0, 2, 0])), weights=w), (3,)),
    own("broadcast_arrays", None, (3, 1), (4,)),
    own("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3, 3)), M),
    own("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3, 4)), (3, 1)),
    *(own(name, None, (3, 4)) for name in ("ceil", "floor", "round", "trunc")),
    own("diag", None, (3,)),
    own("diag", lambda xp, x: xp.diag(x, 1), (3, 4)),
    own("diff", None, (3, 4)),
    own("diff", None, (4, 3), axis=0, n=2),
    own("diff", lambda xp, x, a, b: xp.diff(x, prepend=a, append=b), (3, 2), (3, 1), (3, 2)),
    own("expand_dims", None, M, axis=1),
    own("fft.fftn", None, (2, 3, 4)),
    own("fft.fftn", None, (3, 4), s=(4, 3), axes=(0, 1), norm="ortho"),
    own("fft.ifftn", None, (3, 4)),
    own("fft.ifftn", None, (3, 4), s=(2, 6), axes=(0, 1), norm="forward"),
    own("fft.rfftn", None, (3, 4)),
    own("fft.rfftn", None, (4, 3), s=(3, 5), axes=(0, 1), norm="forward"),
    own("fft.irfftn", None, (3, 4)),
    own("fft.irfftn", None, (3, 4), s=(3, 5), axes=(0, 1), norm="ortho"),
    own("fft.hfft", None, (5,)),
    own("fft.hfft", None, (3, 4), n=5, norm="ortho"),
    own("fft.hfft", None, (4, 2), n=9, axis=0, norm="forward"),
    own("fft.ihfft", None, (6,)),
    own("fft.ihfft", None, (3, 5), n=4, norm="forward"),
    own("fft.fftshift", None, (3, 4)),
    own("fft.ifftshift", None, (3, 5), axes=(1,)),
    own("flip", None, (3, 4)),
    own("flip", None, (3, 4), axis=1),
    own("full", lambda xp, x: xp.full((2, 2), x), ()),
    own("full_like", None, (2, 2), ()),
    own("linalg.cross", None, (2, 3), (2, 3)),
    own("linalg.cross", None, (3, 2), (3, 2), axis=0),
    own("linalg.diagonal", None, (2, 3, 4), offset=1),
    own("linalg.diagonal", None, (4, 3), offset=-2),
    *(
        own("linalg.matrix_norm", None, (2, 3, 3), ord=order)
        for order in ("fro", "nuc", 2, -2, 1, -1, inf, -inf)
    ),
    own("linalg.matrix_norm", None, (4, 3), keepdims=True, ord="nuc"),
    *(
        own("linalg.matrix_power", lambda xp, x, n=n: xp.linalg.matrix_power(x, n), M)
        for n in (0, 1, 2, 3, 6, -1, -3)
    ),
    own("linalg.outer", None, (3,), (4,)),
    own("linalg.trace", None, (2, 3, 4), offset=1),
    own("linspace", lambda xp, a, b: xp.linspace(a, b, 5), (), ()),
    own("linspace", lambda xp, a, b: xp.linspace(a, b, 4, endpoint=False), (), ()),
    own("matrix_transpose", None, (2, 3, 4)),
    own("median", None, (5,)),
    own("median", None, (4, 6), axis=1),
    own("meshgrid", lambda xp, x, y: xp.meshgrid(x, y, indexing="xy"), (3,), (2,)),
    own("meshgrid", lambda xp, x, y, z: xp.meshgrid(x, y, z, indexing="ij"), (3,), (2,), (4,)),
    own("moveaxis", lambda xp, x: xp.moveaxis(x, (0, 1), (1, 2)), (2, 3, 4)),
    own("permute_dims", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), (2, 3, 4)),
    own("repeat", lambda xp, x: xp.repeat(x, 2, axis=1), (2, 3)),
    own("repeat", lambda xp, x: xp.repeat(x, xp.asarray(np.asarray([0, 1, 3]))), (3,)),
    own("reshape", lambda xp, x: xp.reshape(x, (2, 6)), (3, 4)),
    own("roll", lambda xp, x: xp.roll(x, 4), (3, 4)),
    own("roll", lambda xp, x: xp.roll(x, (1, -2), axis=(0, 1)), (3, 4)),
    own("scatter_add", lambda xp, x: xp.scatter_add(x, (4, 3), np.asarray([0, 2, 0])), M),
    own("setitem", lambda xp, x, v: xp.written(x, 1, v), M, (3,)),
    own("setitem", lambda xp, x, v: xp.written(x, (slice(None), slice(1, None)), v), M, (3, 2)),
    own("setitem", lambda xp, x, v: xp.written(x, ([2, 0],), v), M, (2, 3)),
    own("sort", None, (3, 4)),
    own("sort", None, (3, 4), axis=0, descending=True),
    own("squeeze", None, (3, 1, 2), axis=1),
    own("stop_gradient", lambda xp, x: x * xp.stop_gradient(x * x), (3,)),
    own("tensordot", None, (2, 3, 4), (3, 4, 5)),
    own("tensordot", None, (2, 3, 4), (4, 5, 2), axes=((0, 2), (2, 0))),
    own("tensordot", None, (2,), (3,), axes=0),
    own("tile", lambda xp, x: xp.tile(x, (2, 1, 3)), (2, 3)),
    own("tril", None, (2, 3, 4), k=1),
    own("triu", None, (3, 4), k=-1),
    own("unique_all", lambda xp, x: xp.unique_all(x).values, (2, 3)),
    own("unique_counts", lambda xp, x: xp.unique_counts(x).values, (2, 3)),
    own("unique_inverse", lambda xp, x: xp.unique_inverse(x).values, (2, 3)),
    own("unique_values", None, (2, 3)),
    own("unstack", None, (2, 3), axis=1),
)


def of_own(entry: Any, dtype: Any) -> Case:
    """Return a Case for an entry of OWN, with random real or complex inputs in [-2, 2]."""
    op, function, shapes, parameters = entry

    def draw(seed: int) -> Data:
        rng = np.random.default_rng(seed)
        found: Data = [np.asarray(rng.uniform(-2.0, 2.0, shape)) for shape in shapes]
        if dtype is np.complex128:
            found = [np.asarray(x + 1j * rng.uniform(-2.0, 2.0, x.shape)) for x in found]
        return found

    given = ", ".join([*map(str, shapes), *(f"{k}={v}" for k, v in parameters.items())])
    kind = "complex" if dtype is np.complex128 else "real"
    return Case(op, f"{kind}: {given}", called(op, function, parameters), draw)


def called(op: str, function: Function | None, parameters: dict[str, Any]) -> Function:
    if function is not None:
        return lambda library, *arrays: function(library.xp, *arrays)
    return lambda library, *arrays: library.op(op)(*arrays, **parameters)


# --- all of them ------------------------------------------------------------------------------------
def drawn() -> Iterator[Case]:
    """Yield all cases on random inputs."""
    yield from declared()
    yield from composites()


def kinds(op: str) -> Sequence[Any]:
    return (np.float64,) if op in REAL_ONLY else (np.float64, np.complex128)


def declared() -> Iterator[Case]:
    for op in testing.recorded_ops():
        for sample in op.samples:
            yield from (of_sample(op, sample, dtype) for dtype in kinds(op.name))


def composites() -> Iterator[Case]:
    for entry in OWN:
        yield from (of_own(entry, dtype) for dtype in kinds(entry[0]))
