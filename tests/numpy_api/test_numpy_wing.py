"""NumPy's functions and methods on Arrays are loaded by their first use, and by nothing else."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import arraytape as xp
from arraytape import _numpy_hook
from arraytape._array import array

START = """
import sys
import numpy as np
import arraytape as xp
x = xp.asarray([[3.0, 1.0], [2.0, 4.0]])
def loaded():
    return "arraytape._numpy_api" in sys.modules
assert not loaded(), "import arraytape alone loads it"
"""


def run(code):
    """Run a program whose Array has stand-ins only: in this process others may have loaded it all."""
    path = os.pathsep.join([str(Path(xp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", START + inspect.cleandoc(code)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_names_known_beforehand_are_those_of_the_methods():
    from arraytape._numpy_api.methods import METHODS

    properties = {name for name, value in METHODS.items() if isinstance(value, property)}
    assert set(_numpy_hook.PROPERTIES) == properties
    assert set(_numpy_hook.METHODS) == set(METHODS) - properties


def test_types_are_declared_for_every_name():
    (cls,) = (
        node for node in ast.parse(Path(array.__file__).read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == "Array"
    )  # fmt: skip
    declared = {node.name for node in ast.walk(cls) if isinstance(node, ast.FunctionDef)}
    declared |= {  # prod = std = sum = mean
        target.id
        for node in ast.walk(cls) if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    assert declared >= {*_numpy_hook.METHODS, *_numpy_hook.PROPERTIES}


def test_work_in_the_standards_own_names_loads_nothing():
    run("""
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.reshape(x @ x.T, (-1,)) ** 2 / 3.0)
            x[0, 0] + x[1:, :] * 2.0
        assert tape.gradient(y, x) is not None
        xp.vmap(xp.grad(lambda row: xp.sum(row * row)))(x)
        np.asarray(x), np.array(x), np.from_dlpack(x), memoryview(x.__array__())
        assert not hasattr(x, "unknown")
        assert not hasattr(x, "__array_interface__") and not hasattr(x, "__array_struct__")
        assert not hasattr(x, "__cuda_array_interface__")
        assert hasattr(type(x), "__array_ufunc__") and hasattr(type(x), "__array_function__")
        import copy, pickle
        pickle.loads(pickle.dumps(x)), copy.deepcopy(x), xp.Variable(1.0), repr(x)
        assert "sum" in dir(x) and "real" in dir(xp.Array)
        assert not loaded()
    """)


@pytest.mark.parametrize(
    "use",
    [
        "assert float(np.sum(x)) == 10.0",
        "assert type(np.sin(x)) is xp.Array",
        "assert type(np.ones(2) + x) is xp.Array",
        "assert type(np.float64(2.0) * x) is xp.Array",
        "y = x * 1.0; np.add.at(y, 0, np.ones(2)); assert float(y[0, 0]) == 4.0",
        "assert float(x.sum()) == 10.0",
        "assert float(xp.Array.sum(x)) == 10.0",
        "assert hasattr(x, 'mean')",
        "assert getattr(x, 'nope', None) is None and callable(getattr(x, 'sort', None))",
        "assert [float(part[0, 0]) for part in divmod(x, 2.0)] == [1.0, 1.0]",
        "assert [float(part[0, 0]) for part in divmod(7.0, x)] == [2.0, 1.0]",
        "assert x.nbytes == 32 and xp.Array.nbytes.fget(x) == 32",
        "x.real = 5.0; assert float(x[1, 1]) == 5.0",
        "x.flat = [1.0, 2.0, 3.0, 4.0]; assert float(x[1, 0]) == 3.0",
        "z = x + 0j; z.imag = 2.0; assert complex(z[0, 0]) == 3 + 2j",
        "v = xp.Variable([1.0, 2.0]); assert float(v.sum()) == 3.0 and type(v.real) is xp.Array",
        "v = xp.Variable([1.0, 2.0]); v.fill(4.0); assert float(v[0]) == 4.0",
        "assert type(np.multiply(2.0, xp.Variable([1.0]))) is xp.Array",
        "xp.vmap(lambda row: row.sum())(x)",
        "import inspect; assert 'axis' in inspect.signature(xp.Array.mean).parameters",
        "import pydoc; text = pydoc.plain(pydoc.render_doc(xp.Array)); assert 'cumsum(' in text",
        "xp.set_default_device('cpu'); np.zeros(3, like=x)",
    ],
)
@pytest.mark.every(4)
def test_a_first_use_loads_it_and_does_what_the_next_does(use):
    run(f"{use}\nassert loaded()\n{use}")


def test_a_first_use_leaves_no_stand_in():
    run("""
        from arraytape import _numpy_hook
        x.sum()
        left = [n for n, m in vars(xp.Array).items() if isinstance(m, _numpy_hook.LazyMethod)]
        assert left == []
        assert xp.Array.__array_ufunc__ is not _numpy_hook.array_ufunc
        assert xp.Array.__array_function__ is not _numpy_hook.array_function
        assert not hasattr(x, "unknown")
    """)


def test_a_first_use_is_recorded_and_later_ones_cost_no_frame_more():
    run("""
        def frames(call):
            seen = []
            sys.setprofile(lambda frame, event, _: event == "call" and seen.append(frame))
            call()
            sys.setprofile(None)
            return len(seen)

        with xp.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.sin(x)
            z = x.sum()
        np.testing.assert_array_equal(tape.gradient(y, x), np.cos(np.asarray(x)))
        np.testing.assert_array_equal(tape.gradient(z, x), np.ones((2, 2)))
        # The protocol's function and the op: what a class with the real function from the start pays.
        assert frames(lambda: np.sin(x)) - frames(lambda: None) == 2
    """)


def test_a_method_that_a_subclass_overrides_is_reached_by_super():
    run("""
        class Louder(xp.Array):
            __slots__ = ()
            def sum(self, axis=None):
                return 2.0 * super().sum(axis)
            @property
            def real(self):
                return super().real + 1.0
        loud = Louder()
        loud._data, loud._value_id, loud._state = x._data, 0, 0
        assert float(loud.real[0, 1]) == 2.0
        assert float(loud.sum()) == 20.0
    """)


def test_a_property_without_a_setter_and_a_method_cannot_be_set():
    run("""
        for name in ("nbytes", "sum"):
            for _ in range(2):
                try:
                    setattr(x, name, 3)
                except AttributeError:
                    pass
                else:
                    raise AssertionError(name)
    """)


def test_many_threads_may_be_the_first():
    run("""
        import threading
        barrier, wrong = threading.Barrier(16), []

        def first(i):
            barrier.wait()
            uses = (lambda: x.sum(), lambda: np.sum(x), lambda: np.add.reduce(x, axis=None),
                    lambda: sum(divmod(x, 1.0)).sum(), lambda: xp.Array.sum(x))
            try:
                if float(uses[i % len(uses)]()) != 10.0:
                    wrong.append(i)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=first, args=(i,)) for i in range(16)]
        [t.start() for t in threads], [t.join() for t in threads]
        assert wrong == [] and loaded()
    """)


def test_an_op_of_the_users_own_does_not_take_the_place_of_a_ufunc():
    run("""
        xp.define_op("spacing", lambda x: np.spacing(x), "elementwise", lambda t: t)
        try:
            np.spacing(x)
        except TypeError as error:
            assert "np.spacing has no recorded counterpart" in str(error)
        else:
            raise AssertionError
    """)
