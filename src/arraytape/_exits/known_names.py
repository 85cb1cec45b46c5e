"""Names of functions and attributes that have rules of their own in the analysis of conversions.

By the general rule (``Calls.of_all``), the result of a library function is a new object that may contain
values of all arguments.  For STEPS, ATTRIBUTES, READS and PURE this would cause false warnings, as tests
in ``tests/exits`` show.  For most other lists it would miss that a function returns an existing object,
or writes to an argument.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions whose results have the derivative 0, or do not depend on the values.
STEPS = words(
    """
    all allclose any argmax argmin argpartition argsort array_equal bool ceil count_nonzero digitize
    empty_like endswith equal flatnonzero floor floor_divide greater greater_equal hash int isclose
    isdigit isfinite isinf isinstance isnan len less less_equal logical_and logical_not logical_or
    logical_xor ndim nonzero not_equal ones_like print rint round searchsorted shape sign signbit size
    startswith stop_gradient trunc type zeros_like
    """
)
ATTRIBUTES = words("device dtype itemsize nbytes ndim shape size strides")
# Dict from the names of functions to the positions of arguments that only select.  No element of the
# result comes from these arguments.
STEERING = {
    "where": (0,),
    "full_like": (0,),
    "take": (1,),
    "take_along_axis": (1,),
    "compress": (0,),
    "copysign": (1,),
}
# Functions that return their argument, or a container of the same elements.
SAME = words("copy deepcopy dict iter list tuple")
# Functions that return the same elements at other positions.
REORDERED = words("frozenset reversed set sorted")
# Functions that return the attributes of an object as a dict, perhaps as ``__dict__`` itself.
DICTS = words("_asdict asdict vars")
# ELEMENT: functions that return one element of a container.  ELEMENTS: methods that return all keys or
# all values of a dict.
ELEMENT = words("get pop popleft popitem get_nowait next min max choice setdefault")
ELEMENTS = words("values keys")
# Methods that add their arguments to a container.
ADDS = words("add append appendleft extend extendleft insert put put_nowait setdefault update")
# Functions whose result may share memory with their argument.
VIEWS = words(
    """
    array asanyarray asarray atleast_1d atleast_2d broadcast_to diagonal frombuffer memoryview moveaxis
    nditer ravel reshape squeeze swapaxes transpose view writer DictWriter TextIOWrapper
    """
)
# Methods that read an array and do not change it.
READS = words("item tolist")
# WRITES: functions that write to their first argument. WRITES_ALL: functions that write to one of
# their arguments, at any position.
WRITES = words("copyto fill_diagonal place put putmask")
WRITES_ALL = words("at dump pack_into save savetxt savez")
# Packages whose functions neither read nor write files, devices or processes. ``heapq`` includes its
# C part ``_heapq``. The exceptions are NumPy's functions whose names begin as in NUMPY_FILES.
PURE = words(
    """
    array array_api_compat array_api_extra arraytape bisect builtins cmath collections contextlib copy
    dataclasses datetime decimal enum fractions functools heapq itertools math numpy operator random re
    scipy sklearn statistics string struct textwrap threading time types warnings
    """
)
NUMPY_FILES = ("load", "save", "genfromtxt", "fromfile", "memmap", "open_memmap", "fromregex")
