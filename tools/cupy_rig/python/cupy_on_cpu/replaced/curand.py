"""A replacement of CuPy's cuRAND: the constants alone, so that ``cupy.random`` can be imported."""

from cupy_on_cpu.memory import constants

globals().update(constants("curand"))
