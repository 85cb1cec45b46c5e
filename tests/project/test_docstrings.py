"""Docstrings of all that is public: complete by numpydoc's rules, and true where that can be tested.

What an op takes and gives is said in tables (``_define.docstrings``); the tests ask the ops.
"""

import inspect
import pydoc
import re
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import arraytape as xp
from arraytape import _numpy_hook, checkpoint, diagnose, interop, nn, optimizers, testing
from arraytape._define import docstrings
from arraytape._define.docstrings import TAKES, op_docstring, source_line
from arraytape._record.op import REGISTRY, Op
from arraytape._storage.info import Info
from helpers.namespace_ops import namespace_ops, recorded_ops
from helpers.standard import FUNCTIONS as IN_THE_STANDARD
from status import coverage
from status.gradients import NONE

# What numpydoc also asks for: other functions to see, examples, a longer text in each docstring;
# quotes on a line of their own; a verb first, which "Sum over axes" is not by its last letter.
NOT_ASKED = {"SA01", "EX01", "ES01", "SS05", "GL02"}
PACKAGE = "arraytape."
_numpy_hook.load()  # Array's members themselves, not their stand-ins


def functions_of(module, prefix=""):
    names = getattr(module, "__all__", None) if prefix else dir(module)
    return [
        f"{prefix}{name}"
        for name in names
        if not name.startswith("_")
        and callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
    ]


FUNCTIONS = [
    *functions_of(xp),
    *functions_of(xp.linalg, "linalg."),
    *functions_of(xp.fft, "fft."),
    "__array_namespace_info__",
]
OPS = {op.public: op for op in namespace_ops()}
CLASSES = {"Array": (xp.Array,), "Variable": (xp.Variable,)} | {
    cls.__name__: [base for base in cls.__mro__ if base is not object]
    for cls in (xp.GradientTape, xp.ForwardAccumulator)
}


def is_public(name, member):
    dunder = name.startswith("__") and name.endswith("__") and callable(member)
    return (not name.startswith("_") or dunder) and not inspect.ismemberdescriptor(member)


NOT_METHODS = {"__class__", "__init__", "__enter__", "__exit__", "__reduce__", "__hash__"}
MEMBERS = sorted(
    f"{name}.{member}"
    for name, homes in CLASSES.items()
    for home in homes
    for member, value in vars(home).items()
    if is_public(member, value)
    and member not in NOT_METHODS
    # Of a Variable what it has beyond Array.
    and not (home is xp.Variable and member in vars(xp.Array) and not member.startswith("__i"))
)


# Packages beside the namespace list what is public.
BESIDE = {
    "checkpoint": checkpoint, "diagnose": diagnose, "interop": interop, "nn": nn,
    "optimizers": optimizers, "testing": testing,
}  # fmt: skip


def beside():
    """The functions and classes of these packages, and what the classes themselves define."""
    yield from (f"_storage.info.Info.{name}" for name in vars(Info) if not name.startswith("_"))
    for home, module in BESIDE.items():
        for name in module.__all__:
            value = getattr(module, name)
            members = vars(value) if isinstance(value, type) else {}
            yield f"{home}.{name}"
            yield from (
                f"{home}.{name}.{member}"
                for member, what in members.items()
                if not member.startswith("_")
                and isinstance(what, FunctionType | property)
                # A method without a docstring shows its base's, which is checked there.
                and (what.__doc__ or inspect.getdoc(what) is None)
            )


def found(name):
    value = xp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def parsed(name):
    return NumpyDocString(inspect.getdoc(found(name)))


def complaints(name):
    errors = validate(PACKAGE + name)["errors"]
    # numpydoc takes a first parameter of this name for that of a class method.
    mistaken = ("PR02", "Unknown parameters {'cls'}")
    return [error for error in errors if error[0] not in NOT_ASKED and error != mistaken]


# --- complete -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpydoc_accepts_the_docstring(name):
    assert complaints(name) == []


@pytest.mark.parametrize("name", list(beside()))
def test_numpydoc_accepts_the_docstrings_of_the_packages_beside(name):
    assert complaints(name) == []


@pytest.mark.parametrize("name", [*CLASSES, *MEMBERS])
def test_numpydoc_accepts_the_docstrings_of_classes(name):
    member = inspect.getattr_static(found(name.partition(".")[0]), name.rpartition(".")[2], None)
    # The first parameter of a function that is attached is the Array, whatever its name.
    first = next(iter(inspect.signature(member).parameters)) if callable(member) else ""
    left = [e for e in complaints(name) if e[1] != f"Parameters {{{first!r}}} not documented"]
    assert left == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sections_are_there(name):
    function, page = found(name), parsed(name)
    signature = inspect.signature(function)
    assert [p.name for p in page["Parameters"]] == [
        f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name
        for p in signature.parameters.values()
    ]
    assert "x" in signature.parameters or "where x lies" not in function.__doc__
    assert bool(page["Returns"]) == (signature.return_annotation != "None")
    if page["Parameters"]:
        assert page["Raises"]
    if function in OPS:
        notes = "\n".join(page["Notes"])
        assert notes.count("Derivative:") == 1
        assert notes.startswith("Derivative:")
        assert ("A tape keeps" in notes) == OPS[function].recorded


@pytest.mark.parametrize("name", IN_THE_STANDARD)
def test_the_standards_page_is_named(name):
    # What linalg has of the main namespace is described there.
    main = name.removeprefix("linalg.")
    home = main if main in xp.__all__ else name
    assert f"generated/array_api.{home}.html" in found(name).__doc__


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *MEMBERS])
def test_lines_fit_on_a_screen(name):
    lines = (inspect.getdoc(found(name)) or "").splitlines()
    assert [line for line in lines if len(line) > 101 and "https://" not in line] == []


def test_statements_use_the_words_of_the_tables():
    for name in REGISTRY:
        op = REGISTRY[name]
        assert op.takes == "" or op.takes in docstrings.TAKES, name
        assert op.gives == ("", "") or (
            op.gives[0] in docstrings.SHAPES and op.gives[1] in docstrings.DTYPES
        ), name


def test_an_op_says_whose_function_it_is():
    ours = [REGISTRY[name] for name in REGISTRY if not REGISTRY[name].checked]
    said = {op.name: op.origin for op in ours if not op.name.startswith(("special.", "scipy."))}
    functions = {name for name in FUNCTIONS if found(name) in OPS}
    expected = {name: "extra" if name in functions else "inner" for name in said}
    assert said == expected | dict.fromkeys(said.keys() & IN_THE_STANDARD, "standard")


def test_the_tables_describe_parameters_that_there_are():
    parameters = {p for op in namespace_ops() for p in inspect.signature(op.public).parameters}
    assert docstrings.PARAMETERS.keys() <= parameters
    assert docstrings.TYPES.keys() <= parameters


def test_an_op_of_one_line_has_a_summary():
    of_one_line = {name for name in FUNCTIONS if not hasattr(found(name), "__wrapped__")}
    ours = {name for name in of_one_line if found(name) in OPS and name in IN_THE_STANDARD}
    composites = {name for name in ours if REGISTRY[name].kind == "composite"}
    assert [name for name in sorted(ours - composites) if not REGISTRY[name].doc] == []


# --- true -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def statuses():
    return {row.name: row.status for row in coverage.rows()}


def test_none_is_said_to_have_no_derivative_exactly_where_the_gradient_is_none(statuses):
    said = {
        name
        for name in FUNCTIONS
        if found(name) in OPS and "Derivative: none" in found(name).__doc__
    }
    names = {name: name for name in FUNCTIONS}
    names |= {name: name.removeprefix("linalg.") for name in FUNCTIONS if name not in statuses}
    assert said == {
        name for name in FUNCTIONS if found(name) in OPS and statuses[names[name]] == NONE
    }


def rules_of(op):
    return [rule for rule in (*(op.rules or ()), op.joint) if rule is not None]


@pytest.mark.parametrize("op", recorded_ops(), ids=lambda op: op.name)
def test_a_derivative_names_only_what_a_reader_knows(op):
    for rule in rules_of(op):
        if rule.__doc__ is None:  # the text of a lambda: no helper that only its module knows
            assert rule.__code__.co_name == "<lambda>", "describe the rule in its docstring"
            text = source_line(rule)
            names = set(re.findall(r"(?<![.\w\"'])[a-zA-Z_]\w*", text))
            assert names <= {*op.asks[rule], *rule.__code__.co_varnames, "xp"}, text
    assert op.public.__doc__
    assert ".." not in op.public.__doc__.replace("...", "")  # after the docstring of a rule
    assert "see its rule" not in op.public.__doc__


DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def result_dtype(gives, dtype):
    """What ``DTYPES`` says in words, of inputs of one dtype."""
    real = np.zeros(0, dtype).real.dtype
    if gives == "accumulated":
        wide = {"b": "int64", "i": "int64", "u": "uint64"}
        return np.dtype(wide.get(dtype.kind, dtype))
    floating = dtype if dtype.kind in "fc" else None  # NumPy's choice, by the width of the integer
    if dtype == "int64":
        floating = np.dtype("float64")
    return {
        "bool": np.dtype(bool),
        "default": np.dtype("float64"),
        "floating": floating,
        "index": np.dtype("int64"),
        "like": dtype,
        "part": real,
        "promoted": dtype,
        "promoted floating": floating,
        "real": real if dtype.kind in "fc" else np.dtype("float64"),
        "x": dtype,
    }[gives]


def called(op, dtype):
    """An op on ones, with what else it must be given."""
    rank = 2 if op.name in ("tril", "triu") else 1
    rest = {"full_like": (1,), "roll": (1,)}.get(op.name, ())
    arrays = [xp.ones((2,) * rank, dtype=dtype) for _ in op.inputs] or [2]
    with np.errstate(all="ignore"):
        return op.public(*arrays, *rest)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [op.name for op in OPS.values() if op.takes and op.gives[0]])
def test_an_op_takes_and_gives_the_dtypes_that_it_says(name, dtype):
    op, dtype = REGISTRY[name], np.dtype(dtype)
    takes, (shape, gives) = op.takes, op.gives
    refused = TAKES[takes][1]
    kinds = {"b": "boolean", "f": "floating-point", "c": "complex"}
    complex_too = dtype.kind == "c" and "floating-point" in refused
    if kinds.get(dtype.kind, "integer") in refused or complex_too:
        with pytest.raises(TypeError):
            called(op, dtype)
        return
    if dtype.kind == "b" and takes in ("number", "real", "integer"):  # left to the storage
        called(op, dtype)
        return
    expected = result_dtype(gives, dtype)
    result = called(op, dtype)
    assert result.dtype == expected if expected is not None else result.dtype.kind == "f"
    rank = 2 if name in ("tril", "triu") else 1
    assert result.shape == (() if shape == "reduced" else (2,) * rank)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_what_is_no_array_raises_type_error(op):
    if "TypeError\n    When" not in op.public.__doc__ or not op.inputs:
        return  # creation functions of numbers
    parameters = inspect.signature(op.public).parameters.values()
    needed = [p for p in parameters if p.default is p.empty]
    with pytest.raises(TypeError):
        op.public(*[object() for p in needed if p.kind is not p.KEYWORD_ONLY])


@pytest.mark.parametrize("op", recorded_ops(), ids=lambda op: op.name)
def test_an_axis_that_is_not_there_raises_index_error(op):
    samples = [s for s in op.samples if "axis" in inspect.signature(op.public).parameters]
    for s in samples:
        arguments = testing.materialise(op, s)
        given = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        given = [[xp.asarray(part) for part in a] if isinstance(a, list) else a for a in given]
        with pytest.raises(IndexError):
            op.public(*given, **(s.parameters | {"axis": 99}))


# --- composed -------------------------------------------------------------------------------------
def test_help_before_the_first_call_is_that_after_it():
    code = (
        "import pydoc, arraytape as xp\n"
        "before = [pydoc.render_doc(f) for f in (xp.sum, xp.flip, xp.exp)]\n"
        "xp.sum(xp.flip(xp.exp(xp.ones(2)), axis=0))\n"
        "assert before == [pydoc.render_doc(f) for f in (xp.sum, xp.flip, xp.exp)]\n"
        "assert 'keepdims : bool, default: False' in before[0], before[0]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("options", [["-X", "no_debug_ranges"], ["-OO"]])
def test_the_package_is_imported_without_what_docstrings_are_made_of(options):
    code = "import arraytape as xp; assert float(xp.exp(xp.asarray(0.0))) == 1.0"
    subprocess.run([sys.executable, *options, "-c", code], check=True)


def test_an_ops_own_entries_take_the_place_of_the_tables():
    def own(x: "xp.Array", /, *, axis: "int" = 0, dtype: "Any" = None) -> "xp.Array":  # noqa: F821
        """What it does.

        Parameters
        ----------
        axis
            The axis of its own.

        Raises
        ------
        ValueError
            When it likes to.
        """

    text = inspect.getdoc(own)
    if docstrings.INDENTED:  # as that of a function at the top level of a module
        text = text.replace("\n", "\n    ")
    composed = op_docstring(REGISTRY["sum"], inspect.signature(own), text)
    page = NumpyDocString(composed)
    assert [(p.name, p.type) for p in page["Parameters"]] == [
        ("x", "xp.Array"), ("axis", "int, default: 0"), ("dtype", "dtype | None, default: None"),
    ]  # fmt: skip
    assert page["Parameters"][1].desc == ["The axis of its own."]
    assert [p.type for p in page["Raises"]] == ["TypeError", "ValueError", "IndexError"]
    assert "When it likes to." in page["Raises"][1].desc


def test_an_op_without_any_docstring_says_its_name():
    assert REGISTRY["exp"].doc in xp.exp.__doc__
    op = REGISTRY["cos"]
    signature = inspect.signature(op.public)
    assert op_docstring(op, signature, None).startswith("Compute the cosine of each element")


def test_an_op_without_a_rule_says_so():
    op = Op("ruleless", "primitive", ("x",))
    text = op_docstring(op, inspect.signature(lambda x: x), "What it computes.")
    assert "Derivative: no rule is declared" in text


def test_help_of_an_array_names_its_attributes_and_operators():
    text = pydoc.render_doc(xp.Array)
    for word in ("Attributes", "shape : tuple[int, ...]", "``x1 + x2``: the operator of ``add``."):
        assert word in text
