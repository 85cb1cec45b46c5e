"""The examples of the ops: what stands below "Examples" in their docstrings, by the name of the op.

The first line, which imports arraytape, is added to each.  What examples print is written by
``python tools/name_examples.py --write src/arraytape/_define/examples.py``, and tested.
"""

EXAMPLES = {
    "abs": """\
>>> x = xp.asarray([-2.0, 0.0, 3.0])
>>> print(xp.abs(x))
[2. 0. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.abs(x)))(x))
[-1.  0.  1.]

The slope at 0 is 0. Of a complex number the gradient points away from 0:

>>> z = xp.asarray(3.0 + 4.0j)
>>> print(xp.abs(z))
5.0
>>> print(xp.grad(xp.abs)(z))
(0.6+0.8j)
""",
    "acos": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.acos(x))
[2.0943951  1.57079633 1.04719755]
>>> print(xp.grad(lambda x: xp.sum(xp.acos(x)))(x))
[-1.15470054 -1.         -1.15470054]
""",
    "acosh": """\
>>> x = xp.asarray([1.0, 1.5, 2.0])
>>> print(xp.acosh(x))
[0.         0.96242365 1.3169579 ]

The slope at 1 is infinite:

>>> print(xp.grad(lambda x: xp.sum(xp.acosh(x)))(x))
[       inf 0.89442719 0.57735027]
""",
    "add": """\
>>> x1 = xp.asarray([[1.0], [2.0]])
>>> x2 = xp.asarray([10.0, 20.0, 30.0])
>>> print(xp.add(x1, x2))
[[11. 21. 31.]
 [12. 22. 32.]]

A gradient has the shape of its operand: what was broadcast is summed up.

>>> with xp.GradientTape() as tape:
...     tape.watch([x1, x2])
...     y = x1 + x2
>>> by_x1, by_x2 = tape.gradient(y, [x1, x2])
>>> print(by_x1)
[[3.]
 [3.]]
>>> print(by_x2)
[2. 2. 2.]
""",
    "all": """\
>>> x = xp.asarray([[True, True], [True, False]])
>>> print(xp.all(x))
False
>>> print(xp.all(x, axis=1))
[ True False]
""",
    "any": """\
>>> x = xp.asarray([[True, False], [False, False]])
>>> print(xp.any(x))
True
>>> print(xp.any(x, axis=1))
[ True False]
""",
    "arange": """\
>>> print(xp.arange(5))
[0 1 2 3 4]
>>> print(xp.arange(1.0, 2.0, 0.25))
[1.   1.25 1.5  1.75]
""",
    "argmax": """\
>>> x = xp.asarray([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
>>> print(xp.argmax(x))
3
>>> print(xp.argmax(x, axis=1))
[1 0]
""",
    "argmin": """\
>>> x = xp.asarray([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
>>> print(xp.argmin(x))
4
>>> print(xp.argmin(x, axis=1))
[0 1]
""",
    "argsort": """\
>>> x = xp.asarray([3.0, 1.0, 2.0])
>>> order = xp.argsort(x)
>>> print(order)
[1 2 0]
>>> print(xp.take(x, order))
[1. 2. 3.]
>>> print(xp.argsort(x, descending=True))
[0 2 1]
""",
    "asarray": """\
>>> xp.asarray([[1.0, 2.0], [3.0, 4.0]])
Array([[1., 2.],
       [3., 4.]], dtype=float64, device='cpu')
>>> print(xp.asarray([1, 2, 3], dtype=xp.float32).dtype)
float32

Within a tape a list may hold Arrays, and stays differentiable:

>>> print(xp.grad(lambda a: xp.sum(xp.asarray([a, 2.0 * a]) ** 2))(xp.asarray(1.0)))
10.0
""",
    "asin": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.asin(x))
[-0.52359878  0.          0.52359878]
>>> print(xp.grad(lambda x: xp.sum(xp.asin(x)))(x))
[1.15470054 1.         1.15470054]
""",
    "asinh": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.asinh(x))
[-0.88137359  0.          0.88137359]
>>> print(xp.grad(lambda x: xp.sum(xp.asinh(x)))(x))
[0.70710678 1.         0.70710678]
""",
    "astype": """\
>>> x = xp.asarray([1.7, -0.2])
>>> print(xp.astype(x, xp.int64))
[1 0]

A cast between floating-point dtypes is recorded; the gradient has the dtype of its source.

>>> gradient = xp.grad(lambda x: xp.sum(xp.astype(x, xp.float32) ** 2))(x)
>>> print(gradient.dtype)
float64
""",
    "atan": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.atan(x))
[-0.78539816  0.          0.78539816]
>>> print(xp.grad(lambda x: xp.sum(xp.atan(x)))(x))
[0.5 1.  0.5]
""",
    "atan2": """\
>>> y, x = xp.asarray([1.0, 1.0, -1.0]), xp.asarray([1.0, -1.0, -1.0])
>>> print(xp.atan2(y, x))
[ 0.78539816  2.35619449 -2.35619449]
>>> print(xp.grad(lambda y: xp.sum(xp.atan2(y, x)))(y))
[ 0.5 -0.5 -0.5]
""",
    "atanh": """\
>>> x = xp.asarray([-0.5, 0.0, 0.5])
>>> print(xp.atanh(x))
[-0.54930614  0.          0.54930614]
>>> print(xp.grad(lambda x: xp.sum(xp.atanh(x)))(x))
[1.33333333 1.         1.33333333]
""",
    "bincount": """\
>>> bins = xp.asarray([0, 1, 1, 3])
>>> print(xp.bincount(bins))
[1 2 0 1]

By the weights it is differentiable: each gets the gradient of its bin.

>>> weights = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.bincount(bins, weights))
[1. 5. 0. 4.]
>>> print(xp.grad(lambda w: xp.sum(xp.bincount(bins, w) ** 2))(weights))
[ 2. 10. 10.  8.]
""",
    "bitwise_and": """\
>>> x1, x2 = xp.asarray([12, 7]), xp.asarray([10, 2])
>>> print(xp.bitwise_and(x1, x2))
[8 2]
""",
    "bitwise_invert": """\
>>> print(xp.bitwise_invert(xp.asarray([0, 1, 7])))
[-1 -2 -8]
>>> print(~xp.asarray([True, False]))
[False  True]
""",
    "bitwise_left_shift": """\
>>> print(xp.bitwise_left_shift(xp.asarray([1, 2, 3]), 2))
[ 4  8 12]
""",
    "bitwise_or": """\
>>> x1, x2 = xp.asarray([12, 7]), xp.asarray([10, 8])
>>> print(xp.bitwise_or(x1, x2))
[14 15]
""",
    "bitwise_right_shift": """\
>>> print(xp.bitwise_right_shift(xp.asarray([4, 9, 12]), 2))
[1 2 3]
""",
    "bitwise_xor": """\
>>> x1, x2 = xp.asarray([12, 7]), xp.asarray([10, 7])
>>> print(xp.bitwise_xor(x1, x2))
[6 0]
""",
    "broadcast_arrays": """\
>>> x1, x2 = xp.broadcast_arrays(xp.asarray([[1.0], [2.0]]), xp.asarray([3.0, 4.0]))
>>> print(x1)
[[1. 1.]
 [2. 2.]]
>>> print(x2)
[[3. 4.]
 [3. 4.]]
>>> print(xp.grad(lambda x: xp.sum(xp.broadcast_arrays(x, x2)[0]))(xp.asarray([[1.0], [2.0]])))
[[2.]
 [2.]]
""",
    "broadcast_to": """\
>>> x = xp.asarray([1.0, 2.0])
>>> print(xp.broadcast_to(x, (3, 2)))
[[1. 2.]
 [1. 2.]
 [1. 2.]]

A gradient goes back summed over the copies:

>>> print(xp.grad(lambda x: xp.sum(xp.broadcast_to(x, (3, 2))))(x))
[3. 3.]
""",
    "ceil": """\
>>> print(xp.ceil(xp.asarray([-1.5, 0.2, 2.0])))
[-1.  1.  2.]
""",
    "clip": """\
>>> x = xp.asarray([-2.0, 0.5, 3.0])
>>> print(xp.clip(x, -1.0, 1.0))
[-1.   0.5  1. ]

Only what is within the bounds, or on them, moves the result:

>>> print(xp.grad(lambda x: xp.sum(xp.clip(x, -1.0, 1.0)))(x))
[0. 1. 0.]
""",
    "concat": """\
>>> x1, x2 = xp.asarray([1.0, 2.0]), xp.asarray([3.0])
>>> print(xp.concat([x1, x2]))
[1. 2. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.concat([x, x2]) ** 2))(x1))
[2. 4.]
""",
    "conj": """\
>>> z = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
>>> print(xp.conj(z))
[1.-2.j 3.+1.j]

The squared magnitude is real, and its gradient with respect to z is 2 z:

>>> print(xp.grad(lambda z: xp.sum(xp.real(z * xp.conj(z))))(z))
[2.+4.j 6.-2.j]
""",
    "copysign": """\
>>> x1, x2 = xp.asarray([1.0, 2.0, -3.0]), xp.asarray([-1.0, 1.0, 5.0])
>>> print(xp.copysign(x1, x2))
[-1.  2.  3.]
>>> print(xp.grad(lambda x1: xp.sum(xp.copysign(x1, x2)))(x1))
[-1.  1. -1.]
""",
    "cos": """\
>>> x = xp.asarray([0.5, 1.0, 2.0])
>>> print(xp.cos(x))
[ 0.87758256  0.54030231 -0.41614684]

The slope is -sin(x):

>>> print(xp.grad(lambda x: xp.sum(xp.cos(x)))(x))
[-0.47942554 -0.84147098 -0.90929743]
""",
    "cosh": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.cosh(x))
[1.54308063 1.         1.54308063]
>>> print(xp.grad(lambda x: xp.sum(xp.cosh(x)))(x))
[-1.17520119  0.          1.17520119]
""",
    "count_nonzero": """\
>>> x = xp.asarray([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
>>> print(xp.count_nonzero(x))
3
>>> print(xp.count_nonzero(x, axis=0))
[1 0 2]
""",
    "cumulative_prod": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.cumulative_prod(x))
[1. 2. 6.]
>>> print(xp.grad(lambda x: xp.cumulative_prod(x)[-1])(x))
[6. 3. 2.]
""",
    "cumulative_sum": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.cumulative_sum(x))
[1. 3. 6.]
>>> print(xp.cumulative_sum(x, include_initial=True))
[0. 1. 3. 6.]

The first element is in each of the sums, the last in one:

>>> print(xp.grad(lambda x: xp.sum(xp.cumulative_sum(x)))(x))
[3. 2. 1.]
""",
    "diag": """\
>>> v = xp.asarray([1.0, 2.0])
>>> print(xp.diag(v))
[[1. 0.]
 [0. 2.]]
>>> print(xp.diag(xp.asarray([[1.0, 2.0], [3.0, 4.0]])))
[1. 4.]
>>> print(xp.grad(lambda v: xp.linalg.det(xp.diag(v)))(v))
[2. 1.]
""",
    "diff": """\
>>> x = xp.asarray([1.0, 4.0, 9.0, 16.0])
>>> print(xp.diff(x))
[3. 5. 7.]
>>> print(xp.diff(x, n=2))
[2. 2.]

The gradient of a roughness penalty:

>>> print(xp.grad(lambda x: xp.sum(xp.diff(x) ** 2))(x))
[-6. -4. -4. 14.]
""",
    "divide": """\
>>> x1, x2 = xp.asarray([1.0, 6.0]), xp.asarray([2.0, 3.0])
>>> print(xp.divide(x1, x2))
[0.5 2. ]
>>> with xp.GradientTape() as tape:
...     tape.watch([x1, x2])
...     y = x1 / x2
>>> by_x1, by_x2 = tape.gradient(y, [x1, x2])
>>> print(by_x1)
[0.5        0.33333333]
>>> print(by_x2)
[-0.25       -0.66666667]
""",
    "einsum": """\
>>> a = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> b = xp.asarray([1.0, -1.0])
>>> print(xp.einsum("ij,j->i", a, b))
[-1. -1.]
>>> print(xp.einsum("ii", a))
5.0

The gradient of the quadratic form b a b is the outer product of b with itself:

>>> print(xp.grad(lambda a: xp.einsum("i,ij,j", b, a, b))(a))
[[ 1. -1.]
 [-1.  1.]]
""",
    "empty": """\
>>> x = xp.empty((2, 3), dtype=xp.float32)  # of any values
>>> x.shape, x.dtype
((2, 3), dtype('float32'))
""",
    "empty_like": """\
>>> x = xp.asarray([[1, 2], [3, 4]])
>>> y = xp.empty_like(x, dtype=xp.float64)  # of any values
>>> y.shape, y.dtype
((2, 2), dtype('float64'))
""",
    "equal": """\
>>> print(xp.equal(xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 0.0, 3.0])))
[ True False  True]
""",
    "exp": """\
>>> x = xp.asarray([0.0, 1.0, 2.0])
>>> print(xp.exp(x))
[1.         2.71828183 7.3890561 ]

It is its own derivative:

>>> print(xp.grad(lambda x: xp.sum(xp.exp(x)))(x))
[1.         2.71828183 7.3890561 ]
""",
    "expand_dims": """\
>>> x = xp.asarray([1.0, 2.0])
>>> print(xp.expand_dims(x, axis=1))
[[1.]
 [2.]]
>>> xp.expand_dims(x, axis=(0, 2)).shape
(1, 2, 1)
>>> weights = xp.asarray([1.0, 10.0])
>>> print(xp.grad(lambda x: xp.sum(xp.expand_dims(x, axis=1) * weights))(x))
[11. 11.]
""",
    "expm1": """\
>>> x = xp.asarray([0.0, 1e-12, 1.0])
>>> print(xp.expm1(x))
[0.00000000e+00 1.00000000e-12 1.71828183e+00]
>>> print(xp.grad(lambda x: xp.sum(xp.expm1(x)))(x))
[1.         1.         2.71828183]
""",
    "eye": """\
>>> print(xp.eye(2))
[[1. 0.]
 [0. 1.]]
>>> print(xp.eye(2, 3, k=1))
[[0. 1. 0.]
 [0. 0. 1.]]
""",
    "fft.fft": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.fft.fft(x))
[10.+0.j -2.+2.j -2.+0.j -2.-2.j]

The gradient of the power of all frequencies is 2 n x, by Parseval's theorem:

>>> print(xp.grad(lambda x: xp.sum(xp.abs(xp.fft.fft(x)) ** 2))(x))
[ 8. 16. 24. 32.]
""",
    "fft.fftfreq": """\
>>> print(xp.fft.fftfreq(4))
[ 0.    0.25 -0.5  -0.25]
>>> print(xp.fft.fftfreq(4, d=0.01))
[  0.  25. -50. -25.]
""",
    "fft.fftn": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.fft.fftn(x))
[[10.+0.j -2.+0.j]
 [-4.+0.j  0.+0.j]]
>>> print(xp.grad(lambda x: xp.sum(xp.abs(xp.fft.fftn(x)) ** 2))(x))
[[ 8. 16.]
 [24. 32.]]
""",
    "fft.fftshift": """\
>>> frequencies = xp.fft.fftfreq(5)
>>> print(frequencies)
[ 0.   0.2  0.4 -0.4 -0.2]
>>> print(xp.fft.fftshift(frequencies))
[-0.4 -0.2  0.   0.2  0.4]

A gradient goes back to where each value came from:

>>> print(xp.grad(lambda x: xp.fft.fftshift(x)[0])(frequencies))
[0. 0. 0. 1. 0.]
""",
    "fft.hfft": """\
>>> z = xp.asarray([10.0 + 0.0j, -2.0 + 2.0j, -2.0 + 0.0j])
>>> print(xp.fft.hfft(z))
[ 4. 16. 12.  8.]

As many values as the signal has, of which z is half of the frequencies:

>>> xp.fft.hfft(z, n=5).shape
(5,)
>>> print(xp.grad(lambda z: xp.sum(xp.fft.hfft(z) ** 2))(z))
[ 80. -0.j -32.+32.j -16. -0.j]
""",
    "fft.ifft": """\
>>> z = xp.fft.fft(xp.asarray([1.0, 2.0, 3.0, 4.0]))
>>> print(xp.real(xp.fft.ifft(z)))
[1. 2. 3. 4.]

A filter in frequency space, differentiated by its strength:

>>> x, low = xp.asarray([1.0, -1.0, 1.0, -2.0]), xp.asarray([1.0, 0.5, 0.0, 0.5])
>>> def power(a):
...     return xp.sum(xp.real(xp.fft.ifft(xp.fft.fft(x) * low**a)) ** 2)
>>> print(xp.grad(power)(xp.asarray(1.0)))
-0.17328679513998632
""",
    "fft.ifftn": """\
>>> z = xp.fft.fftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
>>> print(xp.real(xp.fft.ifftn(z)))
[[1. 2.]
 [3. 4.]]

The gradient of the power of the signal is 2 z / n:

>>> print(xp.grad(lambda z: xp.sum(xp.abs(xp.fft.ifftn(z)) ** 2))(z))
[[ 5.+0.j -1.+0.j]
 [-2.+0.j  0.+0.j]]
""",
    "fft.ifftshift": """\
>>> x = xp.fft.fftshift(xp.fft.fftfreq(5))
>>> print(x)
[-0.4 -0.2  0.   0.2  0.4]
>>> print(xp.fft.ifftshift(x))
[ 0.   0.2  0.4 -0.4 -0.2]
>>> print(xp.grad(lambda x: xp.fft.ifftshift(x)[0])(x))
[0. 0. 1. 0. 0.]
""",
    "fft.ihfft": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.fft.ihfft(x))
[ 2.5-0.j  -0.5-0.5j -0.5-0.j ]
>>> print(xp.grad(lambda x: xp.sum(xp.abs(xp.fft.ihfft(x)) ** 2))(x))
[0.75 1.25 1.25 1.75]
""",
    "fft.irfft": """\
>>> z = xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0, 4.0]))
>>> print(xp.fft.irfft(z))
[1. 2. 3. 4.]

Of an odd length say n, which half of the frequencies do not tell:

>>> z = xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0]))
>>> print(xp.fft.irfft(z, n=3))
[1. 2. 3.]

Frequencies inside stand for two, and have twice the gradient:

>>> z = xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0, 4.0]))
>>> print(xp.grad(lambda z: xp.sum(xp.fft.irfft(z) ** 2))(z))
[ 5.+0.j -2.+2.j -1.+0.j]
""",
    "fft.irfftn": """\
>>> z = xp.fft.rfftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
>>> print(xp.fft.irfftn(z, s=(2, 2)))
[[1. 2.]
 [3. 4.]]
>>> print(xp.grad(lambda z: xp.sum(xp.fft.irfftn(z, s=(2, 2)) ** 2))(z))
[[ 5.+0.j -1.+0.j]
 [-2.+0.j  0.+0.j]]
""",
    "fft.rfft": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.fft.rfft(x))
[10.+0.j -2.+2.j -2.+0.j]

The gradient of the power at one frequency:

>>> print(xp.grad(lambda x: xp.abs(xp.fft.rfft(x)[1]) ** 2)(x))
[-4. -4.  4.  4.]
""",
    "fft.rfftfreq": """\
>>> print(xp.fft.rfftfreq(4))
[0.   0.25 0.5 ]
>>> print(xp.fft.rfftfreq(4, d=0.01))
[ 0. 25. 50.]
""",
    "fft.rfftn": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.fft.rfftn(x))
[[10.+0.j -2.+0.j]
 [-4.+0.j  0.+0.j]]
>>> print(xp.grad(lambda x: xp.sum(xp.abs(xp.fft.rfftn(x)) ** 2))(x))
[[ 8. 16.]
 [24. 32.]]
""",
    "flip": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.flip(x))
[[4. 3.]
 [2. 1.]]
>>> print(xp.flip(x, axis=1))
[[2. 1.]
 [4. 3.]]

A gradient goes back to where each value came from:

>>> print(xp.grad(lambda x: xp.flip(x)[0, 0])(x))
[[0. 0.]
 [0. 1.]]
""",
    "floor": """\
>>> print(xp.floor(xp.asarray([-1.5, 0.2, 2.0])))
[-2.  0.  2.]
""",
    "floor_divide": """\
>>> x1, x2 = xp.asarray([7.0, -7.0]), xp.asarray([2.0, 2.0])
>>> print(xp.floor_divide(x1, x2))
[ 3. -4.]
>>> print(xp.grad(lambda x1: xp.sum(x1 // x2))(x1))
[0. 0.]
""",
    "from_dlpack": """\
>>> import numpy as np
>>> data = np.asarray([1.0, 2.0])
>>> x = xp.from_dlpack(data)
>>> x
Array([1., 2.], dtype=float64, device='cpu')
""",
    "full": """\
>>> print(xp.full((2, 2), 7.0))
[[7. 7.]
 [7. 7.]]
>>> print(xp.grad(lambda value: xp.sum(xp.full((2, 2), value)))(xp.asarray(7.0)))
4.0
""",
    "full_like": """\
>>> print(xp.full_like(xp.asarray([1.0, 2.0, 3.0]), 0.5))
[0.5 0.5 0.5]
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.grad(lambda value: xp.sum(xp.full_like(x, value)))(xp.asarray(0.5)))
3.0
""",
    "greater": """\
>>> print(xp.greater(xp.asarray([1.0, 2.0, 3.0]), 2.0))
[False False  True]
""",
    "greater_equal": """\
>>> print(xp.greater_equal(xp.asarray([1.0, 2.0, 3.0]), 2.0))
[False  True  True]
""",
    "hypot": """\
>>> x1, x2 = xp.asarray([3.0, 0.0]), xp.asarray([4.0, 0.0])
>>> print(xp.hypot(x1, x2))
[5. 0.]

The slope at the origin is 0:

>>> print(xp.grad(lambda x1: xp.sum(xp.hypot(x1, x2)))(x1))
[0.6 0. ]
""",
    "imag": """\
>>> z = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
>>> print(xp.imag(z))
[ 2. -1.]
>>> print(xp.grad(lambda z: xp.sum(xp.imag(z)))(z))
[0.+1.j 0.+1.j]
""",
    "isfinite": """\
>>> print(xp.isfinite(xp.asarray([1.0, xp.inf, xp.nan])))
[ True False False]
""",
    "isin": """\
>>> print(xp.isin(xp.asarray([1, 2, 3, 4]), xp.asarray([2, 4])))
[False  True False  True]
""",
    "isinf": """\
>>> print(xp.isinf(xp.asarray([1.0, -xp.inf, xp.nan])))
[False  True False]
""",
    "isnan": """\
>>> x = xp.asarray([1.0, xp.nan, 4.0])
>>> print(xp.isnan(x))
[False  True False]

What a selection leaves out gets a gradient of exactly 0, though it is NaN:

>>> print(xp.grad(lambda x: xp.sum(xp.where(xp.isnan(x), 0.0, xp.sqrt(x))))(x))
[0.5  0.   0.25]
""",
    "less": """\
>>> print(xp.less(xp.asarray([1.0, 2.0, 3.0]), 2.0))
[ True False False]
""",
    "less_equal": """\
>>> print(xp.less_equal(xp.asarray([1.0, 2.0, 3.0]), 2.0))
[ True  True False]
""",
    "linalg.cholesky": """\
>>> x = xp.asarray([[4.0, 2.0], [2.0, 5.0]])
>>> print(xp.linalg.cholesky(x))
[[2. 0.]
 [1. 2.]]

The logarithm of the determinant, and its gradient, the inverse of x:

>>> def logdet(x):
...     return 2.0 * xp.sum(xp.log(xp.linalg.diagonal(xp.linalg.cholesky(x))))
>>> print(xp.grad(logdet)(x))
[[ 0.3125 -0.125 ]
 [-0.125   0.25  ]]
""",
    "linalg.cross": """\
>>> x1, x2 = xp.asarray([1.0, 0.0, 0.0]), xp.asarray([0.0, 1.0, 0.0])
>>> print(xp.linalg.cross(x1, x2))
[0. 0. 1.]
>>> print(xp.jacobian(lambda x1: xp.linalg.cross(x1, x2))(x1))
[[ 0.  0. -1.]
 [ 0.  0.  0.]
 [ 1.  0.  0.]]
""",
    "linalg.det": """\
>>> x = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
>>> print(xp.linalg.det(x))
5.000000000000001

The gradient is the matrix of cofactors, of singular matrices, too:

>>> print(xp.grad(xp.linalg.det)(x))
[[ 3. -1.]
 [-1.  2.]]
>>> print(xp.grad(xp.linalg.det)(xp.zeros((2, 2))))
[[0. 0.]
 [0. 0.]]
""",
    "linalg.diagonal": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.linalg.diagonal(x))
[1. 4.]
>>> print(xp.grad(lambda x: xp.sum(xp.linalg.diagonal(x)))(x))
[[1. 0.]
 [0. 1.]]
""",
    "linalg.eig": """\
>>> x = xp.asarray([[0.0, 1.0], [-1.0, 0.0]])  # a quarter turn
>>> values, vectors = xp.linalg.eig(x)
>>> print(values)
[0.+1.j 0.-1.j]

The gradient of the largest growth rate of x' = a x, by a:

>>> a = xp.asarray([[-1.0, 2.0], [0.0, -3.0]])
>>> print(xp.grad(lambda a: xp.max(xp.real(xp.linalg.eig(a).eigenvalues)))(a))
[[1. 0.]
 [1. 0.]]
""",
    "linalg.eigh": """\
>>> x = xp.asarray([[2.0, 1.0], [1.0, 2.0]])
>>> values, vectors = xp.linalg.eigh(x)
>>> print(values)
[1. 3.]

The gradient of the greatest eigenvalue is the outer product of its vector with itself:

>>> print(xp.grad(lambda x: xp.linalg.eigh(x).eigenvalues[-1])(x))
[[0.5 0.5]
 [0.5 0.5]]
""",
    "linalg.eigvals": """\
>>> x = xp.asarray([[1.0, 2.0], [0.0, 3.0]])
>>> print(xp.linalg.eigvals(x))
[1.+0.j 3.+0.j]
>>> print(xp.grad(lambda x: xp.sum(xp.real(xp.linalg.eigvals(x)) ** 2))(x))
[[2. 0.]
 [4. 6.]]
""",
    "linalg.eigvalsh": """\
>>> x = xp.asarray([[2.0, 1.0], [1.0, 2.0]])
>>> print(xp.linalg.eigvalsh(x))
[1. 3.]

The condition number, and its gradient:

>>> def condition(x):
...     values = xp.linalg.eigvalsh(x)
...     return values[-1] / values[0]
>>> print(condition(x))
3.0
>>> print(xp.grad(condition)(x))
[[-1.  2.]
 [ 2. -1.]]
""",
    "linalg.inv": """\
>>> x = xp.asarray([[2.0, 1.0], [1.0, 1.0]])
>>> print(xp.linalg.inv(x))
[[ 1. -1.]
 [-1.  2.]]
>>> print(xp.grad(lambda x: xp.linalg.trace(xp.linalg.inv(x)))(x))
[[-2.  3.]
 [ 3. -5.]]
""",
    "linalg.matrix_norm": """\
>>> x = xp.asarray([[3.0, 0.0], [0.0, 4.0]])
>>> print(xp.linalg.matrix_norm(x))
5.0
>>> print(xp.linalg.matrix_norm(x, ord="nuc"))
7.0
>>> print(xp.grad(xp.linalg.matrix_norm)(x))
[[0.6 0. ]
 [0.  0.8]]
""",
    "linalg.matrix_power": """\
>>> x = xp.asarray([[1.0, 1.0], [0.0, 1.0]])
>>> print(xp.linalg.matrix_power(x, 3))
[[1. 3.]
 [0. 1.]]
>>> print(xp.grad(lambda x: xp.linalg.trace(xp.linalg.matrix_power(x, 3)))(x))
[[3. 0.]
 [6. 3.]]
""",
    "linalg.matrix_rank": """\
>>> print(xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]])))
1
""",
    "linalg.outer": """\
>>> x1, x2 = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0, 5.0])
>>> print(xp.linalg.outer(x1, x2))
[[ 3.  4.  5.]
 [ 6.  8. 10.]]
>>> print(xp.grad(lambda x1: xp.sum(xp.linalg.outer(x1, x2)))(x1))
[12. 12.]
""",
    "linalg.pinv": """\
>>> x = xp.asarray([[1.0], [2.0]])
>>> print(xp.linalg.pinv(x))
[[0.2 0.4]]

The least-squares solution of a line through points, by the times at which they were taken:

>>> t, y = xp.asarray([0.0, 1.0, 2.0]), xp.asarray([1.0, 3.0, 4.0])
>>> def slope(t):
...     return (xp.linalg.pinv(xp.stack([xp.ones_like(t), t], axis=1)) @ y)[1]
>>> print(slope(t))
1.4999999999999996
>>> print(xp.grad(slope)(t))
[ 0.66666667  0.16666667 -0.83333333]
""",
    "linalg.qr": """\
>>> x = xp.asarray([[3.0, 1.0], [4.0, 2.0]])
>>> q, r = xp.linalg.qr(x)
>>> print(q)
[[-0.6 -0.8]
 [-0.8  0.6]]
>>> print(r)
[[-5.  -2.2]
 [ 0.   0.4]]

The area that the columns span, and its gradient:

>>> print(xp.grad(lambda x: xp.abs(xp.prod(xp.linalg.diagonal(xp.linalg.qr(x).R))))(x))
[[ 2. -4.]
 [-1.  3.]]
""",
    "linalg.slogdet": """\
>>> x = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
>>> sign, logabsdet = xp.linalg.slogdet(x)
>>> print(sign, logabsdet)
1.0 1.6094379124341005

The gradient is the transposed inverse:

>>> print(xp.grad(lambda x: xp.linalg.slogdet(x).logabsdet)(x))
[[ 0.6 -0.2]
 [-0.2  0.4]]
""",
    "linalg.solve": """\
>>> a, b = xp.asarray([[2.0, 1.0], [1.0, 3.0]]), xp.asarray([3.0, 5.0])
>>> print(xp.linalg.solve(a, b))
[0.8 1.4]
>>> with xp.GradientTape() as tape:
...     tape.watch([a, b])
...     x = xp.linalg.solve(a, b)
>>> by_a, by_b = tape.gradient(x, [a, b])
>>> print(by_a)
[[-0.32 -0.56]
 [-0.16 -0.28]]
>>> print(by_b)
[0.4 0.2]
""",
    "linalg.svd": """\
>>> x = xp.asarray([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
>>> u, s, vh = xp.linalg.svd(x, full_matrices=False)
>>> print(s)
[4. 3.]
>>> u.shape, vh.shape
((3, 2), (2, 2))

The gradient of the greatest singular value is the outer product of its two vectors:

>>> print(xp.grad(lambda x: xp.linalg.svd(x, full_matrices=False).S[0])(x))
[[0. 0.]
 [0. 1.]
 [0. 0.]]
""",
    "linalg.svdvals": """\
>>> x = xp.asarray([[3.0, 0.0], [4.0, 5.0]])
>>> print(xp.linalg.svdvals(x))
[6.70820393 2.23606798]
>>> print(xp.grad(lambda x: xp.linalg.svdvals(x)[0])(x))
[[0.2236068  0.2236068 ]
 [0.67082039 0.67082039]]
""",
    "linalg.trace": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.linalg.trace(x))
5.0
>>> print(xp.grad(xp.linalg.trace)(x))
[[1. 0.]
 [0. 1.]]
""",
    "linalg.vector_norm": """\
>>> x = xp.asarray([3.0, 4.0])
>>> print(xp.linalg.vector_norm(x))
5.0
>>> print(xp.grad(xp.linalg.vector_norm)(x))
[0.6 0.8]

The norm has a kink at 0, where its gradient is 0:

>>> print(xp.grad(xp.linalg.vector_norm)(xp.zeros(2)))
[0. 0.]
>>> print(xp.linalg.vector_norm(x, ord=1))
7.0
""",
    "linspace": """\
>>> print(xp.linspace(0.0, 1.0, 5))
[0.   0.25 0.5  0.75 1.  ]

The ends may be Arrays, and be differentiated by:

>>> print(xp.grad(lambda stop: xp.sum(xp.linspace(0.0, stop, 5)))(xp.asarray(1.0)))
2.5
""",
    "log": """\
>>> x = xp.asarray([1.0, xp.e, 10.0])
>>> print(xp.log(x))
[0.         1.         2.30258509]
>>> print(xp.grad(lambda x: xp.sum(xp.log(x)))(x))
[1.         0.36787944 0.1       ]
""",
    "log10": """\
>>> x = xp.asarray([1.0, 10.0, 1000.0])
>>> print(xp.log10(x))
[0. 1. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.log10(x)))(x))
[0.43429448 0.04342945 0.00043429]
""",
    "log1p": """\
>>> x = xp.asarray([0.0, 1e-12, 1.0])
>>> print(xp.log1p(x))
[0.00000000e+00 1.00000000e-12 6.93147181e-01]
>>> print(xp.grad(lambda x: xp.sum(xp.log1p(x)))(x))
[1.  1.  0.5]
""",
    "log2": """\
>>> x = xp.asarray([1.0, 2.0, 8.0])
>>> print(xp.log2(x))
[0. 1. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.log2(x)))(x))
[1.44269504 0.72134752 0.18033688]
""",
    "logaddexp": """\
>>> x1, x2 = xp.asarray([0.0, 2.0]), xp.asarray([0.0, 1.0])
>>> print(xp.logaddexp(x1, x2))
[0.69314718 2.31326169]

The slope by x1 is the logistic function of x1 - x2:

>>> print(xp.grad(lambda x1: xp.sum(xp.logaddexp(x1, x2)))(x1))
[0.5        0.73105858]
""",
    "logical_and": """\
>>> print(xp.logical_and(xp.asarray([True, True, False]), xp.asarray([True, False, False])))
[ True False False]
""",
    "logical_not": """\
>>> print(xp.logical_not(xp.asarray([True, False])))
[False  True]
""",
    "logical_or": """\
>>> print(xp.logical_or(xp.asarray([True, True, False]), xp.asarray([True, False, False])))
[ True  True False]
""",
    "logical_xor": """\
>>> print(xp.logical_xor(xp.asarray([True, True, False]), xp.asarray([True, False, False])))
[False  True False]
""",
    "logspace": """\
>>> print(xp.logspace(0.0, 2.0, 3))
[  1.  10. 100.]
>>> print(xp.logspace(0.0, 3.0, 4, base=2.0))
[1. 2. 4. 8.]
>>> print(xp.grad(lambda stop: xp.logspace(0.0, stop, 3)[-1])(xp.asarray(2.0)))  # 100 * log(10)
230.25850929940458
""",
    "matmul": """\
>>> x1 = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> x2 = xp.asarray([1.0, -1.0])
>>> print(xp.matmul(x1, x2))
[-1. -1.]
>>> with xp.GradientTape() as tape:
...     tape.watch([x1, x2])
...     y = x1 @ x2
>>> by_x1, by_x2 = tape.gradient(y, [x1, x2])
>>> print(by_x1)
[[ 1. -1.]
 [ 1. -1.]]
>>> print(by_x2)
[4. 6.]
""",
    "matrix_transpose": """\
>>> x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
>>> print(xp.matrix_transpose(x))
[[1. 4.]
 [2. 5.]
 [3. 6.]]
>>> weights = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
>>> print(xp.grad(lambda x: xp.sum(weights * xp.matrix_transpose(x)))(x))
[[1. 3. 5.]
 [2. 4. 6.]]
""",
    "max": """\
>>> x = xp.asarray([[1.0, 5.0], [7.0, 7.0]])
>>> print(xp.max(x))
7.0
>>> print(xp.max(x, axis=1))
[5. 7.]

Where several are greatest they share the gradient evenly:

>>> print(xp.grad(lambda x: xp.sum(xp.max(x, axis=1)))(x))
[[0.  1. ]
 [0.5 0.5]]
""",
    "maximum": """\
>>> x1, x2 = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([3.0, 2.0, 1.0])
>>> print(xp.maximum(x1, x2))
[3. 2. 3.]

Ties share the gradient evenly:

>>> print(xp.grad(lambda x1: xp.sum(xp.maximum(x1, x2)))(x1))
[0.  0.5 1. ]
""",
    "mean": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 6.0]])
>>> print(xp.mean(x))
3.0
>>> print(xp.mean(x, axis=0))
[2. 4.]
>>> print(xp.grad(xp.mean)(x))
[[0.25 0.25]
 [0.25 0.25]]
""",
    "median": """\
>>> x = xp.asarray([7.0, 1.0, 3.0, 4.0])
>>> print(xp.median(x))
3.5

The two in the middle share the gradient:

>>> print(xp.grad(xp.median)(x))
[0.  0.  0.5 0.5]
""",
    "meshgrid": """\
>>> x, y = xp.meshgrid(xp.asarray([1.0, 2.0, 3.0]), xp.asarray([10.0, 20.0]))
>>> print(x + y)
[[11. 12. 13.]
 [21. 22. 23.]]
>>> def total(x):
...     x, y = xp.meshgrid(x, xp.asarray([10.0, 20.0]))
...     return xp.sum(x * y)
>>> print(xp.grad(total)(xp.asarray([1.0, 2.0, 3.0])))
[30. 30. 30.]
""",
    "min": """\
>>> x = xp.asarray([[1.0, 5.0], [7.0, 7.0]])
>>> print(xp.min(x))
1.0
>>> print(xp.min(x, axis=1))
[1. 7.]
>>> print(xp.grad(lambda x: xp.sum(xp.min(x, axis=1)))(x))
[[1.  0. ]
 [0.5 0.5]]
""",
    "minimum": """\
>>> x1, x2 = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([3.0, 2.0, 1.0])
>>> print(xp.minimum(x1, x2))
[1. 2. 1.]

Ties share the gradient evenly:

>>> print(xp.grad(lambda x1: xp.sum(xp.minimum(x1, x2)))(x1))
[1.  0.5 0. ]
""",
    "moveaxis": """\
>>> x = xp.ones((2, 3, 4))
>>> xp.moveaxis(x, 0, -1).shape
(3, 4, 2)
>>> xp.grad(lambda x: xp.sum(xp.moveaxis(x, 0, -1) ** 2))(x).shape
(2, 3, 4)
""",
    "multiply": """\
>>> x1, x2 = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([4.0, 5.0, 6.0])
>>> print(xp.multiply(x1, x2))
[ 4. 10. 18.]
>>> with xp.GradientTape() as tape:
...     tape.watch([x1, x2])
...     y = x1 * x2
>>> by_x1, by_x2 = tape.gradient(y, [x1, x2])
>>> print(by_x1)
[4. 5. 6.]
>>> print(by_x2)
[1. 2. 3.]
""",
    "negative": """\
>>> x = xp.asarray([1.0, -2.0])
>>> print(xp.negative(x))
[-1.  2.]
>>> print(xp.grad(lambda x: xp.sum(xp.negative(x)))(x))
[-1. -1.]
""",
    "nextafter": """\
>>> x = xp.asarray([1.0])
>>> print(xp.nextafter(x, 2.0) - x)
[2.22044605e-16]
>>> print(xp.grad(lambda x: xp.sum(xp.nextafter(x, 2.0)))(x))
[1.]
""",
    "nonzero": """\
>>> x = xp.asarray([[1.0, 0.0], [0.0, 4.0]])
>>> rows, columns = xp.nonzero(x)
>>> print(rows, columns)
[0 1] [0 1]
>>> print(x[rows, columns])
[1. 4.]
""",
    "not_equal": """\
>>> print(xp.not_equal(xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 0.0, 3.0])))
[False  True False]
""",
    "ones": """\
>>> print(xp.ones((2, 3)))
[[1. 1. 1.]
 [1. 1. 1.]]
""",
    "ones_like": """\
>>> print(xp.ones_like(xp.asarray([[1.0, 2.0], [3.0, 4.0]])))
[[1. 1.]
 [1. 1.]]
""",
    "pad": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.pad(x, (2, 1)))
[0. 0. 1. 2. 3. 0.]
>>> print(xp.pad(x, 2, mode="reflect"))
[3. 2. 1. 2. 3. 2. 1.]

What is repeated gets the gradient of all its copies:

>>> print(xp.grad(lambda x: xp.sum(xp.pad(x, 2, mode="reflect")))(x))
[2. 3. 2.]
""",
    "permute_dims": """\
>>> x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
>>> print(xp.permute_dims(x, (1, 0)))
[[1. 4.]
 [2. 5.]
 [3. 6.]]
>>> weights = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
>>> print(xp.grad(lambda x: xp.sum(weights * xp.permute_dims(x, (1, 0))))(x))
[[1. 3. 5.]
 [2. 4. 6.]]
""",
    "positive": """\
>>> x = xp.asarray([1.0, -2.0])
>>> print(xp.positive(x))
[ 1. -2.]
>>> print(xp.grad(lambda x: xp.sum(xp.positive(x)))(x))
[1. 1.]
""",
    "pow": """\
>>> x = xp.asarray([0.0, 2.0, 3.0])
>>> print(xp.pow(x, 2.0))
[0. 4. 9.]
>>> print(xp.grad(lambda x: xp.sum(xp.pow(x, 2.0)))(x))
[0. 4. 6.]

By the exponent the slope is x ** a * log(x):

>>> print(xp.grad(lambda a: xp.sum(xp.pow(x, a)))(xp.asarray(2.0)))
12.660099320252769
""",
    "prod": """\
>>> x = xp.asarray([1.0, 2.0, 0.0])
>>> print(xp.prod(x))
0.0

Each slope is the product of the others, also where one is 0:

>>> print(xp.grad(xp.prod)(x))
[0. 0. 2.]
""",
    "real": """\
>>> z = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
>>> print(xp.real(z))
[1. 3.]
>>> print(xp.grad(lambda z: xp.sum(xp.real(z) ** 2))(z))
[2.+0.j 6.+0.j]
""",
    "reciprocal": """\
>>> x = xp.asarray([1.0, 2.0, -4.0])
>>> print(xp.reciprocal(x))
[ 1.    0.5  -0.25]
>>> print(xp.grad(lambda x: xp.sum(xp.reciprocal(x)))(x))
[-1.     -0.25   -0.0625]
""",
    "remainder": """\
>>> x1, x2 = xp.asarray([5.5, -5.5]), xp.asarray([2.0, 2.0])
>>> print(xp.remainder(x1, x2))
[1.5 0.5]
>>> with xp.GradientTape() as tape:
...     tape.watch([x1, x2])
...     y = x1 % x2
>>> by_x1, by_x2 = tape.gradient(y, [x1, x2])
>>> print(by_x1)
[1. 1.]
>>> print(by_x2)
[-2.  3.]
""",
    "repeat": """\
>>> x = xp.asarray([1.0, 2.0])
>>> print(xp.repeat(x, 3))
[1. 1. 1. 2. 2. 2.]
>>> print(xp.repeat(x, xp.asarray([1, 2])))
[1. 2. 2.]

A gradient goes back summed over the copies:

>>> print(xp.grad(lambda x: xp.sum(xp.repeat(x, xp.asarray([1, 2]))))(x))
[1. 2.]
""",
    "reshape": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
>>> print(xp.reshape(x, (2, 3)))
[[1. 2. 3.]
 [4. 5. 6.]]
>>> xp.reshape(x, (3, -1)).shape
(3, 2)
>>> print(xp.grad(lambda x: xp.sum(xp.reshape(x, (2, 3))[0]))(x))
[1. 1. 1. 0. 0. 0.]
""",
    "roll": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.roll(x, 1))
[4. 1. 2. 3.]

The gradient of the correlation of neighbours around a ring:

>>> print(xp.grad(lambda x: xp.sum(x * xp.roll(x, 1)))(x))
[6. 4. 6. 4.]
""",
    "round": """\
>>> print(xp.round(xp.asarray([0.5, 1.5, -1.2])))
[ 0.  2. -1.]
""",
    "scatter_add": """\
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> places = xp.asarray([0, 2, 2])
>>> print(xp.scatter_add(x, (4,), places))
[1. 0. 5. 0.]

Each element gets the gradient of its place:

>>> print(xp.grad(lambda x: xp.sum(xp.scatter_add(x, (4,), places) ** 2))(x))
[ 2. 10. 10.]
""",
    "searchsorted": """\
>>> x1 = xp.asarray([1.0, 2.0, 3.0])
>>> print(xp.searchsorted(x1, xp.asarray([0.5, 2.0, 9.0])))
[0 1 3]
>>> print(xp.searchsorted(x1, xp.asarray([0.5, 2.0, 9.0]), side="right"))
[0 2 3]
""",
    "sign": """\
>>> x = xp.asarray([-2.0, 0.0, 3.0])
>>> print(xp.sign(x))
[-1.  0.  1.]
>>> print(xp.grad(lambda x: xp.sum(xp.sign(x)))(x))
[0. 0. 0.]
""",
    "signbit": """\
>>> print(xp.signbit(xp.asarray([-1.0, -0.0, 0.0, 2.0])))
[ True  True False False]
""",
    "sin": """\
>>> x = xp.asarray([0.0, xp.pi / 6, xp.pi / 2])
>>> print(xp.sin(x))
[0.  0.5 1. ]

The slope is cos(x), and the second derivative -sin(x):

>>> print(xp.grad(xp.sin)(xp.asarray(0.0)))
1.0
>>> print(xp.grad(xp.grad(xp.sin))(xp.asarray(xp.pi / 2)))
-1.0
""",
    "sinh": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.sinh(x))
[-1.17520119  0.          1.17520119]
>>> print(xp.grad(lambda x: xp.sum(xp.sinh(x)))(x))
[1.54308063 1.         1.54308063]
""",
    "sort": """\
>>> x = xp.asarray([3.0, 1.0, 2.0])
>>> print(xp.sort(x))
[1. 2. 3.]
>>> print(xp.sort(x, descending=True))
[3. 2. 1.]

A gradient goes back to where each value came from:

>>> weights = xp.asarray([10.0, 20.0, 30.0])
>>> print(xp.grad(lambda x: xp.sum(weights * xp.sort(x)))(x))
[30. 10. 20.]
""",
    "sqrt": """\
>>> x = xp.asarray([0.0, 1.0, 4.0])
>>> print(xp.sqrt(x))
[0. 1. 2.]

The slope at 0 is infinite:

>>> print(xp.grad(lambda x: xp.sum(xp.sqrt(x)))(x))
[ inf 0.5  0.25]

What is not taken counts for nothing, however steep it is:

>>> print(xp.grad(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0)))(x))
[0.   0.5  0.25]
""",
    "square": """\
>>> x = xp.asarray([-1.0, 0.0, 3.0])
>>> print(xp.square(x))
[1. 0. 9.]
>>> print(xp.grad(lambda x: xp.sum(xp.square(x)))(x))
[-2.  0.  6.]
""",
    "squeeze": """\
>>> x = xp.asarray([[[1.0], [2.0]]])
>>> x.shape
(1, 2, 1)
>>> xp.squeeze(x, axis=0).shape
(2, 1)
>>> xp.squeeze(x, axis=(0, 2)).shape
(2,)
>>> xp.grad(lambda x: xp.sum(xp.squeeze(x, axis=0) ** 2))(x).shape
(1, 2, 1)
""",
    "stack": """\
>>> x1, x2 = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
>>> print(xp.stack([x1, x2]))
[[1. 2.]
 [3. 4.]]
>>> print(xp.stack([x1, x2], axis=1))
[[1. 3.]
 [2. 4.]]
>>> print(xp.grad(lambda x1: xp.sum(xp.stack([x1, x2]) ** 2))(x1))
[2. 4.]
""",
    "std": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.std(x))
1.118033988749895
>>> print(xp.std(x, correction=1))
1.2909944487358056
>>> print(xp.grad(xp.std)(x))
[-0.3354102 -0.1118034  0.1118034  0.3354102]

Of equal elements the slope is 0:

>>> print(xp.grad(xp.std)(xp.ones(3)))
[0. 0. 0.]
""",
    "subtract": """\
>>> x1, x2 = xp.asarray([3.0, 5.0]), xp.asarray([1.0, 7.0])
>>> print(xp.subtract(x1, x2))
[ 2. -2.]
>>> print(xp.grad(lambda x2: xp.sum(x1 - x2))(x2))
[-1. -1.]
""",
    "sum": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.sum(x))
10.0
>>> print(xp.sum(x, axis=0))
[4. 6.]
>>> print(xp.sum(x, axis=1, keepdims=True))
[[3.]
 [7.]]
>>> print(xp.grad(xp.sum)(x))
[[1. 1.]
 [1. 1.]]
""",
    "take": """\
>>> x = xp.asarray([10.0, 20.0, 30.0])
>>> indices = xp.asarray([2, 0, 2])
>>> print(xp.take(x, indices))
[30. 10. 30.]

What is taken twice gets the gradient twice:

>>> print(xp.grad(lambda x: xp.sum(xp.take(x, indices)))(x))
[1. 0. 2.]
""",
    "take_along_axis": """\
>>> x = xp.asarray([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
>>> best = xp.argmax(x, axis=1, keepdims=True)
>>> print(xp.take_along_axis(x, best, axis=1))
[[3.]
 [6.]]
>>> print(xp.grad(lambda x: xp.sum(xp.take_along_axis(x, best, axis=1)))(x))
[[1. 0. 0.]
 [0. 1. 0.]]
""",
    "tan": """\
>>> x = xp.asarray([0.0, xp.pi / 4, 1.0])
>>> print(xp.tan(x))
[0.         1.         1.55740772]
>>> print(xp.grad(lambda x: xp.sum(xp.tan(x)))(x))
[1.         2.         3.42551882]
""",
    "tanh": """\
>>> x = xp.asarray([-1.0, 0.0, 1.0])
>>> print(xp.tanh(x))
[-0.76159416  0.          0.76159416]
>>> print(xp.grad(lambda x: xp.sum(xp.tanh(x)))(x))
[0.41997434 1.         0.41997434]
""",
    "tensordot": """\
>>> x1 = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> x2 = xp.asarray([[1.0, 0.0], [0.0, 1.0]])
>>> print(xp.tensordot(x1, x2, axes=1))
[[1. 2.]
 [3. 4.]]
>>> print(xp.tensordot(x1, x2))
5.0
>>> print(xp.grad(lambda x1: xp.tensordot(x1, x2))(x1))
[[1. 0.]
 [0. 1.]]
""",
    "tile": """\
>>> x = xp.asarray([1.0, 2.0])
>>> print(xp.tile(x, (2, 2)))
[[1. 2. 1. 2.]
 [1. 2. 1. 2.]]
>>> print(xp.grad(lambda x: xp.sum(xp.tile(x, (2, 2))))(x))
[4. 4.]
""",
    "tril": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.tril(x))
[[1. 0.]
 [3. 4.]]
>>> print(xp.grad(lambda x: xp.sum(xp.tril(x)))(x))
[[1. 0.]
 [1. 1.]]
""",
    "triu": """\
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> print(xp.triu(x))
[[1. 2.]
 [0. 4.]]
>>> print(xp.triu(x, k=1))
[[0. 2.]
 [0. 0.]]
>>> print(xp.grad(lambda x: xp.sum(xp.triu(x)))(x))
[[1. 1.]
 [0. 1.]]
""",
    "trunc": """\
>>> print(xp.trunc(xp.asarray([-1.5, 0.2, 2.0])))
[-1.  0.  2.]
""",
    "unique_all": """\
>>> found = xp.unique_all(xp.asarray([3.0, 1.0, 3.0]))
>>> print(found.values)
[1. 3.]
>>> print(found.indices, found.inverse_indices, found.counts)
[1 0] [1 0 1] [1 2]
>>> print(xp.grad(lambda x: xp.sum(xp.unique_all(x).values))(xp.asarray([3.0, 1.0, 3.0])))
[1. 1. 0.]
""",
    "unique_counts": """\
>>> values, counts = xp.unique_counts(xp.asarray([3.0, 1.0, 3.0]))
>>> print(values, counts)
[1. 3.] [1 2]
>>> print(xp.grad(lambda x: xp.sum(xp.unique_counts(x).values))(xp.asarray([3.0, 1.0, 3.0])))
[1. 1. 0.]
""",
    "unique_inverse": """\
>>> x = xp.asarray([3.0, 1.0, 3.0])
>>> values, inverse = xp.unique_inverse(x)
>>> print(values, inverse)
[1. 3.] [1 0 1]
>>> print(xp.take(values, inverse))
[3. 1. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.unique_inverse(x).values))(x))
[1. 1. 0.]
""",
    "unique_values": """\
>>> x = xp.asarray([3.0, 1.0, 3.0])
>>> print(xp.unique_values(x))
[1. 3.]
>>> print(xp.grad(lambda x: xp.sum(xp.unique_values(x)))(x))
[1. 1. 0.]
""",
    "unstack": """\
>>> first, second = xp.unstack(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
>>> print(first)
[1. 2.]
>>> print(second)
[3. 4.]
>>> print(xp.grad(lambda x: xp.sum(xp.unstack(x)[1]))(xp.asarray([[1.0, 2.0], [3.0, 4.0]])))
[[0. 0.]
 [1. 1.]]
""",
    "var": """\
>>> x = xp.asarray([1.0, 2.0, 3.0, 4.0])
>>> print(xp.var(x))
1.25
>>> print(xp.var(x, correction=1))
1.6666666666666667
>>> print(xp.grad(xp.var)(x))
[-0.75 -0.25  0.25  0.75]
""",
    "vecdot": """\
>>> x1 = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> x2 = xp.asarray([10.0, 1.0])
>>> print(xp.vecdot(x1, x2))
[12. 34.]
>>> print(xp.grad(lambda x2: xp.sum(xp.vecdot(x1, x2)))(x2))
[4. 6.]
""",
    "where": """\
>>> x = xp.asarray([-1.0, 0.0, 4.0])
>>> print(xp.where(x > 0.0, xp.sqrt(xp.abs(x)), 0.0))
[0. 0. 2.]

What is not selected gets a gradient of exactly 0:

>>> x = xp.asarray([0.0, 1.0, 4.0])
>>> print(xp.grad(lambda x: xp.sum(xp.where(x > 0.0, xp.sqrt(x), 0.0)))(x))
[0.   0.5  0.25]

With a condition alone it gives the indices where that holds:

>>> print(xp.where(x > 0.0)[0])
[1 2]
""",
    "zeros": """\
>>> print(xp.zeros((2, 2)))
[[0. 0.]
 [0. 0.]]
""",
    "zeros_like": """\
>>> print(xp.zeros_like(xp.asarray([1.0, 2.0, 3.0])))
[0. 0. 0.]
""",
}
