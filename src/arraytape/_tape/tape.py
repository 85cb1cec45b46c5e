"""GradientTape: a tape with the semantics of TensorFlow's, for arrays of the array API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Self, TypeVar, overload

from .._array.array import Array
from .._record.stack import OfThisProcess
from .._util.blocks import Block
from .._util.errors import unknown_name
from .._util.html import facts_table
from . import differentiation, jacobian
from .arguments import UnconnectedGradients
from .description import description
from .memory import MemoryUse, memory_use
from .numerics import Checks
from .recording import Recording, Worker
from .table import Summary, summary_of

Key = TypeVar("Key")
Source = TypeVar("Source", bound=Array)


class GradientTape(OfThisProcess, Block):
    """Record ops on arrays for differentiation, as ``tf.GradientTape`` does.

    Parameters
    ----------
    persistent : bool, default: False
        Whether to keep the records, so that ``gradient`` can be called more than once.
    watch_accessed_variables : bool, default: True
        Whether to watch every trainable Variable that is read.
    exits : str | None, default: None
        The reaction to a gradient that may be incomplete: "warn", "raise" a LostGradientError, or
        "ignore".  A gradient is incomplete if a value was converted to data that the tape does not
        follow (``float(x)``, ``np.asarray(x)``...) and an op used that data as a constant.  None: the
        choice of ``set_exits``, which is "warn" at first.
    check_numerics : bool, default: False
        Whether to check the result of each recorded op, and of each rule in the gradient, and raise an
        error at the first NaN or infinity.  This is slow, and meant for debugging.  With nan="guard",
        elements that a selection did not take contribute 0, as in any gradient.
    profile : bool, default: False
        Whether to note line, function and time of each record, for ``summary`` and ``diagnose``.  Ops
        then take longer.
    memory_limit : int, optional
        The limit on the bytes that records keep.  An op that would exceed the limit raises MemoryError,
        and is not recorded.  Each buffer counts once; values that a user's function closes over do not
        count.

    Raises
    ------
    TypeError
        When persistent, watch_accessed_variables, check_numerics or profile is neither True nor False,
        or the limit is no integer.
    ValueError
        When the tape is entered while it records, exits is not one of the allowed words, or the limit is
        negative.
    FloatingPointError
        With check_numerics: when an op or a rule makes a NaN or an infinity from finite values.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.sum(x**2)
    >>> print(tape.gradient(y, x))
    [2. 4. 6.]

    Variables are watched when they are read. A persistent tape can compute several gradients:

    >>> v = xp.Variable([1.0, 2.0], name="v")
    >>> with xp.GradientTape(persistent=True) as tape:
    ...     y = v**2
    ...     with tape.stop_recording():
    ...         w = xp.exp(v)  # not recorded
    >>> print([variable.name for variable in tape.watched_variables()])
    ['v']
    >>> print(tape.gradient(y, v))
    [2. 4.]
    >>> print(tape.jacobian(y, v))
    [[2. 0.]
     [0. 4.]]

    One tape within another gives second derivatives:

    >>> with xp.GradientTape() as outer:
    ...     with xp.GradientTape() as inner:
    ...         loss = xp.sum(v**3)
    ...     gradient = inner.gradient(loss, v)
    >>> print(outer.gradient(gradient, v))
    [ 6. 12.]
    """

    def __init__(
        self,
        persistent: bool = False,
        watch_accessed_variables: bool = True,
        *,
        exits: str | None = None,
        check_numerics: bool = False,
        profile: bool = False,
        memory_limit: int | None = None,
    ) -> None:
        self._recording = Recording(
            persistent, watch_accessed_variables, exits, check_numerics, profile, memory_limit
        )
        if check_numerics:
            self._recording.numerics = checks = Checks()
            self._recording.observe(checks.observe)

    def __repr__(self) -> str:
        """Return the tape's state, its records and the bytes that they keep, and what it watches.

        Returns
        -------
        str
            One line, such as ``<GradientTape: stopped; 2 records keeping 800 bytes; watches 1 Array>``.
        """
        return f"<{type(self).__name__}: {description(vars(self).get('_recording'))}>"

    def _repr_html_(self) -> str:
        state, *facts = description(vars(self).get("_recording")).split("; ")
        return facts_table(type(self).__name__, {"state": state}, "\n".join(facts))

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an AttributeError for an unknown name, with advice on the name to use.

        Parameters
        ----------
        name : str
            The name.

        Raises
        ------
        AttributeError
            Always.
        """
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise unknown_name(message, name, self, "GradientTape")

    # --- recording --------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self._recording.enter_block(self._held)
        return self

    def _end(self) -> None:
        self._recording.leave_block()

    def _dropped(self, held: Callable[[], Any]) -> None:
        # ``Block`` calls this if the ``__exit__`` of the ``with`` statement was freed without a call.
        if self._recording.block is held:
            self._recording.leave_block()
        self._held = None

    def watch(self, x: Any) -> None:
        """Follow an Array from now on: record the ops on its value and on values computed from it.

        Parameters
        ----------
        x : Array or nesting
            An Array, or Arrays in lists, tuples, dicts and dataclasses; None leaves are skipped.

        Raises
        ------
        RuntimeError
            When the tape is not recording.
        TypeError
            When a leaf is no Array.

        Warns
        -----
        TapeWarning
            When an array has an integer or boolean dtype, and so no gradient.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray(3.0)
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> print(tape.gradient(y, x))
        6.0
        """
        self._recording.watch_nesting(x)

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the Variables that the tape watches, in the order in which they were made.

        After a gradient the Variables are still listed.  ``reset`` clears the list, as does entering the
        tape again after a gradient.

        Returns
        -------
        tuple of Variable
            The Variables.

        Examples
        --------
        >>> import arraytape as xp
        >>> v, w = xp.Variable(2.0, name="v"), xp.Variable(3.0, name="w")
        >>> with xp.GradientTape() as tape:
        ...     y = v * w
        >>> print([one.name for one in tape.watched_variables()])
        ['v', 'w']
        """
        return self._recording.watched_variables()

    def in_this_thread(self) -> AbstractContextManager[Self]:
        """Record in this thread, too, while the tape's own block is open in another.

            with GradientTape() as tape, ThreadPoolExecutor() as pool:
                tape.watch(x)
                parts = list(pool.map(work, pieces))  # work: with tape.in_this_thread(): ...

        Any number of threads may do so at once.  A worker's block goes on recording when the tape's
        own block has been left; ``gradient`` of a tape that is not persistent raises RuntimeError
        while another thread is in such a block.

        Returns
        -------
        context manager
            Its ``as`` target is the tape itself.

        Raises
        ------
        RuntimeError
            When the tape is not recording.
        ValueError
            When the tape records in this thread already.

        Examples
        --------
        >>> import arraytape as xp
        >>> from threading import Thread
        >>> x, parts = xp.asarray([1.0, 2.0]), {}
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     def work(i):
        ...         with tape.in_this_thread():
        ...             parts[i] = x[i] ** 2
        ...     threads = [Thread(target=work, args=(i,)) for i in range(2)]
        ...     for thread in threads:
        ...         thread.start()
        ...     for thread in threads:
        ...         thread.join()
        ...     y = parts[0] + parts[1]
        >>> print(tape.gradient(y, x))
        [2. 4.]
        """
        return Worker(self._recording, self)

    def stop_recording(self) -> AbstractContextManager[None]:
        """Return a block in which this tape records nothing in this thread (or task).

        Other tapes record the ops in the block, and this tape goes on recording in other threads and
        tasks.  Values that are computed in the block are constants to this tape.  Inside another
        ``stop_recording`` block of the same tape the block changes nothing.

        Returns
        -------
        context manager
            Its ``as`` target is None.

        Raises
        ------
        ValueError
            When the tape is not recording.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray(3.0)
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         scale = x * 2.0  # a constant to the tape
        ...     z = y * scale
        >>> print(tape.gradient(z, x))
        36.0
        """
        return self._recording.stop_recording()

    def reset(self) -> None:
        """Drop all records and watches; a tape that was recording goes on recording.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray([1.0, 2.0])
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = xp.exp(x)  # a first attempt, which is dropped
        ...     tape.reset()
        ...     tape.watch(x)
        ...     y = x * x
        >>> print(tape.gradient(y, x))
        [2. 4.]
        """
        self._recording.reset()

    def summary(self, by: str = "op") -> Summary:
        """Return a table of the tape's records: their number, the bytes kept, and times with a profile.

        Parameters
        ----------
        by : str, default: 'op'
            What a row is about: an "op", a "line" of the user's code, or a "module".  A row of "module"
            is named by the Modules that were running, or else by the file.  "line" and "module" need
            ``GradientTape(profile=True)``.

        Returns
        -------
        Summary
            Prints as a table, the largest row first.  ``rows`` is the list of rows, and ``total`` is a
            row with their sums.

        Raises
        ------
        RuntimeError
            When ``by`` is "line" or "module" and the tape has no profile.  Without a profile also when
            the tape was used up or never entered.
        ValueError
            When ``by`` is none of these words.

        Notes
        -----
        Each buffer counts once, in the first record that keeps it.  With a profile, the forward time of
        a record is the time since the record before, which includes the user's own code in between.  The
        backward time is the time of its rules in all passes so far.  Records that a gradient has freed
        are still listed in a profile.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.ones(1000)
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = xp.sum(xp.exp(x) * x)
        >>> print(tape.summary())
        op        records     kept
        exp             1   8.0 kB
        multiply        1   8.0 kB
        sum             1  0 bytes
        all             3  16.0 kB
        """
        return summary_of(self._recording, by)

    def memory(self) -> MemoryUse:
        """Return a table of the memory that the tape keeps, by op: records, bytes, and shared bytes.

        Returns
        -------
        MemoryUse
            Prints as a table, the largest row first.  ``rows`` is the list of rows, each with
            ``name``, ``records``, ``kept`` and ``shared``; ``total`` has their sums.  ``kept`` counts
            each buffer once, in the first record that keeps it, and a view as its whole buffer.
            ``shared`` is the part of ``kept`` that is not freed with the tape, since something else
            refers to it: Arrays of the program, or other tapes.

        Raises
        ------
        RuntimeError
            When the tape was used up or never entered.

        Notes
        -----
        A gradient, or ``reset``, frees ``kept`` minus ``shared``.  A record takes about 100 bytes in
        addition to those that it keeps.  Values that a user's function closes over do not count.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.ones(1000)
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = xp.exp(x)
        >>> print(tape.memory())
        op   records    kept  shared
        exp        1  8.0 kB  8.0 kB
        all        1  8.0 kB  8.0 kB
        """
        return memory_use(self._recording)

    # --- derivatives ------------------------------------------------------------------------------
    # A gradient may be None, but checks for None would burden most programs: so `Array | Any`.
    @overload
    def gradient(
        self, target: Any, sources: Array, output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = ..., *, nan: str = "guard",
    ) -> Array | Any: ...  # fmt: skip
    @overload
    def gradient(
        self, target: Any, sources: list[Source], output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = ..., *, nan: str = "guard",
    ) -> list[Array | Any]: ...  # fmt: skip
    @overload
    def gradient(
        self, target: Any, sources: dict[Key, Source], output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = ..., *, nan: str = "guard",
    ) -> dict[Key, Array | Any]: ...  # fmt: skip
    @overload
    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = ..., *, nan: str = "guard",
    ) -> Any: ...  # fmt: skip
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        *,
        nan: str = "guard",
    ) -> Any:
        """Return the gradient of the sum of ``target`` with respect to each of ``sources``.

        Parameters
        ----------
        target : Array or nesting
            The Arrays to differentiate, in any nesting: the gradient is that of the sum of all their
            elements.
        sources : Array or nesting
            The Arrays with respect to which to differentiate, in any nesting.  For an Array that was
            watched, the source is the value that it held then; for an intermediate result, the value
            that it holds now.
        output_gradients : Array or nesting, default: None
            Weights of the target's elements, with the nesting and the kinds of dtype of ``target``, and
            shapes that broadcast to its shapes.  None: ones.  Numbers, lists of numbers and NumPy arrays
            are converted.
        unconnected_gradients : UnconnectedGradients | str, default: UnconnectedGradients.NONE
            The answer for a source on which the target does not depend: None, or zeros ("zero").
        nan : str, default: 'guard'
            With "guard", a gradient that holds a NaN is computed again, so that elements that a
            selection such as ``where`` did not take contribute exactly zero.  "keep" returns the NaN,
            without a check and without a second pass.

        Returns
        -------
        Array or nesting
            The nesting of ``sources``; each gradient has its source's shape, dtype and device.

        Raises
        ------
        RuntimeError
            When the tape was used up or never entered, or other threads still record on it.
        LookupError
            When an op between source and target has no rule.
        LostGradientError
            With exits="raise", when a gradient is None or partial because a value was converted to data
            that the tape does not follow.
        TypeError
            When targets or sources are no Arrays.
        ValueError
            When output_gradients do not fit the target, or ``unconnected_gradients`` or ``nan`` is not
            one of the allowed words.

        Warns
        -----
        TapeWarning
            When a gradient is None or partial because a value was converted to data that the tape does
            not follow; the warning names the lines.  When a gradient is None because the tape does not
            follow the source, or because target and source are swapped.  When ``gradient`` of a
            persistent tape is called inside the tape's own block.

        Examples
        --------
        >>> import arraytape as xp
        >>> x, w = xp.asarray([1.0, 2.0]), xp.asarray(3.0)
        >>> with xp.GradientTape(persistent=True) as tape:
        ...     tape.watch([x, w])
        ...     y = w * x
        >>> print(tape.gradient(y, {"x": x, "w": w}))
        {'x': Array([3., 3.], dtype=float64, device='cpu'), 'w': Array(3., dtype=float64, device='cpu')}
        >>> print(tape.gradient(y, w, output_gradients=xp.asarray([1.0, -1.0])))
        -1.0
        """
        return differentiation.compute_gradient(
            self._recording, target, sources, output_gradients, unconnected_gradients, nan
        )

    def jacobian(
        self,
        target: Array,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of every element of ``target`` with respect to ``sources``.

        Parameters
        ----------
        target : Array
            The Array to differentiate.
        sources : Array or nesting
            The Arrays with respect to which to differentiate, in any nesting.  For an Array that was
            watched, the source is the value that it held then; for an intermediate result, the value
            that it holds now.
        unconnected_gradients : UnconnectedGradients | str, default: UnconnectedGradients.NONE
            The answer for a source on which the target does not depend: None, or zeros ("zero").
        parallel_iterations : int | None, default: None
            Without effect.  TensorFlow has this parameter.
        experimental_use_pfor : bool, default: True
            Without effect, as ``parallel_iterations``.

        Returns
        -------
        Array or nesting
            The nesting of ``sources``; each Jacobian has the shape target.shape + source.shape and
            its source's dtype.

        Raises
        ------
        RuntimeError
            When the tape was used up or never entered, or other threads still record on it.
        LookupError
            When an op between source and target has no rule.
        TypeError
            When targets or sources are no Arrays.

        Warns
        -----
        TapeWarning
            In the same cases as `gradient`.

        Notes
        -----
        ``jacobian(y, x)[i]`` is ``gradient(y[i], x)``: for complex data the gradient of y[i]'s real
        part, which is conj(dy[i]/dx) where y is holomorphic.  A backward pass computes as many rows at
        once as fit in about 64 MB.  If a user's rule or an op without a batched form is recorded, there
        is a pass for each row.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray([1.0, 2.0])
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = xp.stack([x[0] * x[1], x[0] ** 2])
        >>> print(tape.jacobian(y, x))
        [[2. 1.]
         [2. 0.]]
        """
        return jacobian.compute_jacobian(self._recording, target, sources, unconnected_gradients)

    def batch_jacobian(
        self,
        target: Array,
        source: Array,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the Jacobian of ``target[i]`` with respect to ``source[i]``, for each i.

        This is meant for functions that compute ``target[i]`` from ``source[i]`` alone.  Dependences
        between different entries are added up.

        Parameters
        ----------
        target : Array
            The Array to differentiate, with two dimensions at least.
        source : Array
            The Array with respect to which to differentiate, with two dimensions at least, the first
            as long as that of the target.
        unconnected_gradients : UnconnectedGradients | str, default: UnconnectedGradients.NONE
            The answer for a source on which the target does not depend: None, or zeros ("zero").
        parallel_iterations : int | None, default: None
            Without effect.  TensorFlow has this parameter.
        experimental_use_pfor : bool, default: True
            Without effect, as ``parallel_iterations``.

        Returns
        -------
        Array
            Of shape ``(batch, *target.shape[1:], *source.shape[1:])``.

        Raises
        ------
        RuntimeError
            When the tape was used up or never entered, or other threads still record on it.
        LookupError
            When an op between source and target has no rule.
        TypeError
            When targets or sources are no Arrays.
        ValueError
            When target or source has fewer than two dimensions, or their first dimensions differ.

        Warns
        -----
        TapeWarning
            In the same cases as `gradient`.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> with xp.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x**2
        >>> jacobian = tape.batch_jacobian(y, x)
        >>> jacobian.shape
        (3, 2, 2)
        >>> print(jacobian[0])
        [[2. 0.]
         [0. 4.]]
        """
        return jacobian.compute_batch_jacobian(
            self._recording, target, source, unconnected_gradients
        )
