"""Functions and attributes by name: which results carry nothing of a value, which calls move objects."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What these give has the slope 0, or does not depend on the values.
STEPS = words(
    """
    all allclose any argmax argmin argpartition argsort array_equal array_equiv bool callable ceil
    count_nonzero digitize empty empty_like equal flatnonzero floor floor_divide greater greater_equal
    hasattr hash id int isclose isfinite isinf isinstance isnan issubclass iscomplexobj isreal len less
    less_equal logical_and logical_not logical_or logical_xor ndim nonzero not_equal ones ones_like print
    range rint round searchsorted shape sign signbit size stop_gradient trunc type unravel_index zeros
    zeros_like eye default_rng seed RandomState startswith endswith isdigit
    """
)
ATTRIBUTES = words("shape dtype ndim size nbytes itemsize device __name__ strides flags")
# Of these functions the arguments at these positions only steer.
STEERING = {
    "where": (0,),
    "full_like": (0,),
    "take": (1,),
    "take_along_axis": (1,),
    "compress": (0,),
    "copysign": (1,),
}
# They give the object that they are given, or one with the same elements.
SAME = words("aslist copy deepcopy dict iter list tuple")
# The same elements at other positions.
REORDERED = words("frozenset reversed set sorted")
# The attributes of an object as items of a dict, which may be that of the object itself.
DICTS = words("_asdict asdict vars")
# They give an element, or all, of what they are given.
ELEMENT = words("get pop popleft popitem get_nowait next min max choice setdefault")
ELEMENTS = words("values keys")
ADDS = words("add append appendleft extend extendleft insert put put_nowait push setdefault update")
# What they give may share memory with what they are given.
VIEWS = words(
    """
    array asanyarray asarray atleast_1d atleast_2d broadcast_to diagonal frombuffer memoryview moveaxis
    nditer ravel reshape squeeze swapaxes transpose view writer DictWriter TextIOWrapper
    """
)
READS = words("item tolist __array__ numpy to_numpy __float__ __complex__ __dlpack__")
# They write to their first argument, or to one of them.
WRITES = words("copyto fill_diagonal place put putmask")
WRITES_ALL = words("at dump pack_into save savetxt savez")
# Packages whose functions neither read nor write files, devices or processes, but for those of NumPy's
# whose names begin so.
PURE = words(
    """
    abc arraytape array array_api_compat array_api_extra bisect builtins cmath collections contextlib
    copy dataclasses datetime decimal enum fractions functools heapq itertools math numbers numpy
    operator random re scipy sklearn statistics string struct textwrap threading time types typing
    warnings _bisect _collections _decimal _functools _heapq _operator _random _statistics _struct
    """
)
NUMPY_FILES = ("load", "save", "genfromtxt", "fromfile", "memmap", "open_memmap", "fromregex")
