"""Bad inputs, for a short time: 1,500 of some 300,000 cases, and what they found once."""

import operator
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, ndimage, signal
from scipy.spatial import distance

import arraytape as xp
from arraytape import diagnose, interop, nn, optimizers, testing
from arraytape._record.op import REGISTRY
from arraytape._record.stack import recorders
from arraytape._util.errors import describe, short_repr

from .bad_inputs import ATTACK, CASES
from .bad_values import VALUES
from .good_calls import CALLS, CRASH, environment, square
from .tool_calls import taped

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from status import public_names


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_bad_input_is_refused_with_a_documented_error_or_gives_sound_arrays(seed):
    assert ATTACK.run(seed) == CASES


# --- the table of good calls ------------------------------------------------------------------------
HOMES = {  # of a class: how calls name its methods
    "Array": "x", "GradientTape": "tape", "ForwardAccumulator": "accumulator", "Variable": "v",
    "Module": "module", "nn.Dense": "nn.Dense", "optimizers.Optimizer": "optimizers.Optimizer",
    "optimizers.LBFGS": "optimizers.LBFGS", "functional": "xp",
}  # fmt: skip
NO_ARGUMENTS = "takes no arguments"
WITHOUT = {  # what no call attacks, and why
    "__array_namespace_info__": NO_ARGUMENTS, "Array": "has no constructor",
    "Array.conj": NO_ARGUMENTS, "Array.conjugate": NO_ARGUMENTS, "Array.item": NO_ARGUMENTS,
    "Array.nonzero": NO_ARGUMENTS, "Array.to_numpy": NO_ARGUMENTS, "Array.tolist": NO_ARGUMENTS,
    "GradientTape.in_this_thread": NO_ARGUMENTS, "GradientTape.reset": NO_ARGUMENTS,
    "GradientTape.stop_recording": NO_ARGUMENTS, "GradientTape.watched_variables": NO_ARGUMENTS,
    "diagnose.check_indices": NO_ARGUMENTS,
    "interop.install": NO_ARGUMENTS + ", and cannot be taken back", "testing.recorded_ops": NO_ARGUMENTS,
    "testing.storages.frozen": NO_ARGUMENTS, "testing.storages.hostile": NO_ARGUMENTS,
    "testing.storages.strict": NO_ARGUMENTS, "testing.xp_backends.available": NO_ARGUMENTS,
    "LostGradientError": "an exception", "show_versions": NO_ARGUMENTS,
    "IndexedSlices": "a tuple that accepts anything", "Variable.read_value": NO_ARGUMENTS,
    "Variable.ref": NO_ARGUMENTS,
    **{f"testing.benchmarks.TapeBenchmarks.{name}": "asv calls it" for name in (
        "arrays", "loss", "setup", "time_gradient", "time_value", "track_exits", "track_overhead",
        "track_gradient_overhead", "track_peak_bytes", "track_records")},
    "distributed.PartitionError": "an exception", "distributed.Partitions": "what partitions() gives",
    "distributed.Partitions.persist": NO_ARGUMENTS,
    "TapeWarning": "an exception", "diagnose.NonFiniteError": "an exception",
}  # fmt: skip


def test_every_public_callable_is_called_or_there_is_a_reason():
    called = {name.partition(" ")[0] for name in CALLS}
    missing = []
    for full in public_names.listing():
        name = full.partition(".")[2]
        home, _, last = name.rpartition(".")
        value = operator.attrgetter(name)(xp)
        if not callable(value) or is_aside(name, value):
            continue
        homes = [HOMES.get(home, home), f"xp.{home}".rstrip(".")]
        if not called & {f"{home}.{last}" for home in homes}:
            missing.append(name)
    assert missing == []


def is_aside(name, value):
    """Whether no call attacks what is public."""
    spheroidal = name.startswith("special.") and name.partition(".")[2] in CRASH
    again = name.startswith("standard.")  # the same objects as without that prefix
    return name in WITHOUT or spheroidal or again or issubclass_of(value, np.generic)


def issubclass_of(value, cls):
    return isinstance(value, type) and issubclass(value, cls)


def test_no_reason_is_given_for_what_is_not_there():
    assert [name for name in WITHOUT if f"arraytape.{name}" not in public_names.listing()] == []


@pytest.mark.slow
def test_the_good_calls_are_good():
    for name, make in CALLS.items():
        e = environment()
        with e.tape, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            e.tape.watch(e.x)
            function, args, keywords = make(e)
            try:
                function(*args, **keywords)
            except Exception as error:
                raise AssertionError(name) from error


# --- what an Array may hold --------------------------------------------------------------------------
X = xp.asarray([1.0, 2.0])
HELD = {
    "a Python integer": lambda: xp.abs(10**30),
    "a foreign tensor": lambda: xp.linspace(VALUES["Tensor()"](), 1.0, 3),
    "objects": lambda: xp.zeros(2, dtype=object),
    "objects as an operand": lambda: xp.add(X, np.asarray([1, None])),
    "objects by dtype": lambda: xp.sum(X, dtype=object),
    "text": lambda: xp.asarray(["a"]),
    "text as an operand": lambda: xp.where(X > 0, X, np.str_("a")),
    "dates": lambda: xp.abs(np.datetime64("2000")),
    "time": lambda: xp.add(X, np.zeros(2, "m8[s]")),
    "extended precision": lambda: xp.asarray(np.ones(2, np.longdouble)),
    "extended precision as an operand": lambda: X * np.longdouble(2),
    "extended precision by dtype": lambda: xp.astype(X, np.longdouble),
    "extended precision by NumPy's function": lambda: np.nanmean(X, dtype=np.longdouble),
    "extended precision of a function of the user's": lambda: xp.host_function(
        lambda x: x.astype(np.longdouble), lambda g, y, x: g
    )(X),
    "records": lambda: xp.define_op(
        "gives_records", lambda x: np.zeros(2, "f8,i4"), "nondifferentiable"
    )(X),
}


@pytest.mark.parametrize("make", HELD.values(), ids=HELD)
def test_no_array_holds(make):
    with pytest.raises(TypeError, match=r"\[at .*test_bad_inputs\.py:\d+"):
        make()


def test_data_in_another_byte_order_comes_in_that_of_the_machine():
    swapped = np.asarray([1.0, 2.0], np.dtype(float).newbyteorder("S"))
    for y in (xp.asarray(swapped), X * swapped, np.add(X, swapped), xp.exp(swapped)):
        assert y.dtype.isnative
        assert y.dtype is not swapped.dtype
    assert np.asarray(X * swapped).tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match="byte order"):
        xp.asarray(swapped, copy=False)


# --- what came from inside ---------------------------------------------------------------------------
E = environment()
NESTED = VALUES["nested()"]()
NUMPYS = TypeError, ValueError  # which of them depends on the release of NumPy


def gradient_of_sum(**options):
    with xp.GradientTape() as tape:
        tape.watch(X)
        y = xp.sum(X)
    return tape.gradient(y, X, **options)


def bare_op():
    """The name of an op without a rule."""
    if "bare" not in REGISTRY:
        xp.define_op("bare", lambda x: x * 2.0)
    return "bare"


INSIDE = {
    "axes that are text": (lambda: xp.fft.fftshift(E.x, axes="a"), (TypeError, ValueError)),
    "axes out of range": (lambda: xp.fft.fftshift(E.x, axes=7), np.exceptions.AxisError),
    "a pad width of None": (lambda: xp.pad(E.x, None), (TypeError, ValueError)),
    "a list in itself": (lambda: xp.asarray(VALUES["cyclic()"]()), ValueError),
    "a list in itself beside an Array": (lambda: E.x + VALUES["cyclic()"](), (TypeError, ValueError)),
    "a list that is nested too deeply": (lambda: np.take(E.x, VALUES["nested()"]()), ValueError),
    "a tensor as an axis": (lambda: xp.expand_dims(E.x, axis=VALUES["Tensor()"]()), TypeError),
    "an axis of None": (lambda: xp.expand_dims(E.x, axis=None), TypeError),
    "np.dot of None": (lambda: np.dot(E.x, None), TypeError),
    "np.kron of None": (lambda: np.kron(E.x, None), TypeError),
    "np.gradient by None": (lambda: np.gradient(E.x, None), TypeError),
    "a number that no float can be": (lambda: E.x + 10**400, OverflowError),
    "a set as a name": (lambda: xp.register_gradient({1, 2})(len), LookupError),
    "a module as a dtype": (lambda: E.x.mean(0, np), ValueError),
    "an array as an order": (lambda: E.x.copy(E.x), TypeError),
    "a text as a base": (lambda: xp.logspace(0.0, 1.0, 3, base="a"), TypeError),
    "None as a base": (lambda: xp.logspace(0.0, 1.0, 3, base=None), TypeError),
    "objects as a base": (
        lambda: xp.logspace(0.0, 1.0, 3, base=np.asarray([1.0, None])), TypeError),
    "deep lists as a device": (lambda: xp.zeros(2, device=NESTED), ValueError),
    "deep lists for zeros": (lambda: gradient_of_sum(unconnected_gradients=NESTED), ValueError),
    "deep lists as argnums": (lambda: xp.jacobian(xp.sum, argnums=NESTED)(E.x), TypeError),
    "deep lists as an op's name": (lambda: xp.no_gradient(NESTED), LookupError),
    "an array as a word": (lambda: gradient_of_sum(nan=np.ones(3)), ValueError),
    "an array as a rule": (lambda: xp.register_gradient(bare_op())(np.ones(3)), TypeError),
    "no names of results": (
        lambda: xp.define_op("nameless", lambda x: x, "nondifferentiable", outputs=""), TypeError),
    "x.dot of a list in itself": (lambda: E.x.dot(VALUES["cyclic()"]()), ValueError),
    "a ragged key of a write": (lambda: operator.setitem(E.x, [[0], [1, 0]], 1.0), ValueError),
    "None as an operand": (lambda: xp.logical_and(E.x, None), TypeError),
    "None among arrays": (lambda: xp.concat([E.x, None]), TypeError),
    "a look at values under vmap": (lambda: xp.vmap(np.longdouble)(E.x), TypeError),
    "a generator as an order": (
        lambda: xp.special.spherical_jn(VALUES["numbers()"](), 0.7), TypeError),
    "more units than a layer can have": (lambda: nn.Dense(10**400).build(E.x), OverflowError),
    "more units than memory": (lambda: nn.Dense(10**15).build(E.x), MemoryError),
    "a text as a seed": (lambda: nn.Dense(2, seed="a"), TypeError),
    "a negative seed": (lambda: nn.Dense(2, seed=-1), ValueError),
    "a text as data of a layer": (lambda: nn.Dense(2).build("a"), TypeError),
    "an array as a slot's name": (lambda: optimizers.Adam(0.1).slot(np.ones(3), E.x), ValueError),
    "a dict as lines": (lambda: diagnose.nans(taped(lambda t: t)().tape, E.x, E.x, {}), TypeError),
    "a list as a folder": (lambda: diagnose.save_on_disk([1]), TypeError),
    "a text as a number of bytes": (lambda: diagnose.save_on_disk(None, "a"), TypeError),
    "a number as a function": (lambda: testing.check_gradients(1.5, [np.ones(2)]), TypeError),
    "a text as an order of checks": (
        lambda: testing.check_gradients(xp.sum, [np.ones(2)], order="a"), ValueError),
    "a number as an op": (lambda: testing.materialise(1, None), TypeError),
    "a loss that is no Array": (lambda: optimizers.minimize_scipy(lambda x: 1.0, E.x), TypeError),
    "no device as the default": (lambda: xp.set_default_device(None), ValueError),
    "an array as a device": (lambda: xp.zeros(2, device=np.ones(3)), ValueError),
    "a list in itself as a mask": (lambda: E.x.sum(where=VALUES["cyclic()"]()), ValueError),
    "deep lists as a mask": (lambda: E.x.max(initial=0.0, where=NESTED), ValueError),
    "a ragged mask": (lambda: E.x.sum(where=[[1.0], [2.0, 3.0]]), ValueError),
    "a mask that has a length alone": (lambda: E.x.sum(where=VALUES["Long()"]()), ValueError),
    "a number to begin with that is none": (lambda: E.x.sum(initial=NESTED), ValueError),
    "x.dot of None": (lambda: E.x.dot(None), TypeError),
    "deep lists as a dtype of lists": (lambda: xp.asarray([1.0], dtype=NESTED), NUMPYS),
    "deep lists as a dtype of an Array": (lambda: xp.asarray(E.x, dtype=NESTED), NUMPYS),
    "a text as a dtype of Arrays": (lambda: xp.asarray([E.v, E.v], dtype="text"), TypeError),
    "an array for whether to copy": (lambda: xp.asarray(E.x, copy=np.ones(3)), ValueError),
    "deep lists as a limit": (lambda: xp.function(square, limit=NESTED), ValueError),
    "deep lists as a function": (lambda: xp.function(NESTED), TypeError),
    "an array for whether to be strict": (lambda: xp.function(square, strict=np.ones(3)), TypeError),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error"), INSIDE.values(), ids=INSIDE)
def test_an_error_from_inside_says_where_and_on_what(call, error):
    with pytest.raises(error, match=r"\[at .*test_bad_inputs\.py:\d+") as caught:
        call()
    assert not isinstance(caught.value, KeyError | RecursionError | UnboundLocalError)


def test_a_message_does_not_show_an_argument_at_length():
    for call in (
        lambda: xp.function(square, limit=[list(range(1000))] * 1000),
        lambda: xp.function(VALUES["nested()"]()),
        lambda: E.x.sum(where=[[1.0], list(range(1000))]),
    ):
        with pytest.raises((TypeError, ValueError), match=r"\[at .*test_bad_inputs\.py") as caught:
            call()
        assert len(str(caught.value)) < 1000


def test_asarray_takes_any_truth_for_whether_to_copy():
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([E.v, E.v], copy=np.False_)
    assert xp.asarray(E.v, copy=np.False_) is E.v
    assert xp.asarray(E.v, copy=np.True_) is not E.v


SCIPYS = {
    "what an op refuses": (lambda: signal.sosfilt([[1.0] * 6], xp.asarray([1.0]), axis="a")),
    "a rule's own error": (lambda: distance.squareform(X, force=1.5)),
    "what has no rule": (lambda: linalg.qr(xp.eye(2), mode="raw")),
    "an Array as an option": (lambda: ndimage.median_filter(E.x, 3, origin=xp.asarray([0, 1]))),
    "a list in itself": (lambda: linalg.inv([xp.eye(2), VALUES["cyclic()"]()])),
}


@pytest.mark.parametrize("call", SCIPYS.values(), ids=SCIPYS)
def test_in_a_context_of_interop_the_line_is_the_users(call):
    with (
        interop.scipy(),
        pytest.raises((TypeError, ValueError), match=r"\[at .*test_bad_inputs\.py:\d+") as caught,
    ):
        call()
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("name", VALUES)
def test_whatever_an_argument_is_a_message_can_show_it(name):
    value = VALUES[name]()
    assert 0 < len(short_repr(value)) < 300
    assert 0 < len(describe(value)) < 300


def test_a_hook_that_raises_leaves_the_tape_as_it_was():
    def hook(g):
        raise KeyError("mine")

    with xp.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = X * X
        remove = diagnose.on_gradient(y, hook)
        z = xp.sum(y * y)
    with pytest.raises(KeyError, match="mine"):
        tape.gradient(z, X)
    assert recorders() == ()
    remove()
    assert np.asarray(tape.gradient(z, X)).tolist() == [4.0, 32.0]


def test_what_a_hostile_argument_raises_comes_out_as_it_is():
    for name in ("Converted()", "Long()"):
        with pytest.raises(Exception, match=r"asked|Array|dimension") as caught:
            xp.asarray(VALUES[name]())
        assert not isinstance(caught.value, RecursionError)


def test_an_error_of_the_users_own_function_comes_out_as_it_is():
    error = KeyError("mine")

    def function(*_):
        raise error

    calls = (
        lambda: xp.grad(function)(X), lambda: np.apply_along_axis(function, 0, E.x),
        lambda: xp.recompute_grad(function)(X), lambda: xp.define_op("mine", function, samples=())(X),
    )  # fmt: skip
    for call in calls[:3]:
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value is error


def test_np_split_takes_arrays_for_places_and_numbers():
    parts = np.split(E.x, xp.asarray([1, 2]), axis=1)
    assert [part.shape for part in parts] == [(2, 1), (2, 1), (2, 1)]
    assert [part.shape for part in np.split(E.x, xp.asarray(3), axis=1)] == [(2, 1)] * 3
    with pytest.raises(ValueError, match=r"use np\.array_split"):
        np.split(E.x, xp.asarray(2), axis=1)
    with pytest.raises(TypeError, match=r"parts.*\[at"):
        np.split(E.x, xp.asarray(1.5), axis=1)
