"""A stand-in for CuPy that needs no GPU: CuPy's behaviour, read from its sources, on NumPy data."""

import functools
import json
import operator
from types import ModuleType, SimpleNamespace

import array_api_compat.numpy as compat
import numpy as np
import scipy.special

import arraytape as xp
import cupy_names

SCALARS = (bool, int, float, complex, np.generic)
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
ATOMIC = ["int32", "float16", "float32", "float64", "uint32", "uint64"]
FACTS = json.loads(cupy_names.TABLE.read_text(encoding="utf-8"))
CREATION = "arange empty eye full linspace ones zeros empty_like full_like ones_like zeros_like"


class Data:
    """A stand-in for cupy.ndarray: NumPy data, with the Device on which the data is said to lie."""

    __array_priority__ = 100
    __hash__ = None

    def __init__(self, memory, device, base=None):
        self.memory, self.device, self.base = memory, device, base

    shape = property(lambda x: x.memory.shape)
    ndim = property(lambda x: x.memory.ndim)
    size = property(lambda x: x.memory.size)
    dtype = property(lambda x: x.memory.dtype)
    strides = property(lambda x: x.memory.strides)
    flags = property(lambda x: x.memory.flags)
    real = property(lambda x: x.part(x.memory.real))
    imag = property(lambda x: x.part(x.memory.imag))

    def view(self, dtype):
        return self.part(self.memory.view(dtype))

    def part(self, memory):
        """Return a view with other NumPy data; unlike a kernel, a view needs no current device."""
        base = self if self.base is None else self.base
        return type(self)(memory, self.device, base if memory.base is not None else None)

    def get(self):
        return self.memory.copy()

    def item(self):
        return self.memory.item()

    def copy(self, order="C"):
        here = self.cupy.here()
        if here != self.device and order == "K" and not self.memory.flags.forc:
            raise NotImplementedError("CuPy cannot copy non-contiguous array between devices.")
        return type(self)(self.memory.copy(order=order), here)

    def astype(self, dtype):
        return type(self)(self.memory.astype(dtype), self.cupy.here())

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        for x in inputs:
            known = type(x) in SCALARS or isinstance(x, Data | np.ndarray | np.generic)
            if not known and not hasattr(x, "__cuda_array_interface__"):
                return NotImplemented
        return self.cupy.call(ufunc, *inputs)

    def __getitem__(self, key):
        if self.cupy.basic(key):
            return self.part(np.asarray(self.memory[key]))
        return self.cupy.boxed(self.memory[self.cupy.key(key)])

    def __setitem__(self, key, value):
        self.cupy.check(self, value)
        key, value = self.cupy.key(key), getattr(value, "memory", value)
        places = np.arange(self.size).reshape(self.shape)[key]
        values = np.broadcast_to(value, places.shape)
        # Alternate the order, because it is undefined which of several writes to an element lasts.
        self.cupy.turn *= -1
        for i in range(places.size)[:: self.cupy.turn]:
            self.memory.flat[places.flat[i]] = values.flat[i]

    def unary(self, function):
        return self.cupy.call(function, self)

    def look(self, name):
        return getattr(self.memory, name)()

    def __len__(self):
        return len(self.memory)

    def __dlpack_device__(self):
        return 2, self.device.id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, (2, self.device.id), (1, 0)):
            raise BufferError("unsupported device requested.")
        if copy and dl_device != (1, 0):
            raise BufferError("copy=True only supported for copy to CPU.")
        return SimpleNamespace(data=self, stream=stream, max_version=max_version)


def should_use_rop(x, y):
    if hasattr(y, "__array_ufunc__"):
        return y.__array_ufunc__ is None
    return getattr(x, "__array_priority__", 0) < getattr(y, "__array_priority__", 0)


def method(ufunc, kind):
    def forward(x, y):
        if isinstance(y, Data):
            return x.cupy.call(ufunc, x, y)
        return NotImplemented if should_use_rop(x, y) else ufunc(x, y)

    def reflected(x, y):
        return NotImplemented if should_use_rop(x, y) else ufunc(y, x)

    def in_place(x, y):
        x.cupy.check(x, y)
        ufunc(x.memory, getattr(y, "memory", y), out=x.memory, casting="same_kind")
        return x

    return {"": forward, "r": reflected, "i": in_place}[kind]


for name, ufunc in BINARY.items():
    for kind in ("",) if name in COMPARISONS else ("", "r", "i"):
        if (kind, name) != ("i", "matmul"):  # CuPy has no ``@=``
            setattr(Data, f"__{kind}{name}__", method(ufunc, kind))
for name in ("neg", "pos", "abs", "invert"):
    setattr(Data, f"__{name}__", functools.partialmethod(Data.unary, getattr(operator, name)))
for name in ("float", "int", "complex", "bool"):  # CuPy has no __index__
    setattr(Data, f"__{name}__", functools.partialmethod(Data.look, f"__{name}__"))


class Device:
    """A stand-in for cupy.cuda.Device, a context manager that makes itself the current device."""

    current, before = 0, []

    def __init__(self, device=None):
        self.id = Device.current if device is None else int(device)

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    __hash__ = None

    def __enter__(self):
        Device.before.append(Device.current)
        Device.current = self.id
        return self

    def __exit__(self, *_):
        Device.current = Device.before.pop()

    def __repr__(self):
        return f"<CUDA Device {self.id}>"


Device.__module__ = "cupy.cuda.device"


class CUDARuntimeError(RuntimeError):
    pass


class Stream:
    """A stand-in for cupy.cuda.Stream, on which no work waits."""

    def is_capturing(self):
        return False

    def synchronize(self):
        pass


class Kernels:
    """A stand-in for CuPyKernels, whose kernels are C++: the same functions by NumPy."""

    def __init__(self, cupy):
        self.cupy = cupy

    def call(self, function, *data):
        return data[0].cupy.call(function, *data)

    def copy(self, data):
        return data.copy(order="C")

    def any_nan(self, parts):
        found = [bool(self.call(np.any, self.call(np.isnan, part))) for part in parts]
        return any(found)

    def determinants(self, x):
        return *self.call(np.linalg.slogdet, x), self.call(np.linalg.det, x)

    def products_of_others(self, rows, factors):
        def products(rows, factors):
            itself = np.eye(rows.shape[-1], dtype=bool)
            return factors[..., None] * np.prod(np.where(itself, 1.0, rows[..., None, :]), axis=-1)

        return self.call(products, rows, factors)

    def fused(self, function, axes=()):
        def call_summed(*operands):
            found = function(*operands)
            return found if not axes or found is None else self.cupy.sum(found, axis=axes)

        return call_summed

    def tie_counts(self, x, y, axes):
        def count(x, y):
            taken = (x == y) | (x != x)
            return np.where(taken, taken.sum(axis=axes, keepdims=True), -1).astype(x.dtype)

        return self.call(count, x, y)

    def take_along(self, x, indices, axis):
        return self.call(lambda x, indices: np.take_along_axis(x, indices, axis), x, indices)

    def windows(self, data, batch, places, sizes, steps):
        def copy(data):
            axes = len(places)
            grid = np.indices((*places, *sizes), sparse=True)
            inside, index = np.ones((*places, *sizes), bool), []
            for a, (scale, rate, offset, divisor) in enumerate(zip(*steps, strict=True)):
                at = grid[a] * scale + grid[axes + a] * rate + offset
                length = data.shape[a - axes - 1]
                inside &= (at >= 0) & (at % divisor == 0) & (at // divisor < length)
                index.append(np.clip(at // divisor, 0, length - 1))
            return np.where(inside[..., None], data[(..., *index, slice(None))], 0)

        return self.call(copy, data)

    def write_last(self, data, index, value):
        def write(data, index, value):
            places = np.arange(data.size).reshape(data.shape)[index]
            winners = np.full(data.size, -1)
            for number, place in enumerate(places.flat):
                winners[place] = number
            data[index] = value
            return winners[places] != np.arange(places.size).reshape(places.shape)

        return self.call(write, data, index, value)

    def uniforms(self, key, shape):
        words = np.asarray(key, np.uint64)
        return self.cupy.array(np.random.Generator(np.random.Philox(key=words)).random(shape))

    def take_written(self, data, index, lost):
        def take(data, index, lost):
            part = np.where(lost, 0, data[index])
            data[index] = 0
            return part

        return self.call(take, data, index, lost)


class Ufunc:
    """A stand-in for a CuPy ufunc: SciPy's function, restricted to the dtypes of CuPy's loops."""

    def __init__(self, cupy, function, loops):
        self.cupy, self.function = cupy, function
        self.loops = [loop.partition("->")[0] for loop in loops]
        self.nin = len(self.loops[0])

    def __call__(self, *operands):
        given = [getattr(x, "dtype", x) for x in operands]
        for loop in self.loops:
            if len(loop) == len(given) and all(
                np.result_type(x, dtype) == dtype for x, dtype in zip(given, loop, strict=True)
            ):
                return self.cupy.call(self.function, *operands)
        raise TypeError(f"Wrong type {given} of arguments for {self.function.__name__}")


class FakeCuPy:
    """Stand-ins for the modules cupy, cupyx and array_api_compat.cupy, with what arraytape uses."""

    def __init__(self, devices, version):
        self.version, self.devices, self.turn = version, devices, 1
        self.kind = type("ndarray", (Data,), {"__module__": "cupy", "cupy": self})
        self.modules = {"cupy": self.module("cupy", np)}
        self.modules |= self.special_modules()
        self.modules["array_api_compat.cupy"] = self.module("array_api_compat.cupy", compat)
        cupy, common = self.modules["cupy"], self.modules["array_api_compat.cupy"]
        runtime = SimpleNamespace(getDeviceCount=self.count, CUDARuntimeError=CUDARuntimeError)
        cupy.cuda = SimpleNamespace(Device=Device, runtime=runtime)
        cupy.ndarray, cupy.__version__ = self.kind, version
        cupy.array, cupy.asarray, cupy.asnumpy = self.array, self.array, lambda x: x.get()
        cupy.cuda.get_current_stream = Stream
        cupy.fuse = lambda function: function
        cupy.ElementwiseKernel = None  # see Kernels
        cupy.may_share_memory = lambda a, b: np.may_share_memory(a.memory, b.memory)
        cupy.from_dlpack = self.from_dlpack
        cupy.isin = lambda x1, x2, **options: self.call(np.isin, x1[...], x2[...], **options)
        cupy.linalg.solve = self.solve
        if version < "14":
            cupy.linalg.eig = cupy.linalg.eigvals = None
        for name in CREATION.split():  # array-api-compat accepts a device and ignores it
            function = getattr(compat, name)
            setattr(common, name, lambda *a, f=function, device=None, **k: self.call(f, *a, **k))
        common.asarray = self.compat_asarray
        common.fft.fftfreq = common.fft.rfftfreq = self.fftfreq
        common.bool = np.bool
        cupy.add = functools.partial(self.call, np.add)
        cupy.add.at = self.add_at

    def module(self, name, within):
        module = ModuleType(name)
        for part in ("linalg", "fft") if "." not in name.removeprefix("array_api_compat.") else ():
            setattr(module, part, self.module(f"{name}.{part}", getattr(within, part)))

        def find(attribute):
            found = getattr(within, attribute)
            if not callable(found) or isinstance(found, type):
                return found
            return functools.partial(self.call, found)

        module.__getattr__ = find
        return module

    def special_modules(self):
        """Return cupyx.scipy.special, with this CuPy version's functions, and its parents, by name."""
        version = max(v for v in FACTS if v.partition(".")[0] <= self.version)
        paths = ["cupyx", "cupyx.scipy", "cupyx.scipy.special"]
        modules = {path: ModuleType(path) for path in paths}
        cupyx, within, special = modules.values()
        cupyx.scipy, within.special = within, special
        for name, loops in FACTS[version]["cupyx.scipy.special"].items():
            function = getattr(scipy.special, name, None)
            if loops == "module":
                setattr(special, name, ModuleType(name))
            elif loops == "function":
                setattr(special, name, functools.partial(self.call_of_data, function))
            elif function is not None:
                setattr(special, name, Ufunc(self, function, loops.split()))
        return modules

    def call_of_data(self, function, *operands, **keywords):
        for x in operands:
            if not isinstance(x, Data):
                raise AttributeError(f"{type(x).__name__!r} object has no attribute 'astype'")
        return self.call(function, *operands, **keywords)

    def count(self):
        if not self.devices:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return self.devices

    def here(self):
        return Device(Device.current)

    # --- calls ------------------------------------------------------------------------------------
    def check(self, *values):
        """Raise an error, as CuPy's kernels do, for data of NumPy or on another device."""
        for value in values:
            if isinstance(value, list | tuple):
                self.check(*value)
            elif isinstance(value, Data) and value.device != self.here():
                raise ValueError(
                    f"The device where the array resides ({value.device.id}) is different from the "
                    f"current device ({Device.current}). Peer access is unavailable."
                )
            elif isinstance(value, np.ndarray | xp.Array):
                raise TypeError(f"Unsupported type {type(value)}")

    def call(self, function, *arguments, **keywords):
        self.check(arguments, list(keywords.values()))
        raw = [self.raw(a) for a in arguments]
        with np.errstate(all="ignore"):  # a GPU gives no floating-point warnings
            return self.boxed(
                function(*raw, **{k: self.raw(v) for k, v in keywords.items()}), *arguments
            )

    def raw(self, value):
        if isinstance(value, list | tuple):
            return type(value)([self.raw(part) for part in value])
        return getattr(value, "memory", value)

    def boxed(self, result, *arguments):
        if isinstance(result, list | tuple):
            parts = [self.boxed(part, *arguments) for part in result]
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        if not isinstance(result, np.ndarray | np.generic):
            return result
        memory = np.asarray(result)
        base = [
            a for a in arguments if isinstance(a, Data) and np.may_share_memory(a.memory, memory)
        ]
        return self.kind(memory, self.here(), base[0] if base else None)

    def key(self, key):
        """Return the raw key of an indexing; CuPy itself moves NumPy arrays in keys to the device."""
        self.check([part for part in self.parts(key) if isinstance(part, Data)])
        return self.raw(key)

    def parts(self, key):
        return key if type(key) is tuple else (key,)

    def basic(self, key):
        kinds = (int, np.integer, slice, type(None), type(Ellipsis))
        return all(isinstance(p, kinds) and type(p) is not bool for p in self.parts(key))

    # --- functions that differ from NumPy's --------------------------------------------------------
    def array(self, obj, dtype=None, copy=True, order="K"):
        if isinstance(obj, Data):
            if not copy and obj.device == self.here() and dtype in (None, obj.dtype):
                return obj
            return self.kind(obj.copy(order=order).memory.astype(dtype or obj.dtype), self.here())
        host = np.asarray(obj, dtype)
        if host.dtype.kind not in "biufc":
            raise ValueError(f"Unsupported dtype {host.dtype}")
        return self.kind(host.copy(), self.here())

    def compat_asarray(self, obj, *, dtype=None, device=None, copy=None):
        with Device(device):
            found = self.array(obj, dtype, bool(copy))
            if copy is False and found is not obj:
                raise ValueError("Unable to avoid copy while creating an array as requested")
            return found

    def fftfreq(self, n, *, d=1.0, dtype=None, device=None):
        if device not in ("cpu", None):
            raise ValueError(f"Unsupported device {device!r}")
        return self.boxed(np.fft.fftfreq(n, d))

    def solve(self, a, b):
        if a.shape[:-1] != b.shape[:-1]:
            raise ValueError("a must have (..., M, M) shape and b must have (..., M, K)")
        return self.call(np.linalg.solve, a, b)

    def add_at(self, x, key, value):
        known = [*ATOMIC, *["int64"] * (self.version >= "14")]
        if not self.basic(key) and x.dtype.name not in known:
            raise TypeError(f"cupy.add.at only supports {', '.join(known)}, as data type")
        self.check(x, value)
        np.add.at(x.memory, self.key(key), value.memory)

    def from_dlpack(self, x, *, device=None, copy=None):
        if x.__dlpack_device__()[0] == 1:
            raise TypeError("CPU arrays cannot be directly imported to CuPy.")
        return x.__dlpack__(stream=1, max_version=(1, 0), copy=copy).data
