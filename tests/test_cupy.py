"""CuPy's data: on a stand-in that does what CuPy's source says, and on CuPy itself where a GPU is."""

import functools
import operator
import sys
from types import ModuleType, SimpleNamespace

import array_api_compat.numpy as compat
import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, _cupy
from arraytape._storage import STORAGES

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
ATOMIC = ["int32", "int64", "float16", "float32", "float64", "uint32", "uint64"]
CREATION = "arange empty eye full linspace ones zeros empty_like full_like ones_like zeros_like"


# --- a CuPy without a GPU ---------------------------------------------------------------------------
class Data:
    """cupy.ndarray as its source has it: NumPy memory that says on which device it lies."""

    __array_priority__ = 100
    __hash__ = None

    def __init__(self, memory, device, base=None):
        self.memory, self.device, self.base = memory, device, base

    shape = property(lambda x: x.memory.shape)
    ndim = property(lambda x: x.memory.ndim)
    size = property(lambda x: x.memory.size)
    dtype = property(lambda x: x.memory.dtype)
    strides = property(lambda x: x.memory.strides)
    real = property(lambda x: x.view(x.memory.real))
    imag = property(lambda x: x.view(x.memory.imag))

    def view(self, memory):
        """A result of an indexing or of a reshaping: it may lie on any device."""
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
            return self.view(np.asarray(self.memory[key]))
        return self.cupy.boxed(self.memory[self.cupy.key(key)])

    def __setitem__(self, key, value):
        self.cupy.check(self, value)
        key, value = self.cupy.key(key), getattr(value, "memory", value)
        places = np.arange(self.size).reshape(self.shape)[key]
        values = np.broadcast_to(value, places.shape)
        self.cupy.turn *= -1  # which of several writes lasts is left open
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
        if (kind, name) != ("i", "matmul"):  # CuPy has none
            setattr(Data, f"__{kind}{name}__", method(ufunc, kind))
for name in ("neg", "pos", "abs", "invert"):
    setattr(Data, f"__{name}__", functools.partialmethod(Data.unary, getattr(operator, name)))
for name in ("float", "int", "complex", "bool"):  # but no __index__
    setattr(Data, f"__{name}__", functools.partialmethod(Data.look, f"__{name}__"))


class Device:
    """cupy.cuda.Device: a context manager that makes itself the current device."""

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


class FakeCuPy:
    """The modules cupy, cupyx and array_api_compat.cupy, as far as arraytape goes."""

    def __init__(self, devices, version):
        self.version, self.devices, self.turn = version, devices, 1
        self.kind = type("ndarray", (Data,), {"__module__": "cupy", "cupy": self})
        self.modules = {"cupy": self.module("cupy", np), "cupyx": ModuleType("cupyx")}
        self.modules["array_api_compat.cupy"] = self.module("array_api_compat.cupy", compat)
        cupy, common = self.modules["cupy"], self.modules["array_api_compat.cupy"]
        runtime = SimpleNamespace(getDeviceCount=self.count, CUDARuntimeError=CUDARuntimeError)
        cupy.cuda = SimpleNamespace(Device=Device, runtime=runtime)
        cupy.ndarray, cupy.__version__ = self.kind, version
        cupy.array, cupy.asarray, cupy.asnumpy = self.array, self.array, lambda x: x.get()
        cupy.may_share_memory = lambda a, b: np.may_share_memory(a.memory, b.memory)
        cupy.from_dlpack = self.from_dlpack
        cupy.isin = lambda x1, x2, **options: self.call(np.isin, x1[...], x2[...], **options)
        cupy.linalg.solve = self.solve
        if version < "14":
            cupy.linalg.eig = cupy.linalg.eigvals = None
        for name in CREATION.split():  # array-api-compat takes a device, and then takes no notice
            function = getattr(compat, name)
            setattr(common, name, lambda *a, f=function, device=None, **k: self.call(f, *a, **k))
        common.asarray = self.compat_asarray
        common.fft.fftfreq = common.fft.rfftfreq = self.fftfreq
        common.bool = np.bool
        self.modules["cupyx"].scatter_add = self.scatter_add

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

    def count(self):
        if not self.devices:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return self.devices

    def here(self):
        return Device(Device.current)

    # --- calls ------------------------------------------------------------------------------------
    def check(self, *values):
        """What a kernel checks: all data on the current device, none of it NumPy's."""
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
        with np.errstate(all="ignore"):  # a GPU warns of nothing
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
        """An indexing key; host arrays are moved by CuPy itself."""
        self.check([part for part in self.parts(key) if isinstance(part, Data)])
        return self.raw(key)

    def parts(self, key):
        return key if type(key) is tuple else (key,)

    def basic(self, key):
        kinds = (int, np.integer, slice, type(None), type(Ellipsis))
        return all(isinstance(p, kinds) and type(p) is not bool for p in self.parts(key))

    # --- what CuPy does otherwise -----------------------------------------------------------------
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

    def scatter_add(self, x, key, value):
        if not self.basic(key) and x.dtype.name not in ATOMIC:
            raise TypeError("cupy.add.at only supports int32, int64, float16, float32, ...")
        self.check(x, value)
        np.add.at(x.memory, self.key(key), value.memory)

    def from_dlpack(self, x, *, device=None, copy=None):
        if x.__dlpack_device__()[0] == 1:
            raise TypeError("CPU arrays cannot be directly imported to CuPy.")
        return x.__dlpack__(stream=1, max_version=(1, 0), copy=copy).data


@pytest.fixture
def fake(monkeypatch):
    """Install the stand-in: ``fake(devices=2)`` gives the module cupy."""
    before = dict(STORAGES)

    def install(devices=2, version="14.0.0"):
        made = FakeCuPy(devices, version)
        for name, module in made.modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        common = sys.modules["array_api_compat"]
        monkeypatch.setattr(common, "cupy", made.modules["array_api_compat.cupy"], raising=False)
        _cupy.storage.cache_clear()
        return made.modules["cupy"]

    yield install
    STORAGES.clear()
    STORAGES.update(before)
    _cupy.storage.cache_clear()
    assert Device.current == 0
    assert not Device.before


def near(x, expected, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=tolerance, atol=tolerance)


def on_gpu(values, device="cuda:1", dtype=np.float64):
    return xp.asarray(values, device=device, dtype=dtype)


# --- where data lies --------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
@pytest.mark.parametrize(
    "make",
    [
        lambda d: xp.zeros((2, 3), device=d),
        lambda d: xp.full((2,), 3.0, device=d),
        lambda d: xp.arange(3, device=d),
        lambda d: xp.linspace(0.0, 1.0, 5, device=d),
        lambda d: xp.eye(3, device=d),
        lambda d: xp.fft.fftfreq(4, device=d),
        lambda d: xp.asarray([[1.0, 2.0]], device=d),
        lambda d: xp.asarray(np.ones(3), device=d),
        lambda d: xp.ones_like(xp.zeros(3, device=d)),
        lambda d: xp.triu(xp.ones((3, 3), device=d)),
    ],
)
def test_creation_functions_put_data_on_the_device(fake, device, make):
    cupy = fake()
    made = make(device)
    assert made.device == device
    assert type(made._data) is cupy.ndarray


def test_devices_have_several_names(fake):
    cupy = fake()
    assert xp.zeros(2, device="cuda").device == "cuda:0"
    assert xp.zeros(2, device=cupy.cuda.Device(1)).device == "cuda:1"


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("device", ["cuda:7", "tpu", "cuda:x"])
def test_an_unknown_device_is_a_value_error(fake, devices, device):
    fake(devices)
    with pytest.raises(ValueError, match=f"unknown device '{device}'; known: cpu"):
        xp.zeros(2, device=device)


def test_without_a_gpu_there_is_no_device(fake):
    fake(devices=0)
    with pytest.raises(ValueError, match="unknown device 'cuda:0'; known: cpu"):
        xp.zeros(2, device="cuda:0")


def test_without_cupy_the_error_says_what_to_install(fake, monkeypatch):
    fake()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r"arraytape\[cupy12\].*arraytape\[cupy13\]"):
        xp.zeros(2, device="cuda:0")


def test_cupys_arrays_are_discovered_by_their_type(fake):
    cupy = fake()
    with cupy.cuda.Device(1):
        data = cupy.array([1.0, 2.0])
    x = xp.asarray(data)
    assert x.device == "cuda:1"
    assert x._data is not data
    assert xp.asarray(data, copy=False)._data is data
    assert xp.asarray(data, device="cuda:0").device == "cuda:0"
    assert xp.asarray(data, device="cpu").device == "cpu"


def test_text_is_no_data_and_host_memory_is_not_shared(fake):
    fake()
    with pytest.raises(TypeError, match="nsupported dtype"):
        xp.asarray(["a"], device="cuda:0")
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(np.ones(2), device="cuda:0", copy=False)


def test_scalars_of_cupys_data(fake):
    fake()
    x = on_gpu(3, dtype=np.int64)
    assert (float(x), int(x), bool(x), complex(x)) == (3.0, 3, True, 3 + 0j)
    assert operator.index(x) == 3
    assert list(range(5))[x] == 3
    assert x.item() == 3
    assert f"{xp.asarray(2.5, device='cuda:1'):.2f}" == "2.50"
    assert "cuda:1" in repr(x)


# --- moves ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("devices", [1, 2])
def test_moves_are_recorded_and_gradients_lie_where_their_sources_do(fake, devices):
    fake(devices)
    gpu = f"cuda:{devices - 1}"
    x = xp.asarray([0.5, 1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        there = x.to_device(gpu)
        y = xp.sum(xp.exp(there) * there)
        back = y.to_device("cpu")
    assert (there.device, y.device, back.device) == (gpu, gpu, "cpu")
    for target in (y, back):
        gradient, between = tape.gradient(target, [x, there])
        assert (gradient.device, between.device) == ("cpu", gpu)
        near(gradient, np.exp([0.5, 1.0, 2.0]) * (1.0 + np.asarray([0.5, 1.0, 2.0])))
        near(between, gradient)


def test_second_order_across_devices(fake):
    fake()
    x, v = xp.asarray([0.5, 1.0, 2.0]), np.asarray([1.0, -2.0, 0.5])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum((x.to_device("cuda:1") ** 3).to_device("cuda:0") * on_gpu(2.0, "cuda:0"))
        (gradient,) = inner.gradient(y, [x])
        inner_product = xp.sum(gradient * xp.asarray(v))
    near(gradient, 6.0 * np.asarray(x) ** 2)
    near(outer.gradient(inner_product, x), 12.0 * np.asarray(x) * v)


def test_data_between_gpus_may_be_laid_out_in_any_order(fake):
    fake()
    x = on_gpu(np.arange(24.0).reshape(2, 3, 4), "cuda:0")
    y = xp.permute_dims(x, (1, 0, 2))[:, :, ::2].to_device("cuda:1")
    near(y, np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)[:, :, ::2])


def test_targets_on_two_devices(fake):
    fake()
    x, y = xp.asarray([1.0, 2.0]), on_gpu([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch([x, y])
        targets = [xp.sum(xp.where(x > 1.0, x, 0.0)), xp.sum(y * y)]
    first, second = tape.gradient(targets, [x, y])
    near(first, [0.0, 1.0])
    near(second, [6.0, 8.0])
    assert (first.device, second.device) == ("cpu", "cuda:1")


def test_contributions_add_up_where_they_came_from(fake):
    fake()
    x = on_gpu([1.0, 2.0], "cuda:0")
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x.to_device("cuda:1") * x.to_device("cuda:1") + x.to_device("cuda:1"))
    gradient = tape.gradient(y, x)
    near(gradient, [3.0, 5.0])
    assert gradient.device == "cuda:0"


@pytest.mark.parametrize("order", [1, 2])
def test_what_a_selection_did_not_take_counts_for_nothing_across_devices(fake, order):
    fake()
    x = xp.asarray([0.0, 1.0, 4.0])
    with GradientTape() as outer:
        if order == 2:
            outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = x.to_device("cuda:1")
            z = xp.where(y > 0.0, xp.sqrt(y), 0.0).to_device("cuda:0")
            loss = xp.sum(xp.where(z > 0.0, z * z * z, 0.0))
        gradient = tape.gradient(loss, x)
        square = xp.sum(gradient * gradient)
    near(gradient, [0.0, 1.5, 3.0])
    if order == 2:
        near(outer.gradient(square, x), [0.0, 2.25, 2.25])


@pytest.mark.parametrize(
    ("combine", "name"),
    [(lambda a, b: a + b, "add"), (lambda a, b: xp.concat([a, b]), "concat"),
     (lambda a, b: xp.where(a > 0.0, a, b), "where")],
)  # fmt: skip
def test_mixing_devices_says_what_lies_where(fake, combine, name):
    fake()
    with pytest.raises(TypeError, match=rf"{name}: .*(?s:numpy, cpu.*cuda:1|cuda:1.*numpy, cpu)"):
        combine(xp.asarray([1.0]), on_gpu([1.0]))
    with pytest.raises(ValueError, match=rf"{name}.*cuda:0 does not mix with data on cuda:1"):
        combine(on_gpu([1.0], "cuda:0"), on_gpu([1.0], "cuda:1"))


def test_writing_and_in_place_operators_do_not_mix_devices(fake):
    fake()
    x, y = on_gpu([1.0, 2.0], "cuda:0"), on_gpu([1.0, 2.0], "cuda:1")
    with pytest.raises(ValueError, match="cuda:0 does not mix with data on cuda:1"):
        x[...] = y
    with pytest.raises(ValueError, match="cuda:0 does not mix with data on cuda:1"):
        x += y
    with pytest.raises(TypeError, match="different devices"):
        x[...] = xp.asarray([1.0, 2.0])


# --- every kind of op, on a device that is not the current one ----------------------------------------
PROGRAMS = {
    "elementwise": lambda x: xp.exp(-x) * xp.sin(x) / (1.0 + x * x) - x**2.5 + 2.0**x,
    "hypot": lambda x: xp.hypot(x, 2.0 * x) + xp.atan2(x, x + 1.0) + xp.logaddexp(x, -x),
    "maximum": lambda x: xp.maximum(x, 1.0) + xp.minimum(x * x, x) + xp.abs(x - 1.0),
    "clip": lambda x: xp.clip(x, 0.6, None) + xp.clip(x, 0.5 * x, 1.5) + xp.clip(x),
    "remainder": lambda x: x % 0.4 + xp.remainder(x, -x * 0.3) + x // 0.3 + 7.0 % x,
    "where": lambda x: xp.where(x > 1.0, x, 0.5 * x) + xp.sign(x - 1.0),
    "reductions": lambda x: xp.mean(x) + xp.std(x) + xp.prod(x) + xp.max(x) + xp.var(x, axis=0),
    "cumulative": lambda x: xp.cumulative_prod(x, axis=1) + xp.cumulative_sum(x, axis=1),
    "index": lambda x: x[xp.asarray([2, 0, 2], device=x.device)] * x[np.asarray([0, 0, 1])],
    "mask": lambda x: xp.sum(x[x > 1.0] ** 2) + xp.sum(x[1:, ::-1] * x[0, 1]),
    "take": lambda x: xp.take(x, xp.asarray([1, 1], device=x.device), axis=0) + xp.median(x),
    "sort": lambda x: xp.sort(x, axis=0) * xp.flip(x) + xp.unique_values(x)[0],
    "search": lambda x: x * xp.astype(xp.searchsorted(xp.sort(x[0, :]), 1.0), xp.float64),
    "shapes": lambda x: xp.concat([x, x.T], axis=1) * xp.tile(x, (1, 2)) + xp.repeat(x, 2, axis=1),
    "matmul": lambda x: x @ x.T + xp.linalg.inv(x @ x + 3.0 * xp.eye(3, device=x.device)),
    "solve": lambda x: xp.linalg.solve(x[None] + 5.0 * xp.eye(3, device=x.device), x[:, 0]),
    "stacks": lambda x: xp.linalg.solve(xp.stack([x, x.T]) + 5.0 * xp.eye(3, device=x.device), x),
    "factors": lambda x: xp.linalg.svdvals(x) + xp.linalg.eigvalsh(x @ x.T) + xp.linalg.det(x),
    "eig": lambda x: xp.real(xp.linalg.eigvals(x + xp.asarray(np.diag([1.0, 9, 20]), device=x.device))),
    "cholesky": lambda x: xp.linalg.cholesky(x @ x.T + xp.eye(3, device=x.device)),
    "norms": lambda x: xp.linalg.vector_norm(x, axis=1) + xp.linalg.matrix_norm(x, ord=1),
    "fft": lambda x: xp.abs(xp.fft.fft(x)) ** 2 + xp.fft.irfft(xp.fft.rfft(x), n=3),
    "complex": lambda x: xp.abs(xp.take(x * 1j + x, xp.asarray([0, 0], device=x.device), axis=1)),
    "writes": lambda x: written(x),
}  # fmt: skip


def written(x):
    y = x * 1.0
    y[0, :] *= x[1, :]
    y[:, 1] = 2.0
    y[y > 3.0] = 1.0
    y %= 3.0
    y @= x
    z = xp.zeros((3, 3), device=x.device)
    z += y
    z @= xp.ones((3, 3), device=x.device)
    return z


def both(f, x, device):
    """Value, gradient and gradient of the gradient's square on a device."""
    x = xp.asarray(x, device=device)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(f(x))
        g = inner.gradient(y, x)
        square = xp.sum(g * g)
    h = outer.gradient(square, x)
    assert {a.device for a in (x, y, g)} == {device}
    assert h is None or h.device == device
    return [y, g] + ([] if h is None else [h])


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_give_what_they_give_on_the_cpu(fake, program, devices):
    fake(devices)
    f, x = PROGRAMS[program], np.random.default_rng(1).uniform(0.3, 2.0, (3, 3))
    expected, found = both(f, x, "cpu"), both(f, x, f"cuda:{devices - 1}")
    assert len(expected) == len(found)
    for a, b in zip(expected, found, strict=True):
        near(b, np.asarray(a), 1e-10)


def test_integers_and_bits(fake):
    fake()
    x = on_gpu([5, -3, 7], dtype=np.int64)
    near(
        (x % 4) + (x // 2) + (x << 1) + (x & 6),
        np.asarray([1 + 2 + 10 + 4, 1 - 2 - 6 + 4, 3 + 3 + 14 + 6]),
    )
    near(xp.clip(x, -(2**70), 6), [5, -3, 6])
    near(xp.count_nonzero(x, keepdims=True), [3])
    near(xp.isin(x, 5), [True, False, False])
    assert xp.clip(x, 0, 6).dtype == np.int64


def test_remainder_and_sign_are_the_standards(fake):
    fake()
    x = np.asarray([5.0, -5.0, np.inf, -0.0, np.nan, 7.1])
    for by in (np.inf, -np.inf, 3.0, -0.7):
        with np.errstate(invalid="ignore"):
            expected = np.remainder(x, by)
        found = np.asarray(on_gpu(x) % by)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[:4]), np.signbit(expected[:4]))
    near(xp.sign(on_gpu([np.nan, -2.0, 0.0])), [np.nan, -1.0, 0.0])
    near(xp.sign(on_gpu([3 + 4j, 0.0], dtype=np.complex128)), [0.6 + 0.8j, 0.0])


def test_python_scalars_are_weak(fake):
    fake()
    x = on_gpu([1.0, 2.0], dtype=np.float32)
    for y in (
        x * 2.5,
        2.5 - x,
        x**2,
        xp.where(x > 1.0, x, 0.5),
        xp.maximum(x, 1.5),
        xp.clip(x, 1.2),
    ):
        assert y.dtype == np.float32
    assert (x * np.float64(2.0)).dtype == np.float64
    assert (on_gpu([1, 2], dtype=np.int64) * 1.5).dtype == np.float64


def test_eigenvalues_of_general_matrices_need_cupy_14(fake):
    fake(version="13.6.0")
    x = on_gpu([[1.0, 2.0], [0.5, 9.0]])
    with pytest.raises(TypeError, match=r"CuPy 13\.6\.0 has no linalg\.eigvals: CuPy 14 has"):
        xp.linalg.eigvals(x)


def test_eig_has_named_fields(fake):
    fake()
    found = xp.linalg.eig(on_gpu([[1.0, 2.0], [0.5, 9.0]]))
    near(xp.sort(xp.real(found.eigenvalues)), np.sort(np.linalg.eigvals([[1.0, 2.0], [0.5, 9.0]])))
    assert found.eigenvectors.device == "cuda:1"


# --- writes -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("devices", [1, 2])
def test_of_repeated_writes_the_one_that_lasted_gets_the_gradient(fake, devices):
    fake(devices)
    device = f"cuda:{devices - 1}"
    x, v = on_gpu([1.0, 2.0, 3.0], device), on_gpu([10.0, 20.0, 30.0], device)
    with GradientTape() as tape:
        tape.watch([x, v])
        y = x * 1.0
        y[xp.asarray([0, 2, 0], device=device)] = v
        loss = xp.sum(y * y)
    value, (gx, gv) = np.asarray(y), tape.gradient(loss, [x, v])
    assert value[0] in (10.0, 30.0)  # CuPy leaves open which
    near(gx, [0.0, 4.0, 0.0])
    near(gv, [20.0 * (value[0] == 10.0), 40.0, 60.0 * (value[0] == 30.0)])
    assert gx.device == gv.device == device


@pytest.mark.parametrize("name", ["iadd", "ifloordiv", "imod", "imatmul", "ipow"])
def test_in_place_operators_that_nobody_follows(fake, name):
    fake()
    function = getattr(operator, name)
    left, right = np.asarray([[1.5, 2.0], [0.5, 3.0]]), np.asarray([[1.0, 2.0], [3.0, 0.5]])
    x = on_gpu(left)
    alias = x
    function(x, on_gpu(right))
    near(alias, function(left.copy(), right))


def test_a_broadcast_result_is_read_only(fake):
    fake()
    x = xp.broadcast_to(on_gpu([1.0, 2.0]), (3, 2))
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 1.0
    y = on_gpu([[1.0, 2.0]])
    y[0, 0] = 5.0
    near(y, [[5.0, 2.0]])


def test_writes_through_views_are_followed(fake):
    fake()
    x = on_gpu([1.0, 2.0, 3.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        part = xp.reshape(y, (2, 2))[:, 0]
        part *= part
        y[1] = y[0]
        loss = xp.sum(y)
    near(tape.gradient(loss, x), [4.0, 0.0, 6.0, 1.0])


def test_scatter_add_of_complex_numbers(fake):
    fake()
    x = on_gpu([1 + 2j, 3 - 1j], dtype=np.complex128)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.abs(x[xp.asarray([0, 1, 1], device="cuda:1")]) ** 2)
    near(tape.gradient(y, x), np.asarray([2 + 4j, 2 * (6 - 2j)]))


# --- leaving ----------------------------------------------------------------------------------------
def test_np_asarray_is_an_exit(fake):
    fake()
    x = on_gpu([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(x) ** 2)
    near(y, [1.0, 4.0])
    with pytest.warns(xp.TapeWarning, match=r"left the tape at .*np\.asarray"):
        assert tape.gradient(y, x) is None


def test_dlpack(fake):
    cupy = fake()
    x = on_gpu([1.0, 2.0])
    assert x.__dlpack_device__() == (2, 1)
    capsule = x.__dlpack__(stream=1, max_version=(1, 0))
    assert capsule.data is x._data
    assert (capsule.stream, capsule.max_version) == (1, (1, 0))
    assert x.__dlpack__(copy=True).data is not x._data  # CuPy itself cannot
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(7, 0))
    shared = xp.from_dlpack(x._data)
    assert shared.device == "cuda:1"
    assert xp.from_dlpack(x._data, copy=True)._data is not x._data
    assert type(shared._data) is cupy.ndarray
    assert xp.from_dlpack(np.ones(2), device="cuda:1").device == "cuda:1"


# --- CuPy's arrays on the left ------------------------------------------------------------------------
OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", *COMPARISONS]


@pytest.mark.parametrize("name", OPERATORS)
def test_cupy_on_the_left_is_recorded(fake, name):
    cupy = fake()
    function = getattr(operator, name)
    left, right = np.asarray([[1.5, 2.0], [0.5, 3.0]]), np.asarray([[1.0, 2.0], [3.0, 0.5]])
    with cupy.cuda.Device(1):
        data = cupy.array(left)
    x = on_gpu(right)
    with GradientTape() as tape:
        tape.watch(x)
        y = function(data, x)
        loss = xp.sum(y) if y.dtype.kind == "f" else None
    assert isinstance(y, xp.Array)
    assert y.device == "cuda:1"
    near(y, function(left, right))
    if loss is not None:
        assert tape.gradient(loss, x).device == "cuda:1"


def test_cupy_data_does_not_swallow_a_recorded_array(fake):
    cupy = fake()
    data, x = cupy.array([1.0, 2.0]), on_gpu([1.0, 2.0], "cuda:0")
    with pytest.raises(TypeError):
        data += x


# --- CuPy itself ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def real():
    """CuPy with a GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy is installed, but there is no GPU: {error}")
    return cupy


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_on_a_gpu_give_what_they_give_on_the_cpu(real, program):
    if program == "eig" and not hasattr(real.linalg, "eigvals"):
        pytest.skip(f"CuPy {real.__version__} has no linalg.eigvals")
    f, x = PROGRAMS[program], np.random.default_rng(1).uniform(0.3, 2.0, (3, 3))
    for a, b in zip(both(f, x, "cpu"), both(f, x, "cuda:0"), strict=True):
        near(b, np.asarray(a), 1e-8)


def test_a_gpus_data_goes_both_ways(real):
    x = xp.asarray([0.5, 1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum((x.to_device("cuda:0") ** 3).to_device("cpu"))
    gradient = tape.gradient(y, x)
    assert gradient.device == "cpu"
    near(gradient, 3.0 * np.asarray([0.5, 1.0, 2.0]) ** 2)


def test_a_gpus_repeated_writes(real):
    count = 10_000
    x, v = xp.zeros(2, device="cuda:0"), xp.arange(count, dtype=xp.float64, device="cuda:0")
    with GradientTape() as tape:
        tape.watch(v)
        y = x * 1.0
        y[xp.arange(count, device="cuda:0") % 2] = v
        loss = xp.sum(y)
    lasting = np.flatnonzero(np.asarray(tape.gradient(loss, v)))
    near(lasting, np.sort(np.asarray(y)))


def test_a_gpus_arrays_on_the_left_and_their_dlpack(real):
    data = real.asarray([1.0, 2.0])
    x = xp.asarray([3.0, 4.0], device="cuda:0")
    assert isinstance(data * x, xp.Array)
    assert isinstance(data == x, xp.Array)
    near(data @ x, 11.0)
    near(xp.from_dlpack(data), [1.0, 2.0])
    near(real.from_dlpack(x).get(), [3.0, 4.0])
    assert operator.index(xp.asarray(3, device="cuda:0")) == 3


# --- batched data over CuPy's ---------------------------------------------------------------------
@pytest.mark.parametrize("version", ["13.6.0", "14.0.0"])
def test_jacobians_and_vmap_on_a_second_device(fake, version):
    fake(devices=2, version=version)
    host, w = np.asarray([[0.7, 0.3, 1.2], [0.1, -0.4, 0.9]]), np.asarray([[1.0, 2.0, 0.5]] * 3)

    def f(x, w):
        y = xp.tanh(x @ w) * xp.where(x > 0, x, x**2)
        y[1:] += xp.sum(x) * y[:2]
        y[[0, 2]] = x[:2] * w[1, [0, 2]]
        return xp.linalg.solve(w + 3.0 * xp.eye(3, device=w.device), y) + xp.max(x)

    def run(device):
        x, m = xp.asarray(host, device=device), xp.asarray(w, device=device)
        mapped = xp.vmap(f, (0, None))
        return [
            xp.jacobian(f)(x[0, :], m), mapped(x, m), xp.vmap(xp.jacobian(f, 1), (0, None))(x, m),
            xp.grad(lambda m: xp.sum(mapped(x, m)))(m),
            xp.hessian(lambda x: xp.sum(f(x, m)))(x[1, :]),
        ]  # fmt: skip

    for found, expected in zip(run("cuda:1"), run("cpu"), strict=True):
        assert found.device == "cuda:1"
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-11, atol=1e-12)
