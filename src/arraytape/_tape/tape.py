"""GradientTape: TensorFlow's tape over arrays of the array API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Self

from .._array.array import Array
from . import differentiation, jacobian
from .arguments import UnconnectedGradients
from .recording import Recording
from .summary import summary


class GradientTape:
    """Record ops on arrays for differentiation, as ``tf.GradientTape`` does.

        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        dy_dx = tape.gradient(y, x)

    persistent : keep the records, so that ``gradient`` can be called more than once.
    watch_accessed_variables : watch every trainable Variable that is read.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._recording = Recording(persistent, watch_accessed_variables)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {summary(vars(self).get('_recording'))}>"

    # --- recording --------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self._recording.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._recording.leave()

    def watch(self, x: Any) -> None:
        """Follow ``x`` from here on: an Array, or Arrays in lists, tuples, dicts and dataclasses.

        None leaves are skipped.  Integer and boolean arrays have no gradient: a TapeWarning.
        RuntimeError when the tape is not recording; TypeError for what is not an Array.
        """
        self._recording.watch(x)

    def watched_variables(self) -> tuple[Any, ...]:
        """The Variables that the tape watches, in the order in which they were made.

        A gradient leaves them listed; ``reset``, and entering a used tape again, forget them.
        """
        return self._recording.watched_variables()

    @contextmanager
    def in_this_thread(self) -> Iterator[Self]:
        """Record in this thread, too, while the tape's own block is open in another.

            with GradientTape() as tape, ThreadPoolExecutor() as pool:
                tape.watch(x)
                parts = list(pool.map(work, pieces))  # work: with tape.in_this_thread(): ...

        Any number of threads may do so at once.  A worker's block goes on recording when the tape's
        own block has been left; a one-shot ``gradient`` waits for nobody: RuntimeError while
        another thread is in such a block.  Raises RuntimeError when the tape is not recording,
        ValueError when it records in this thread already.
        """
        with self._recording.in_this_thread():
            yield self

    def stop_recording(self) -> AbstractContextManager[None]:
        """Within it this tape records nothing in this thread (or task); others go on.

        What is computed there is a constant to this tape.  Inside another ``stop_recording`` of the
        tape it changes nothing.  Raises ValueError when the tape is not recording.
        """
        return self._recording.stop_recording()

    def reset(self) -> None:
        """Drop everything that was recorded and watched, and go on recording if it was."""
        self._recording.reset()

    # --- derivatives ------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        *,
        nan: str = "guard",
    ) -> Any:
        """The gradient of the sum of ``target`` (any nesting) with respect to each of ``sources``.

        Returns the nesting of ``sources``; each gradient has its source's shape, dtype and device.
        A source that the target does not depend on gets None, or zeros with
        ``unconnected_gradients="zero"``.  ``output_gradients`` weighs the targets: same nesting,
        shapes and kinds of dtype.  ``gradient(y, x)`` means the value that x held when it was
        watched; for an intermediate result, the value that it holds now.

        ``nan="guard"`` runs the pass again, guarded, when a gradient holds a NaN, so that what a
        selection did not take contributes exactly zero; ``nan="keep"`` returns the NaN of the plain
        pass: no look at values, no second pass.

        Raises RuntimeError on a tape that was used up or never entered, LookupError when an op on
        the path has no rule, TypeError and ValueError for arguments that do not fit.
        """
        return differentiation.gradient(
            self._recording, target, sources, output_gradients, unconnected_gradients, nan
        )

    def jacobian(
        self,
        target: Array,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivative of every element of ``target`` (one Array) with respect to ``sources``.

        Returns the nesting of ``sources``; each Jacobian has the shape target.shape + source.shape
        and its source's dtype.  ``jacobian(y, x)[i]`` is ``gradient(y[i], x)``: for complex data the
        gradient of y[i]'s real part, which is conj(dy[i]/dx) where y is holomorphic.

        Everything else is as in ``gradient``: None (or zeros) for a source that the target does not
        depend on, what a one-shot tape allows, and the errors.
        """
        return jacobian.jacobian(self._recording, target, sources, unconnected_gradients)

    def batch_jacobian(
        self,
        target: Array,
        source: Array,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The Jacobian of ``target[i]`` with respect to ``source[i]``, for each i.

        For functions that treat the entries along the first axis one by one: other dependences are
        added up.  Shape (batch, *target.shape[1:], *source.shape[1:]); arguments and errors as in
        ``jacobian``.  Raises ValueError for fewer than two dimensions or unequal first ones.
        """
        return jacobian.batch_jacobian(self._recording, target, source, unconnected_gradients)
