"""Functions that are sent by value: their code has its file and its lines where it arrives."""

import linecache
import subprocess
import sys
import textwrap
from types import CodeType, FunctionType

import dask
import pytest

import arraytape as xp
from arraytape import distributed
from arraytape.distributed._message import Message
from arraytape.distributed._sent_code import KNOWN

SCRIPT = textwrap.dedent(
    """
    import arraytape as xp

    class Scale:
        def __call__(self, x):
            return [2.0 * part for part in x]

    def helper(y):
        return y * xp.asarray(float(y))

    def lossy(w, x):
        return helper(xp.sum(w * xp.asarray(x)))

    def harmless(w, x, made=Scale()):
        y = xp.sum(w * xp.asarray(made(x)))
        text = f"{float(y)}"
        weight = 1 / len(x)
        return y * xp.asarray(weight)

    def wrong(w, x):
        pick = lambda: w[7]
        return pick()
    """
)


@pytest.fixture
def script(tmp_path):
    """The functions of a script whose file is there only while they are sent."""
    file = str(tmp_path / "analysis.py")
    linecache.cache[file] = len(SCRIPT), None, SCRIPT.splitlines(keepends=True), file
    names = {"__name__": "__main__"}
    exec(compile(SCRIPT, file, "exec"), names)
    yield file, names
    linecache.cache.pop(file, None)
    KNOWN.pop(file, None)


def forget(file):
    """As in another process, on a machine without the file."""
    linecache.cache.pop(file, None)
    KNOWN.pop(file, None)


def codes_in(code):
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def test_a_file_and_its_lines_travel(script):
    file, names = script
    message = Message(names["harmless"], [xp.asarray(1.0)], [xp.asarray(1.0)])
    forget(file)
    assert not linecache.getlines(file)
    f, *_ = message.open([xp.asarray(1.0)])
    made = type(f.__defaults__[0]).__call__
    found = [code for one in (f, made) for code in codes_in(one.__code__)]
    assert {code.co_filename for code in found} == {file}
    assert f.__code__.co_firstlineno == names["harmless"].__code__.co_firstlineno
    assert linecache.getlines(file) == SCRIPT.splitlines(keepends=True)
    linecache.checkcache()
    assert linecache.getlines(file)


def test_another_release_of_the_file(script):
    """The lines are those of the code that was sent, not of what the worker has under that name."""
    file, names = script
    message = Message(names["lossy"], [xp.asarray(1.0)], [xp.asarray(1.0)])
    forget(file)
    with open(file, "w", encoding="utf-8") as older:
        older.write("# nothing yet\n" * 20)
    message.open([xp.asarray(1.0)])
    assert linecache.getlines(file) == SCRIPT.splitlines(keepends=True)


def test_a_function_without_source():
    names = {}
    exec("def f(w, x):\n    return w * x", names)
    message = Message(names["f"], [xp.asarray(1.0)], [xp.asarray(1.0)])
    assert message.sources == {}
    f, *_ = message.open([xp.asarray(1.0)])
    assert isinstance(f, FunctionType)
    assert f.__code__.co_filename == "<string>"


def test_what_installed_packages_have_is_not_sent():
    message = Message(lambda w, x: dask.delayed(w), [xp.asarray(1.0)], [xp.asarray(1.0)])
    assert list(message.sources) == [__file__]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_the_analysis_of_exits_reads_what_was_sent(script, scheduler):
    file, names = script
    data, w = distributed.partitions([[1.0], [2.0]]), xp.asarray([3.0])
    with dask.config.set(scheduler=scheduler):
        value, slope = distributed.value_and_grad(names["harmless"], data)(w)
        assert float(value) == 18.0
        assert slope.tolist() == [6.0]
        with pytest.raises(xp.LostGradientError, match=rf"{file}:9 \(float\(\)\)"):
            distributed.value_and_grad(names["lossy"], data)(w)


def test_an_error_names_the_line(script):
    file, names = script
    data, w = distributed.partitions([[1.0], [2.0]]), xp.asarray([3.0])
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(IndexError, match=rf"{file}:21\b") as caught,
    ):
        distributed.value_and_grad(names["wrong"], data)(w)
    assert f"{file}:21" in caught.value.__notes__[0]


@pytest.mark.slow
def test_a_script_and_its_processes(tmp_path):
    """The file of ``__main__``, in processes that have no such module."""
    main = """
    import dask
    from arraytape import distributed
    if __name__ == "__main__":
        data = distributed.partitions([[1.0], [2.0]])
        with dask.config.set(scheduler="processes", num_workers=1):
            print(distributed.value_and_grad(harmless, data)(xp.asarray([3.0]))[0])
            try:
                distributed.value_and_grad(lossy, data)(xp.asarray([3.0]))
            except xp.LostGradientError as error:
                print(error)
    """
    file = tmp_path / "script.py"
    file.write_text(SCRIPT + textwrap.dedent(main))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=100)
    value, error = done.stdout.splitlines()[:2]
    assert value == "18.0"
    assert f"{file}:9 (float())" in error
