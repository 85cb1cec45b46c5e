"""Values that are printed, warned of or logged, and come back from who listens."""

import contextlib
import io
import logging
import sys
import warnings
from typing import ClassVar

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning

STREAM = io.StringIO()


class Keep(logging.Handler):
    """A handler that keeps what is logged."""

    kept: ClassVar[list[float]] = []

    def emit(self, record):
        self.kept.append(record.args[0])


def logger(name, handler):
    above = logging.getLogger(name)
    above.handlers = [handler]
    above.setLevel(logging.DEBUG)
    above.propagate = False
    return logging.getLogger(f"{name}.below")


STREAMED = logger("arraytape.tests.streamed", logging.StreamHandler(STREAM))
HANDLED = logger("arraytape.tests.handled", Keep())


def by_a_stream_handler(x):
    STREAMED.info("%s", float(xp.sum(x)))
    return xp.sum(x * float(STREAM.getvalue().split()[-1]))


def by_a_handler_above(x):
    HANDLED.info("%s", float(xp.sum(x)))
    return xp.sum(x * Keep.kept[-1])


def by_a_logger_that_is_looked_up(x):
    logging.getLogger("arraytape.tests.handled").info("%s", float(xp.sum(x)))
    return xp.sum(x * Keep.kept[-1])


def by_a_redirected_print(x):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(float(xp.sum(x)))
    return xp.sum(x * float(text.getvalue()))


def by_a_print_to_standard_error(x):
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        print(float(xp.sum(x)), file=sys.stderr)
    return xp.sum(x * float(text.getvalue()))


def by_a_recorded_warning(x):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.warn(str(float(xp.sum(x))), stacklevel=1)
    return xp.sum(x * float(str(said[0].message)))


def looked_at_alone(x):
    total = float(xp.sum(x))
    STREAMED.info("%s", total)
    HANDLED.info("%s", total)
    print(total)
    return xp.sum(x * xp.asarray([2.0, 3.0]))


def gradient_of(f):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    "f",
    [
        by_a_stream_handler,
        by_a_handler_above,
        by_a_logger_that_is_looked_up,
        by_a_redirected_print,
        by_a_print_to_standard_error,
        by_a_recorded_warning,
    ],
)
def test_a_value_that_comes_back_from_who_listens_is_said(f):
    with pytest.warns(TapeWarning, match="a part of the gradient may be missing"):
        gradient_of(f)


def test_a_value_that_is_put_out_and_stays_there_is_not_said(capsys):
    np.testing.assert_array_equal(np.asarray(gradient_of(looked_at_alone)), [2.0, 3.0])
    assert "3.0" in capsys.readouterr().out
