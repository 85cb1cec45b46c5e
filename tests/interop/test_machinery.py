"""Hooks, facades and contexts, on a library made for it."""

import asyncio
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._util import imports
from arraytape.interop import _context, _hooks
from arraytape.interop._facades import SoftFloat
from arraytape.interop._ops import library_op

X = xp.asarray([1.0, 4.0])


@pytest.fixture
def made(library, entered):
    """The module, imported before the context is first entered, and the context."""
    name = library()
    return importlib.import_module(name), lambda: entered(name)


# --- who is concerned ---------------------------------------------------------------------------------
def test_a_rule_runs_inside_the_context_and_on_arrays_alone(made):
    module, context = made
    assert module.plain(X)[0] == "plain"
    with context():
        assert module.plain(X, scale=3.0) == ("rule", (X,), {"scale": 3.0})
        assert module.plain(1.0)[0] == "plain"
        assert module.plain(np.ones(2))[0] == "plain"
    assert module.plain(X)[0] == "plain"


@pytest.mark.parametrize("x", [[X], ([1.0, [X]],), {"a": X}, xp.Variable([1.0])])
def test_arrays_within_containers_and_variables_count(made, x):
    module, context = made
    with context():
        assert module.plain(x)[0] == "rule"
        assert module.plain(x=x)[0] == "rule"
        assert module.plain(1.0, scale=x)[0] == "rule"


def test_an_object_of_the_library_counts_by_what_its_components_hold(made):
    module, context = made
    owner, part, other = module.Base(), module.Base(), module.Base()
    owner.parts, part.inner, other.value = [part], module.Base(), 1.0
    part.inner.owner = owner  # a cycle
    with context():
        assert module.plain(owner)[0] == "plain"
        part.inner.value = X
        assert module.plain(owner)[0] == "rule"
        assert module.plain(other)[0] == "plain"
        assert module.plain(1.0, owner)[0] == "rule"


def test_contexts_nest_and_end_by_exceptions(made):
    module, context = made
    with context():
        with pytest.raises(KeyError), context():
            raise KeyError
        with context():
            pass
        assert module.plain(X)[0] == "rule"
    assert module.plain(X)[0] == "plain"


def test_a_context_is_of_one_thread(made):
    module, context = made
    found = {}

    def work(name, enter):
        if enter:
            with context():
                found[name] = module.plain(X)[0]
        else:
            found[name] = module.plain(X)[0]

    with context():
        threads = [threading.Thread(target=work, args=(i, i % 2)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert module.plain(X)[0] == "rule"
    assert found == {i: ("plain", "rule")[i % 2] for i in range(6)}


def test_a_context_is_of_one_task(made):
    module, context = made
    inside, outside = asyncio.Event(), asyncio.Event()

    async def enters():
        with context():
            inside.set()
            await outside.wait()
            return module.plain(X)[0], await asyncio.create_task(child())

    async def child():
        return module.plain(X)[0]

    async def stays_out():
        await inside.wait()
        found = module.plain(X)[0]
        outside.set()
        return found

    async def both():
        return await asyncio.gather(enters(), stays_out())

    assert asyncio.run(both()) == [("rule", "rule"), "plain"]


def test_many_threads_enter_at_once(library, entered):
    name = library()
    importlib.import_module(name)
    barrier, found = threading.Barrier(8), []

    def work():
        barrier.wait()
        with entered(name):
            found.append(sys.modules[name].plain(X)[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["rule"] * 8


def test_install_is_for_all_threads_and_for_good():
    code = """
import threading
import numpy as np, scipy.linalg, arraytape as xp
from arraytape import interop
interop.install(); interop.install()
found = []
thread = threading.Thread(target=lambda: found.append(type(scipy.linalg.inv(xp.asarray(np.eye(2))))))
thread.start(); thread.join()
assert found == [xp.Array], found
assert type(scipy.linalg.inv(np.eye(2))) is np.ndarray
"""
    run_python(code)


def run_python(code):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr


# --- imports ------------------------------------------------------------------------------------------
def test_a_module_that_is_imported_later_gets_its_rules(library, entered):
    name = library()
    with entered(name):
        assert name not in sys.modules
        module = importlib.import_module(name)
        assert module.plain(X)[0] == "rule"
    assert "exec_module" not in vars(module.__loader__)
    assert name not in imports.WAITING


def test_a_module_that_fails_to_import_fails_as_it_did(library, entered):
    name = library(package="raise ValueError('at the import')")
    with entered(name):
        for _ in range(2):
            with pytest.raises(ValueError, match="at the import"):
                importlib.import_module(name)


def test_a_context_that_is_entered_by_the_module_itself_acts_at_the_next(
    library, entered, monkeypatch
):
    package = """
        def plain(x):
            return ("plain", x)
        with ENTER("NAME"):
            early = plain(X)
    """
    table = """
        from arraytape.interop._statements import hooks
        @hooks("NAME", "plain")
        def rule(x):
            return ("rule", x)
    """
    name = library(table=table, package=package)
    monkeypatch.setattr("builtins.ENTER", entered, raising=False)
    monkeypatch.setattr("builtins.X", X, raising=False)
    module = importlib.import_module(name)
    assert module.early[0] == "plain"  # not done yet, so not changed
    with entered(name):
        assert module.plain(X)[0] == "rule"


def test_what_a_library_no_longer_has_is_skipped_with_a_warning(library, entered):
    table = """
        from arraytape.interop._statements import hooks, stands_in
        @hooks("NAME", "gone", "Base.gone", "plain", "math")
        def rule(x):
            return ("rule", x)
        stands_in("NAME", "gone_too", f=rule)
        stands_in("NAME", "math", gone_from_it=rule)
    """
    name = library(table=table)
    module = importlib.import_module(name)
    with pytest.warns(xp.TapeWarning) as caught:
        entered(name)
    said = [str(warning.message) for warning in caught]
    for what in (
        f"{name}.gone;",
        "Base.gone",
        "no Python function",
        "gone_too",
        "math.gone_from_it",
    ):
        assert any(what in text for text in said), (what, said)
    assert {warning.filename for warning in caught} == {
        __file__.replace("test_machinery", "conftest")
    }
    with entered(name):
        assert module.plain(X)[0] == "rule"


# --- hooks --------------------------------------------------------------------------------------------
def test_a_hooked_function_stays_the_same_object_for_all_who_hold_it(made):
    module, context = made
    held, looks = module.plain, (inspect.signature(module.plain), inspect.getsource(module.plain))
    defaults = held.__defaults__, held.__kwdefaults__, held.__doc__, held.__name__, held.__module__
    with context():
        assert held is module.plain
        assert held(X)[0] == "rule"
    assert (inspect.signature(held), inspect.getsource(held)) == looks
    assert defaults == (
        held.__defaults__, held.__kwdefaults__, held.__doc__, held.__name__, held.__module__
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(held)) is held


def test_closures_methods_and_super_go_on(made):
    module, context = made
    signature = inspect.signature(module.wrapped)
    with context():
        assert module.wrapped(2.0) == ("decorated", 2.0)
        assert module.wrapped(X, offset=2) == ("rule", (X,), {"offset": 2})
        instance = module.Derived()
        assert instance.method(1.0) == ("derived", "base", 1.0)
        assert instance.method(X)[0] == "rule"
    assert inspect.signature(module.wrapped) == signature


def test_functions_of_one_name_have_hooks_of_their_own(made):
    module, context = made
    with context():
        pass

    def again(x):
        return ("again", x)

    again.__module__, again.__qualname__ = module.plain.__module__, module.plain.__qualname__
    _hooks.hook(again, lambda x: ("rule of again", x), module.__name__)
    with context():
        assert again(X)[0] == "rule of again"
        assert again(1.0)[0] == "again"
        assert module.plain(X)[0] == "rule"
        assert _hooks.original_of(again)(X)[0] == "again"


def test_errors_of_calls_are_the_originals(made):
    module, context = made
    with pytest.raises(TypeError) as before:
        module.plain()
    with context():
        with pytest.raises(TypeError) as after:
            module.plain()
        assert str(before.value) == str(after.value)
        with pytest.raises(KeyError, match="nothing here") as failed:
            module.fails(1.0)
    assert traceback.extract_tb(failed.value.__traceback__)[-1].filename == module.__file__


def test_warnings_point_at_the_same_line(made):
    module, context = made
    with context(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.warns(1.0)
        here = inspect.currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, here)]


def test_a_call_of_a_hooked_function_costs_one_frame(made):
    module, context = made
    with context():
        pass
    depth = []
    monitor = lambda frame, event, argument: depth.append(event) if event == "call" else None  # noqa: E731
    sys.setprofile(monitor)
    try:
        module.plain(1.0)
    finally:
        sys.setprofile(None)
    # The trampoline, what chooses and asks for the context, the original.
    assert len(depth) <= 5


def test_installing_again_changes_nothing(made):
    module, context = made
    with context():
        codes = module.plain.__code__, module.np, module.math
        original = _hooks.original_of(module.plain)
    for _ in range(3):
        with context():
            assert (module.plain.__code__, module.np, module.math) == codes
            assert _hooks.original_of(module.plain) is original


# --- facades ------------------------------------------------------------------------------------------
def test_a_modules_numpy_keeps_arrays_inside_the_context(made):
    module, context = made
    a = np.ones(2)
    with context():
        x, taken = module.as_array(X)
        assert x is X
        assert taken is X
        assert module.as_array(a)[0] is a
        assert module.np.pi == np.pi
        assert "asarray" in dir(module.np)
    assert type(module.as_array(X)[0]) is np.ndarray
    assert module.as_array(a)[0] is a


def test_new_data_is_an_array_where_arrays_are_at_work(made, gradient, near):
    module, context = made
    with context():
        near(gradient(lambda x: xp.sum(module.filled(x) ** 2), [1.0, 4.0]), [2.0, 8.0])
        assert type(module.filled(np.ones(3))) is np.ndarray


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("asarray", (X, np.float32)), ("asarray", ([X[0], 2.0],)), ("array", (X,)),
        ("array", (X, None)), ("asanyarray", (X,)), ("ascontiguousarray", (X[0],)),
        ("asfortranarray", (X,)), ("asarray_chkfinite", (X,)), ("full", ((2, 3), X[0])),
        ("full", (2, X[1])), ("broadcast_arrays", (X, np.ones((3, 1)))), ("transpose", ([X, X],)),
        ("diag_indices_from", (X[:, None] * X,)),
    ],
)  # fmt: skip
def test_functions_of_the_facade_give_numpys_values(made, name, args):
    def plain(x):
        if isinstance(x, list | tuple):
            return type(x)(plain(part) for part in x)
        return np.asarray(x) if isinstance(x, xp.Array) else x

    module, context = made
    expected = getattr(np, name)(*plain(args))
    with context():
        found = getattr(module.np, name)(*args)
    several = isinstance(expected, tuple)
    for y, reference in zip(
        *((found, expected) if several else ([found], [expected])), strict=True
    ):
        assert name == "diag_indices_from" or type(y) is xp.Array
        assert (y.shape, y.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_array_equal(np.asarray(y), reference)


@pytest.mark.parametrize("name", ["place", "putmask"])
@pytest.mark.parametrize("values", [[5.0], [5.0, 6.0], [5.0, 6.0, 7.0, 8.0, 9.0]])
def test_masked_writes_of_the_facade(made, gradient, near, name, values):
    module, context = made
    start, mask = np.arange(5.0), np.asarray([True, False, True, True, False])
    expected = start.copy()
    getattr(np, name)(expected, mask, values)

    def write(values):
        target = xp.asarray(start)
        getattr(module.np, name)(target, xp.asarray(mask), values)
        return target

    with context():
        near(write(xp.asarray(values)), expected, rtol=0)
        slope = gradient(lambda v: xp.sum(write(v) * np.arange(1.0, 6.0)), values)
        with pytest.raises(TypeError, match="would not remember"):
            getattr(module.np, name)(start.copy(), mask, xp.asarray(values))
    step = [
        np.sum(
            (np.asarray(write_numpy(name, start, mask, values, i)) - expected) * np.arange(1.0, 6.0)
        )
        for i in range(len(values))
    ]
    near(slope, step)


def write_numpy(name, start, mask, values, i):
    """What the write gives with 1 more in one value."""
    target, more = start.copy(), np.asarray(values)
    more[i] += 1.0
    getattr(np, name)(target, mask, more)
    return target


def test_chkfinite_of_the_facade_refuses_nan(made):
    module, context = made
    with context(), pytest.raises(ValueError, match="must not contain infs or NaNs"):
        module.np.asarray_chkfinite(xp.asarray([1.0, np.nan]))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_facade_vectorizes_is_pickled_as_numpys(made, protocol):
    module, context = made
    with context():
        twice = module.np.vectorize(np.exp2, otypes="d")
        with pytest.raises(TypeError, match="vectorize"):
            twice(X)
        found = pickle.loads(pickle.dumps(twice, protocol))
        assert type(found) is np.vectorize
        assert vars(found) == vars(twice)
        assert found(np.ones(2)).tolist() == [2.0, 2.0]


def test_an_extension_that_stands_in_has_rules_and_refuses_the_rest(made):
    module, context = made
    assert module.rooted(4.0)[0] == 2.0
    with context():
        root, *others = module.rooted(xp.asarray(4.0))
        assert type(root) is xp.Array
        assert float(root) == 2.0
        assert others == [np.pi, 2]
        assert module.rooted(4.0) == (2.0, np.pi, 2)
        with pytest.raises(TypeError, match=r"math\.floor has no derivative.*test_machinery"):
            module.math.floor(xp.asarray(2.5))
    assert module.math.floor(xp.asarray(2.5)) == 2


def test_an_exit_in_a_facades_module_is_attributed_to_its_line(library, entered):
    name = library(
        package="import numpy as np\ndef leaves(x):\n    return [float(v) for v in np.asarray(x)]\n",
        table="from arraytape.interop._statements import keeps_arrays\nkeeps_arrays('NAME')\n",
    )
    module = importlib.import_module(name)
    x = xp.asarray([1.0, 2.0])
    with entered(name), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.asarray(module.leaves(x)))
    with pytest.warns(xp.TapeWarning, match=f"{name}.py:3"):
        assert tape.gradient(y, x) is None


def test_a_0_d_array_is_a_scalar_to_a_facade(made):
    module, context = made
    with context():
        assert module.np.isscalar(X[0])
        assert not module.np.isscalar(X)
        assert module.np.isscalar(2.0)


@pytest.mark.parametrize("slots", ["", "__slots__ = ('held',)"])
def test_a_method_of_an_object_that_holds_an_array_is_ours(library, entered, slots):
    package = f"""
        import numpy as np
        class Holder:
            {slots or "pass"}
            def method(self):
                return ("method", np.zeros(2))
    """
    table = """
        from arraytape.interop._hooks import original_of
        from arraytape.interop._statements import hooks, keeps_arrays
        keeps_arrays("NAME")
        @hooks("NAME", "Holder.method")
        def rule(self):
            return ("rule", *original_of(type(self).method)(self))
    """
    name = library(table=table, package=package)
    holder = importlib.import_module(name).Holder()
    with entered(name):
        holder.held = np.ones(2)
        assert holder.method()[0] == "method"
        holder.held = X
        found = holder.method()
        assert found[:2] == ("rule", "method")
        assert type(found[2]) is xp.Array  # what is written to it is remembered
    assert holder.method()[0] == "method"


@pytest.mark.parametrize(("name", "said"), [("y", "as a result is"), ("kind", "may not be called")])
def test_an_op_whose_names_would_be_mistaken_is_refused(name, said):
    scope = {}
    exec(f"def forward({name}): return {name}", scope)
    with pytest.raises(TypeError, match=said):
        library_op("scipy.made_up", scope["forward"], lambda g: g)


# --- float ----------------------------------------------------------------------------------------
def test_a_soft_float_is_float_in_all_but_arrays():
    assert SoftFloat("1.5") == 1.5
    assert type(SoftFloat(2)) is float
    assert SoftFloat() == 0.0
    assert isinstance(1.0, SoftFloat)
    assert not isinstance(1, SoftFloat)
    assert issubclass(float, SoftFloat)
    assert np.dtype(SoftFloat) == np.float64
    assert np.ones(2).astype(SoftFloat).dtype == np.float64
    x = xp.asarray([2.0])
    assert type(SoftFloat(x[0])) is float
    with _context.entered(["sklearn"]):
        assert type(SoftFloat(x)) is xp.Array
        assert SoftFloat(x).shape == ()
        assert type(SoftFloat(np.float32(2))) is float
