"""The source that ops are compiled from."""

import doctest

import arraytape as xp
from arraytape._define import source
from arraytape._define.source import Source


def test_lines_stand_as_deep_as_their_blocks():
    s = Source()
    with s.block("def f(x):"):
        with s.block("if x:"):
            s.line("return 1")
        s.line("return 0")
    assert s.text() == "def f(x):\n    if x:\n        return 1\n    return 0\n"


def test_the_example_in_the_docstring_of_the_writer_holds():
    assert doctest.testmod(source) == (0, 3)


EXP = """\
def function(x, /):
    if MODES is not None:
        answer = ask_modes(OWN, (x,), {})
        if answer is not GO_ON: return answer
    if type(x) is Array:
        t_x = x._value_id
        if t_x < 0:
            t_x = x._sync()
        d_x = x._data
    else:
        x, t_x, d_x = coerce(NAME, "x", x)
    kind = type(d_x)
    try:
        result = (UFUNC if kind is ndarray else RAW[kind])(d_x)
    except Exception as error:
        result = call_again(NAME, error, UFUNC if kind is ndarray else RAW, kind, INPUTS, d_x)
    answer = Array()
    answer._state = 0
    if type(result) is not kind:
        result = asarray(result) if kind is ndarray else as_data(result, kind)
        answer._state = SCALAR
    answer._data = result
    answer._value_id = 0
    if t_x:
        thread, recorders = active()
        if thread == get_ident():
            out = 0
            wide = d_x.dtype is not result.dtype
            if not wide:
                for recorder in recorders:
                    followed = recorder.followed
                    if t_x in followed:
                        if not out: out = answer._value_id = new_value_id()
                        answer._state |= 1
                        recorder.record((PLAN1, out, t_x, result))
                    else:
                        continue
                    followed.add(out)
            else:
                for recorder in recorders:
                    followed = recorder.followed
                    if t_x in followed:
                        if not out: out = answer._value_id = new_value_id()
                        answer._state |= 1
                        recorder.record((WIDE1, out, t_x, result, SHAPE_AND_DTYPE))
                    else:
                        continue
                    followed.add(out)
                    if result.dtype.kind == "c":
                        recorder.notice(WIDES[1], ())
            if not out and AWAITED:
                note_cut(NAME, (answer,), (t_x,), (x,))
        else:
            if OPEN:
                notify_other_threads((t_x,))
            if AWAITED:
                note_cut(NAME, (answer,), (t_x,), (x,))
    elif UNSTARTED:
        note_cut(NAME, (answer,), (t_x,), (x,))
    return answer
"""


SHAPE_AND_DTYPE = "(() if x is CONSTANT else d_x.shape), (None if x is CONSTANT else d_x.dtype)"


def test_the_source_of_an_op_can_be_read():
    xp.exp(xp.ones((2,)))
    assert xp.exp.__source__ == EXP.replace("SHAPE_AND_DTYPE", SHAPE_AND_DTYPE)


def test_an_op_names_its_values_after_its_parameters():
    xp.sum(xp.ones((2,)))
    assert "RAW[kind](d_x, axis=axis, dtype=dtype, keepdims=keepdims)" in xp.sum.__source__
    xp.concat([xp.ones((2,))])
    assert "arrays, t_arrays, d_arrays = coerce_all(NAME, 'arrays', arrays)" in xp.concat.__source__
