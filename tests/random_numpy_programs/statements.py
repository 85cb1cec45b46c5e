"""The statements of programs in NumPy's terms: templates, whose holes ``holes`` fills.

A group has a weight, which its lines share.  What NumPy refuses, as filled, is left out or becomes a
statement that must raise; so a line says nothing of shapes and dtypes but what its holes say.
"""

# Expressions around an array ``{o}``.  Operands and targets of writes are often such an expression:
# whether NumPy makes a view or a copy decides what a write to it does.
PARTS = (
    "{o}.T", "{o}[::-1]", "{o}[..., ::2]", "{o}[..., None]", "{o}[{key}]", "{o}[{key}]",
    "{o}[...]", "{o}.swapaxes(0, -1)", "np.swapaxes({o}, 0, 1)", "np.transpose({o})",
    "np.moveaxis({o}, 0, -1)", "np.rollaxis({o}, 1)", "np.rot90({o})", "np.flip({o}, 0)",
    "np.flipud({o})", "np.fliplr({o})", "{o}.reshape(-1)", "{o}.reshape(1, -1)",
    "np.reshape({o}, (2, -1))", "{o}.reshape(2, -1, order='F')", "{o}.reshape({o}.shape[::-1])",
    "{o}.ravel()", "np.ravel({o})", "{o}.ravel('F')", "{o}.flatten()", "{o}.squeeze()",
    "np.squeeze({o})", "np.expand_dims({o}, 0)", "np.atleast_1d({o})", "np.atleast_2d({o})",
    "np.atleast_3d({o})", "{o}.view()", "{o}.diagonal()", "np.diagonal({o})",
    "np.diagonal({o}, 1)", "np.diagonal({o}, 0, -1, 0)", "np.linalg.diagonal({o})",
    "np.einsum('ij->ji', {o})", "np.einsum('ii->i', {o})", "np.einsum('ij->i', {o})",
    "np.einsum('i->i', {o})", "np.einsum('...i->i...', {o})", "np.einsum('ijk->kij', {o})",
    "np.einsum('iij->ij', {o})", "np.einsum('ij->j', {o})", "np.take({o}, 0, axis=0)",
    "np.take({o}, [0, 0], axis=-1)", "{o}.take(0)", "{o}.take([[0, 1]])", "{o}.flat[1:]",
    "{o}.flat[0]", "{o}.flat[::2]", "np.choose(0, [{o}])", "{o}.real", "{o}.imag", "{o}.conj()",
    "np.real({o})", "np.imag({o})", "np.conjugate({o})", "np.split({o}, 1)[0]",
    "np.array_split({o}, 2)[-1]", "np.hsplit({o}, 1)[0]", "np.broadcast_to({o}, (2, *{o}.shape))",
    "np.broadcast_arrays({o}, np.zeros(1))[0]",
    "np.lib.stride_tricks.sliding_window_view({o}, 2, axis=0)", "np.meshgrid({o}, copy=False)[0]",
    "np.asarray({o}, like={o})", "{o}.astype({o}.dtype, copy=False)", "{o}.copy()",
    "{o}.copy('F')", "np.copy({o})", "np.copy({o}, order='C')", "np.positive({o})",
    "np.matrix_transpose({o})",
)  # fmt: skip

# Values: ``{new} = ...``.
EXPRESSIONS = {
    "elementwise": (6, (
        "np.{real1}({x})", "np.{any1}({a})", "np.{any1}({n})", "np.sqrt({x} * {x} + 0.5)",
        "np.log({x} ** 2 + 0.5)", "np.reciprocal({a} * {a}.conj() + 0.7)",
        "np.arcsin(np.sin({x}) * 0.9)", "np.abs({a})", "abs({a})",
        "np.exp({a} + 0.0, dtype=cdouble)", "np.nan_to_num({x})", "np.sinc({x})", "np.angle({z})",
        "np.where({mask}, {a}, np.nan)[{mask}]", "np.unwrap({v})", "np.heaviside({x}, 0.5)",
        "np.clip({x}, -0.6, {num})", "np.copy(np.clip({x}, {b}, 0.6), order='C')",
        "{x}.clip(-0.5, 0.7)", "np.modf({x})[0]", "{a}.round(1)", "-{a}", "+{a}",
        "np.emath.sqrt({x} - 2.03)", "np.sign({x})", "np.floor({x})",
    )),
    "arithmetic": (8, (
        "{a} {op} {b}", "{a} {op} {b}", "{b} {op} {a}", "np.{any2}({a}, {b})",
        "np.{any2}({b}, {a})", "np.{real2}({x}, {b})", "np.{any2}({n}, {b})", "{n} {op} {b}",
        "{a} / ({b} * {b} + 0.7)", "{x} ** 2", "({x} * {x} + 0.6) ** {b}",
        "np.{any2}({x} + 0.0, {b}, dtype=single)", "np.hypot({x} + 2.0, {b})",
        "np.arctan2({x}, {b})", "{x} // 0.7", "{x} % 0.7", "np.remainder({x}, 0.6)",
        "np.fmod({x}, 0.7)", "np.logaddexp({x}, {b})", "np.copysign({x}, {b})",
        "np.divmod({x}, 0.8)[1]", "np.float_power({x} * {x} + 0.5, 1.5)",
    )),
    "comparisons": (1, (
        "{x} {cmp} {b}", "np.isclose({a}, {b})", "np.logical_and({x} > 0.1, {x} < 0.8)",
        "np.signbit({x})", "np.isfinite({a})", "np.argsort({x}, axis={axis}, kind='stable')",
        "{x}.argmax(axis={axis})", "np.argmin({x})", "np.searchsorted(np.sort({v}), {x})",
        "np.count_nonzero({x} > 0.2, axis={axis})", "np.digitize({x}, [-0.5, 0.1, 0.6])",
        "np.isin({i}, [0, 2])", "np.nonzero({x} > 0.1)[0]", "np.flatnonzero({x} > 0.1)",
        "{i} // 2", "~{i}", "{i} & 3", "{x} > {num}", "{i} * 2", "np.any({x} > 0.4, axis={axis})",
        "({x} > -0.4).all(axis={axis})", "{x}.astype(int)",
    )),
    "selection": (3, (
        "np.where({x} > {num}, {a}, {b})", "np.where({mask}, {b}, {a})",
        "np.where({mask}, {a}, 0)", "np.select([{mask}, {mask2}], [{a}, {b}], 0.5)",
        "np.choose({mask} * 1, [{a}, {b}])",
        "np.piecewise({x}, [{x} < 0.1], [lambda t: t * 2, np.tanh])",
        "np.compress([True, False], {a}, axis={ax})", "np.extract({mask}, {a})", "{a}[{mask}]",
        "{a}[{key}]", "{a}[{key}]", "{a}.compress([False, True], axis={ax})",
        "np.take({a}, {idx}, axis={ax})", "np.take({a}, {idx})", "{a}.take({idx}, axis={ax})",
        "np.take({a}, {idx}, mode='wrap')",
        "np.take_along_axis({x}, np.argsort({x}, axis={ax}, kind='stable'), axis={ax})",
        "np.choose({idx}, [{v}, {num}, {num2}], mode='clip')", "np.tril({a})", "np.triu({a}, 1)",
        "np.diag({v})", "np.diagflat({v})", "np.unique({x})",
    )),
    "reductions": (6, (
        "np.{red}({a}, axis={axis}, keepdims={bool})", "np.{red}({n}, axis={axis})", "{a}.{red}()",
        "{a}.{red}(axis={axis}, keepdims={bool})", "np.{red}({a}, axis=(0, -1))",
        "np.{order_red}({x}, axis={axis})", "{x}.{order_red}(axis={axis}, keepdims={bool})",
        "np.{spread}({x}, axis={axis}, ddof={ddof})", "{x}.{spread}(axis={axis})",
        "np.{red}({a}, axis={axis}, where={mask})", "np.{red}({x}, dtype=double)",
        "np.{order_red}({x}, axis={axis}, where={mask}, initial=0.3)",
        "np.{red}({a}, initial=0.5)", "np.{ranked}({x}, axis={ax}, keepdims={bool})",
        "np.quantile({x}, 0.3, axis={axis})", "np.percentile({x}, [20, 70], axis={axis})",
        "np.{nanred}({x}, axis={axis})",
        "np.{nanred}(np.where({x} > {num}, np.nan, {x}), axis={ax})",
        "np.nanmedian({x}, axis={axis})", "np.average({x}, axis={axis})",
        "np.average({x}, weights=({b} * {x}) ** 2 + 0.5)", "np.trace({m})", "{m}.trace(1)",
        "np.ptp({x}, axis={axis})", "np.{red}.reduce({a}, axis={axis})",
        "np.add.reduce({a}, axis={axis})", "np.multiply.reduce({a})",
        "np.maximum.reduce({x}, axis={axis})", "np.{spread}({x}, axis={axis}, where={mask})",
    )),
    "scans": (3, (
        "np.cumsum({a}, axis={axis})", "{a}.cumsum({axis})", "np.cumprod({a}, axis={axis})",
        "np.diff({a}, axis={ax})", "np.diff({a}, n=2, axis={ax})", "np.diff({v}, prepend=0.3)",
        "np.ediff1d({a})", "np.gradient({a}, axis={ax})",
        "np.gradient({x}, 0.5, axis={ax}, edge_order=2)", "np.trapezoid({a}, axis={ax})",
        "np.add.accumulate({a}, axis={ax})", "np.multiply.accumulate({a}, {ax})",
        "np.maximum.accumulate({x}, axis={ax})", "np.nancumsum({x}, axis={axis})",
        "np.cumulative_sum({v}, include_initial=True)",
    )),
    "sorting": (2, (
        "np.sort({x}, axis={axis})", "np.sort({x})[{key1}]",
        "np.take(np.partition({x}, 1, axis={ax}), 1, axis={ax})", "np.sort({x}.T, axis=0)",
        "np.partition({v}, 0)[..., :1]", "np.median({x}, axis={axis})",
    )),
    "pieces": (6, (
        "np.append({a}, {b})", "np.append({a}, {s}, axis={ax})",
        "np.insert({a}, 1, {num}, axis={ax})", "np.insert({a}, 0, {b})",
        "np.insert({v}, [0, 1], {num})", "np.delete({a}, 0, axis={ax})",
        "np.delete({a}, [0, -1], axis={axis})", "np.delete({a}, slice(None, None, 2), axis={ax})",
        "np.pad({a}, 1)", "np.pad({a}, ({pads}), mode='{padmode}')",
        "np.pad({a}, 1, constant_values={num})", "np.tile({a}, 2)", "np.tile({a}, (2, 1))",
        "np.repeat({a}, 2, axis={ax})", "{a}.repeat(2)", "np.roll({a}, 1, axis={axis})",
        "np.roll({a}, -1)", "np.concatenate([{a}, {s}], axis={axis})",
        "np.stack([{a}, {s}], axis={ax})", "np.stack(({a}, {s}, {a}))", "np.hstack([{a}, {s}])",
        "np.vstack([{a}, {s}])", "np.column_stack([{v}, {v}])", "np.dstack([{a}, {s}])",
        "np.block([[{m}, {m}]])", "np.rot90({a}, 2)", "np.array_split({a}, 2, axis={ax})[0]",
        "np.split({a}, [1], axis={ax})[1]", "np.flip({a}, axis={axis})",
        "np.broadcast_arrays({a}, {a2})[0]", "np.vander({v}, 3)",
    )),
    "products": (6, (
        "{a} @ {a2}", "np.dot({m}, {m2})", "np.dot({m}, {v})", "{m}.dot({m}.T)",
        "np.outer({v}.ravel()[:4], {v2}.ravel()[:4])",
        "np.kron({v}.ravel()[:3], {v2}.ravel()[:3])", "np.kron({m}[:2, :2], {m2}[:2, :2])",
        "np.inner({m}, {m2})", "np.vdot({a}, {s})", "np.matmul({m}.T, {m})",
        "np.tensordot({m}, {m}, axes=(0, 0))", "np.tensordot({m}, {m2}, axes=1)",
        "np.einsum('ij,ij->i', {m}, {m2})", "np.einsum('ij,kj->ik', {m}, {m2})",
        "np.einsum('i,j->ij', {v}, {v2})", "np.einsum('ij->', {m})", "np.einsum('ii', {m})",
        "np.einsum('ij,j', {m}, {v})", "np.einsum('...i,...i', {a}, {s})",
        "np.einsum({m}, [0, 1], [1])", "np.einsum('ij,jk,kl->il', {m}, {m}.T, {m})",
        "np.subtract.outer({v}.ravel()[:4], {v2}.ravel()[:3])",
        "np.multiply.outer({v}.ravel()[:4], {v2}.ravel()[:3])",
        "np.convolve({v}, {v2}, mode='{mode}')", "np.correlate({v}, {v2}, mode='{mode}')",
        "np.cross({a}[..., :3], {s}[..., :3])", "np.vecdot({a}, {s})", "np.matvec({m}, {v})",
        "np.linalg.multi_dot([{m}, {m}.T, {m}])", "np.polyval(np.append({v}, 1.0), {x})",
        "np.interp({x}, [-1.0, 0.1, 0.9], {v}[:3])", "np.interp({x}, np.sort({v}), {v})",
        "np.cov({m})",
        # Of constant rows it is made of rounding errors.
        "np.corrcoef({m} + np.sin(1.7 * np.arange({m}.size)).reshape({m}.shape))",
        "np.apply_along_axis(lambda r: r * r[0], {ax}, {a})",
    )),
    "linalg": (2.5, (
        "np.linalg.inv({q})", "np.linalg.det({q})", "np.linalg.solve({q}, {qv})",
        "np.linalg.slogdet({q})[1]", "np.linalg.norm({a})", "np.linalg.norm({a}, axis={ax})",
        "np.linalg.norm({m}, 'fro')", "np.linalg.cholesky({q})", "np.linalg.eigvalsh({q})",
        "np.linalg.matrix_power({q} * 0.2, 2)", "np.linalg.pinv({q})",
        "np.linalg.svd({q}, compute_uv=False)", "np.linalg.norm({m}, 1)", "np.linalg.norm({v}, 3)",
        "np.linalg.trace({m})", "np.linalg.outer({v}, {v2})", "np.linalg.qr({q})[1]",
        "np.linalg.cond({q})", "np.linalg.lstsq({q}, {qv}, rcond=None)[0]",
    )),
    "fft": (1, (  # padded copies: NumPy's lie by the steps of axes of length 1, which are not compared
        "np.fft.fft({a}, axis={ax})", "np.fft.rfft({x}, axis={ax})", "np.fft.ifft({a})",
        "np.fft.irfft(np.copy({a}, order='C'), 4)", "np.fft.fft(np.copy({a}, order='C'), 4)",
        "np.fft.fft2({m})", "np.fft.fftshift({v})",
        "np.fft.fftn({a}).real", "np.fft.hfft({a})", "np.fft.rfft2({m}).imag",
    )),
    "made": (2, (
        "np.zeros_like({a})", "np.ones_like({a}) * {num}", "np.full_like({a}, {num})",
        "np.zeros_like({a}, dtype=single)", "np.empty_like({a}, shape=(0, 2))",
        "np.zeros((2, 3), like={a})", "{a}.astype(single)", "{a}.astype(double)",
        "{a}.astype(cdouble)", "np.copy({a})", "{a}.copy(order='{order}')",
        "{a}.astype({a}.dtype, order='{order}')", "np.asarray({a}, like={a})",
        "np.array({a}, like={a})", "np.ones_like({a}.T)", "np.linspace({x}[..., 0], 1.0, 3)",
    )),
    "views": (6, (
        "{part}", "{part}", "{a}",
    )),
}  # fmt: skip

# Statements.
STATEMENTS = {
    # --- several results, containers ---
    "several results": (2, (
        "{new}, {new2} = np.split({a}, 2, axis={ax})", "{new}, {new2} = {part}, {a}",
        "{new}, *{box} = {a}, {part}, {s}", "{new}, {new2} = np.modf({x})",
        "{new}, {new2} = np.meshgrid({v}, {v2}, indexing='{ij}')",
        "{new}, {new2} = np.broadcast_arrays({a}, {a2})", "{new}, {new2} = np.linalg.slogdet({q})",
        "{new}, {new2} = np.gradient({m})", "{new}, {new2} = np.unstack({a}, axis={ax})",
        "{new}, {new2} = {a}", "{new}, {new2} = np.divmod({x}, 0.7)",
    )),
    "containers": (2.5, (
        "{box} = {{'u': {a}, 'v': [{part}, {a2}]}}", "{box} = [{a}, {part}]",
        "{box} = [{a}, [{a2}, {{'w': {part}}}]]", "{list}.append({a})", "{list}[0] = {a}",
        "{dict}['u'] = {part}", "{list}.reverse()", "{new} = {list}[-1]",
        "{new} = {dict}['u'] * {num}", "{new} = sum({nest})", "{new} = np.stack({nest})",
        "{new} = np.concatenate({nest}, axis={axis0})",
        "{box} = {{name: np.sum(x) for name, x in {dict}.items() if name == 'u'}}",
        "{box} = [np.sin(r) for r in {a}]", "{new} = np.stack([r * r[::-1] for r in {a}])",
        "for {row} in {list}:\n    {row} += {num}", "{box} = list({a})", "{list}[0] *= {num}",
        "{dict}['v'][0] += {num}", "{box} = dict({dict}, u={a})", "{box} = tuple({list})",
        "{new} = max({row_of}, key=lambda t: np.sum(t))",
    )),
    # --- writes ---
    "items": (9, (
        "{t}[{key}] = {region}", "{t}[{key}] = {region}", "{t}[{key}] {iop}= {region}",
        "{t}[{key}] {iop}= {region}", "{t}[...] = {b}", "{t}[{mask}] = {num}",
        "{t}[{mask}] {iop}= {num}", "{t}[{key}] = np.tanh({t}[{key}])", "{t}[{key}] **= 2",
        "{t}[:] = {s}[::-1]", "{t}[1:] {iop}= {t}[:-1]", "{t}[:-1] = {t}[1:] * 1.0",
        "{t}.real[{key}] = {num}", "{t}.real = {num}", "{t}.imag = {num}", "{t}.flat[0] = {num}",
        "{t}.flat[1:] = {num}", "{t}.flat = {b} * 1.0", "{t}.T[...] = {t} * 0.5", "({t} * 1.0)[0] = 3.0",
    )),
    "in place": (5, (
        "{tn} {iop}= {b}", "{tn} {iop}= {b}", "{tn} {iop}= {tn}", "{tn} {iop}= {tn}.T",
        "{tn} /= {b} * {b} + 0.7", "{tn} **= 2", "{tn} @= np.eye({tn}.shape[-1]) * 0.5",
        "{tn} {iop}= {tn}[::-1]",
    )),
    "out": (6, (
        "np.{any1}({a}, out={out})", "np.{any2}({a}, {b}, out={out})",
        "np.{real2}({x}, {b}, out={out})", "np.{any1}({t}, {t})", "np.{any2}({t}, {b}, {t})",
        "np.{any2}({t}[1:], {t}[:-1], out={t}[1:])", "np.{any1}({t}, out={t}[::-1])",
        "np.{any2}({t}, {t}.T, out={t})", "np.{any2}({a}, {b}, out={out}, where={mask})",
        "np.{any1}({a}, out={out}, where={mask})", "np.{red}({a}, axis={axis}, out={out})",
        "{a}.{red}(axis={axis}, out={out})", "np.{order_red}({x}, axis={axis}, out={out})",
        "np.cumsum({x}, axis={ax}, out={out})", "np.matmul({m}, {m2}, out={out})",
        "np.take({a}, {idx}, axis={ax}, out={out})", "np.clip({x}, -0.4, 0.6, out={out})",
        "np.einsum('ij->ji', {m}, out={out})", "np.concatenate([{a}, {s}], axis=0, out={out})",
        "np.stack([{a}, {s}], out={out})", "np.{spread}({x}, axis={ax}, out={out})",
        "np.add({a}, {b}, out={out}, casting='unsafe')",
        "np.choose({mask} * 1, [{a}, {b}], out={out})", "np.{any2}({a}, {b}, out=({out},))",
        "{new} = np.{any2}({a}, {b}, out={out})", "np.add.reduce({a}, axis={ax}, out={out})",
        "np.add.accumulate({x}, axis={ax}, out={out})", "np.median({x}, axis={ax}, out={out})",
        "np.mean({a}, out={out})", "np.compress([True, False], {a}, axis={ax}, out={out})",
        "{x}.clip(-0.4, 0.6, out={out})", "np.outer({v}, {v2}, out={out})",
        "np.trace({a}, out={out})", "np.multiply.outer({v}, {v2}, out={out})",
        "np.add({b}, {a}, {out})",
    )),
    "functions": (4, (
        "np.copyto({t}, {b})", "np.copyto({t}, {num}, where={mask})",
        "np.copyto({t}, {s} * 1.0, where={mask})", "np.put({t}, {idx}, {num})",
        "{t}.put({idx}, {v})", "np.putmask({t}, {mask}, {b})", "np.fill_diagonal({t}, {num})",
        "{t}.fill({num})", "{t}.sort()", "{t}.sort(axis=0)",
        "np.put_along_axis({t}, np.argmax({t}, axis=0)[None], {num}, axis=0)",
        "np.add.at({tp}, {idx}, {num})", "np.add.at({tp}, ({idx}, ...), {tp}[0] * 1.0)",
        "np.subtract.at({tp}, [0, -1, 0], {tp}[[0, -1, 0]] * 0.5)", "{t}.partition(0)\n{t}.sort()",
        "np.fill_diagonal({t}, {v} * 1.0)",
    )),
    "loops": (3, (
        "for {k} in range(1, len({tp})):\n    {tp}[{k}] {iop}= {tp}[{k} - 1] * 0.5",
        "for {row} in {t}:\n    {row} *= 0.7",
        "for {k}, {row} in enumerate({t}.T):\n    {row}[...] = {row} * 0.5 + {k} * 0.1",
        "while np.max(np.abs({tp})) > 0.8:\n    {tp} *= 0.7\n    {tp}[0] -= {tp}[-1] * 0.1",
        "for {row} in {t}[::-1]:\n    {row}[::2] -= {row}[::-2]",
        "for {k} in np.ndindex({tp}.shape):\n    {tp}[{k}] *= 0.9",
        "{k} = 0\nwhile {k} < len({tp}):\n    {tp}[{k}] = np.sin({tp}[{k}])\n    {k} += 2",
        "for {row} in np.split({t}, 2):\n    {row} += {num}",
        "for {k} in range(2):\n    {tp} = np.cos({tp} * {num})\n    {tp}[:1] = {num2}",
    )),
    # --- functions: closures see what is written later, and later values of a name ---
    "closures": (3, (
        "{fun} = lambda t: t * {a} + {num}", "{fun} = lambda t: np.sin(t)[..., ::-1] - {a}",
        "{fun} = lambda t: np.add(t, {t}, out={t})",
        "{fun} = lambda t: t if np.sum(t) > {num} else np.tanh(t) * {a}",
        "def {fun}(t):\n"
        "    {t}[...] = {t} * 0.5 + t\n"
        "    return {t}",
        "def {fun}(t, scale={num}):\n"
        "    def inner(s):\n"
        "        return s * scale + {a}\n"
        "    if np.max(t) > {num2}:\n"
        "        return inner(t)\n"
        "    return inner(t * t)",
        "def {fun}(t):\n"
        "    def rows():\n"
        "        for r in t:\n"
        "            yield r * 2 + {num}\n"
        "    return np.stack(list(rows()))",
        "def {fun}(t, *rest, **more):\n"
        "    t = np.cos(t) + {a}\n"
        "    t[:1] = {num}\n"
        "    return t",
        "def {fun}(t):\n"
        "    u, t = t[::-1], t * 0.5\n"
        "    def add():\n"
        "        nonlocal t\n"
        "        t = t + u\n"
        "    add()\n"
        "    add()\n"
        "    return t",
    )),
    "calls": (3, (
        "{new} = {call}({a})", "{new} = {call}({call}({a}))", "{new} = {call}({part})",
        "{a}[{key}] = {call}({a}[{key}])", "{box} = list(map({call}, [{a}, {s}]))",
    )),
}  # fmt: skip

# Words for holes of these names.
WORDS = {
    "any1": "sin cos tanh negative square positive exp sinh arcsinh conjugate expm1 cosh",
    "real1": "arctan absolute exp2 fabs floor rint deg2rad log1p fabs degrees trunc",
    "any2": "add subtract multiply add subtract multiply add true_divide",
    "real2": "maximum minimum fmax fmin arctan2 hypot logaddexp copysign heaviside",
    "op": "+ - * + - * /",
    "iop": "+ - * + - *",
    "cmp": "< <= > >= == !=",
    "red": "sum mean prod sum",
    "order_red": "max min amax amin max min",
    "spread": "var std",
    "ranked": "median ptp",
    "nanred": "nansum nanmean nanprod nanmax nanmin nanvar nanstd nansum",
    "order": "C F A K",
    "mode": "full same valid",
    "padmode": "constant edge reflect symmetric wrap linear_ramp mean maximum",
    "pads": "1,2 0,1 2,0",
    "bool": "True False",
    "ddof": "0 1",
    "ij": "ij xy",
}

# Functions that are several ops of ours, or other loops: NumPy's values but for rounding.
ROUNDED = (
    "einsum", "multi_dot", "lstsq", "tensordot", "inner", "norm", "correlate", "convolve",
    "gradient", "quantile", "percentile", "float_power", "at", "cov", "corrcoef", "interp",
    "median", "nanmedian", "linalg", "fft", "vecdot", "matvec", "kron", "dot", "vander",
    "cdouble", "emath",
)  # fmt: skip
