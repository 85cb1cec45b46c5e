"""A short run of the attack by calls with any subset of optional arguments."""

import inspect

import arraytape as xp
from helpers.call_tables import ENTRIES

from .optional_arguments import COUNTS, run

# Functions with options that take no arrays of numbers, or act on the library itself.
APART = {
    "asarray", "can_cast", "custom_gradient", "define_op", "empty", "empty_like", "finfo", "from_dlpack",
    "full", "function", "grad", "hessian", "host_function", "iinfo", "isdtype", "jacfwd", "jacobian",
    "jacrev", "jvp", "linearize", "recompute_grad", "register_nesting", "sparse_hessian",
    "sparse_jacobian", "value_and_grad", "vjp", "vmap", "hvp", "vhp", "minimize_scipy",
    "special.factorial", "special.factorial2", "special.factorialk", "special.lambertw",
    "linalg.eigh", "fft.fftfreq", "fft.rfftfreq",
}  # fmt: skip


def with_options(namespace, prefix=""):
    """The names of public functions with optional parameters."""
    for name in dir(namespace):
        function = getattr(namespace, name)
        if name.startswith("_") or inspect.isclass(function) or not inspect.isroutine(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(p.default is not p.empty for p in parameters):
            yield prefix + name


def test_each_function_with_options_is_drawn():
    names = {*with_options(xp), *with_options(xp.linalg, "linalg."), *with_options(xp.fft, "fft.")}
    names |= {*with_options(xp.special, "special.")}
    assert names - ENTRIES.keys() - APART == set()


def test_a_few_calls_of_every_kind():
    assert sum(run(seed) for seed in range(250)) == 250
    assert COUNTS["right: all"] > 100
