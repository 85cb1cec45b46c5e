"""Names of other libraries: the message says ours, which exist, and ``hasattr`` stays False."""

import copy
import difflib
import inspect
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import checkpoint, nn, optimizers  # so that xp has them
from arraytape._numpy_api import protocols
from arraytape._util import foreign_names, other_names

ARRAY = [(lib, name) for lib, names in other_names.ARRAY.items() for name in names]
THINGS = {
    "namespace": xp,
    "Array": xp.ones(3),
    "GradientTape": xp.GradientTape(),
    "linalg": xp.linalg,
    "nn": nn,
    "Module": nn.Sequential(),
    "optimizers": optimizers,
    "checkpoint": checkpoint,
}
TEXTS = [
    (where, library, name)
    for where, table in other_names.TABLES.items()
    for library, names in table.items()
    for name in names
]


def said(thing, name):
    with pytest.raises(AttributeError) as caught:
        getattr(thing, name)
    assert type(caught.value) is AttributeError
    assert caught.value.name == name
    return str(caught.value)


def found(root, path):
    roots = {"xp": xp, "np": np, "x": xp.ones((2, 2)), "tape": xp.GradientTape()}
    if root == "scipy":
        return pytest.importorskip("scipy.special").logsumexp
    thing = roots[root]
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing


# --- the tables -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    [
        name
        for names in other_names.NAMESPACE.values()
        for text in names.values()
        if "which is recorded" in text
        for name in re.findall(r"np\.([a-z_0-9]+)\(", text)
    ],
)
def test_what_is_said_to_be_recorded_has_a_counterpart(name):
    function = getattr(np, name)
    assert (
        function in protocols.COUNTERPARTS
        or function in protocols.UFUNCS
        or protocols.op_of_numpy_function(function)
    )


@pytest.mark.parametrize(("where", "library", "name"), TEXTS)
def test_no_key_is_a_name_that_we_have(where, library, name):
    thing = THINGS[where]
    assert not hasattr(thing, name)
    assert name not in dir(thing)


@pytest.mark.parametrize("table", other_names.TABLES.values(), ids=other_names.TABLES)
def test_a_name_stands_under_one_library(table):
    names = [name for part in table.values() for name in part]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", other_names.NAMESPACE["NumPy"])
def test_the_names_of_numpy_are_numpys(name):
    assert hasattr(np, name)


def test_the_stand_ins_on_arrays_are_the_names_of_the_table():
    assert sorted(foreign_names.NAMES) == sorted(name for _, name in ARRAY)


# --- messages ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("where", "library", "name"), TEXTS)
def test_the_message_says_whose_name_it_is_and_what_to_use(where, library, name):
    text = said(THINGS[where], name)
    assert f"has no attribute {name!r}: " in text
    assert f"{library}'s {name}" in text


@pytest.mark.parametrize(("library", "name"), ARRAY)
def test_an_array_says_ours(library, name):
    assert f"'Array' object has no attribute {name!r}: " in said(xp.ones(3), name)
    assert f"type object 'Array' has no attribute {name!r}" in said(xp.Array, name)


@pytest.mark.parametrize(
    ("thing", "name", "ours"),
    [
        (xp, "cat", "in place of PyTorch's cat use xp.concat"),
        (xp, "relu", "xp.nn.relu"),
        (xp, "no_grad", "tape.stop_recording()"),
        (xp, "jit", "in place of JAX's jit use xp.function(f)"),
        (xp, "reshpae", "did you mean reshape?"),
        (xp, "tensr", "in place of PyTorch's tensor use xp.asarray"),
        (xp.ones(3), "numpy", "np.asarray(x)"),
        (xp.GradientTape(), "gradent", "did you mean gradient?"),
        (xp.linalg, "svdval", "did you mean svdvals?"),
        (nn, "Linear", "in place of PyTorch's Linear use xp.nn.Dense"),
        (optimizers, "ADAM", "did you mean Adam?"),
        (xp, "logit", "use xp.special.logit"),
        (xp, "svd", "use xp.linalg.svd"),
        (xp, "softplus", "use xp.nn.softplus"),
        (xp, "reduce_logsumexp", "use xp.special.logsumexp"),
        (xp, "top_k", "in place of PyTorch's topk use"),
        (nn, "logsumexp", "use xp.special.logsumexp"),
        (nn, "exp", "use xp.exp"),
        (nn, "BinaryCrossentropy", "xp.nn.losses.BinaryCrossentropy()"),
    ],
)
def test_a_name_of_another_library_or_a_misspelt_one_is_answered(thing, name, ours):
    assert ours in said(thing, name)


@pytest.mark.parametrize("name", ["qqqqqq", "_private", "__path_of_nothing__", "__wrapped__"])
@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_any_other_name_is_answered_as_python_does(thing, name):
    assert not hasattr(thing, name)
    assert said(thing, name).endswith(f"has no attribute {name!r}")


def test_setting_an_attribute_of_another_library_says_ours():
    x = xp.ones(3)
    with pytest.raises(AttributeError, match=r"use tape\.watch\(x\)"):
        x.requires_grad = True


def test_the_error_can_be_pickled_and_copied():
    with pytest.raises(AttributeError) as caught:
        xp.cat  # noqa: B018
    for copied in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(copied) == str(caught.value)
        assert "xp.concat" in repr(copied)


def test_a_variable_has_its_own_methods_where_an_array_says_ours():
    v = xp.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    np.testing.assert_array_equal(np.asarray(v), [3.0, 4.0])
    assert "assign" in dir(v)
    assert "xp.stop_gradient" in said(v, "detach")


def test_help_says_what_the_names_are():
    assert (
        "in place of PyTorch's backward use" in inspect.getattr_static(xp.Array, "backward").__doc__
    )


def test_dir_lists_none_of_them():
    assert not {name for _, name in ARRAY} & {*dir(xp.ones(3))}


# --- cost -------------------------------------------------------------------------------------------
def test_asking_for_a_name_loads_no_table_and_reading_the_message_does():
    code = (
        "import sys, arraytape as xp; x = xp.ones(3)\n"
        "assert not hasattr(xp, 'cat') and not hasattr(x, 'grad')\n"
        "assert not hasattr(xp.GradientTape(), 'grad')\n"
        "assert 'arraytape._util.other_names' not in sys.modules and 'difflib' not in sys.modules\n"
        "try: xp.cat\n"
        "except AttributeError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "xp.concat" in run.stdout


def test_an_unknown_name_of_an_array_runs_no_python():
    frames = []
    x = xp.ones(3)
    sys.setprofile(lambda frame, event, _: frames.append(frame) if event == "call" else None)
    hasattr(x, "qqqqqq")
    sys.setprofile(None)
    assert frames == []


# --- advice that is sure -------------------------------------------------------------------------------
WORDS = [
    "gelu",
    "silu",
    "normal",
    "uniform",
    "pmap",
    "isposinf",
    "log_softmax",
    "expit",
    "logit",
    "erf",
    "digamma",
    "cond",
    "fold",
    "image",
    "signal",
    "strings",
    "rsqrt",
    "ldexp",
    "frexp",
    "modf",
    "poly",
    "roots",
    "cummax",
    "cummin",
    "logcumsumexp",
    "bucketize",
    "scan",
    "while_loop",
    "switch",
    "eval_shape",
    "rand",
    "randn",
    "one_hot",
    "batch_norm",
    "layer_norm",
    "conv2d",
    "max_pool",
    "dropout",
    "tree_map",
    "make_jaxpr",
    "seed",
    "histogram",
    "Sequential",
    "Adam",
    "SGD",
    "RMSprop",
    "clip_by_norm",
    "global_norm",
    "softplus",
    "xlogy",
    "betainc",
    "lgamma",
    "polygamma",
    "zeta",
    "igamma",
    "cholesky",
    "slogdet",
    "eigh",
    "qr",
    "lstsq",
    "pinv",
]
NUMPYS = [name for name in dir(np) if not name.startswith("_") and callable(getattr(np, name))]


@pytest.mark.parametrize("name", sorted({*WORDS, *NUMPYS} - {*dir(xp)}))
def test_advice_names_what_exists_and_never_another_word(name):
    if hasattr(xp, name):
        return
    text = said(xp, name)
    meant = re.search(r"did you mean (\w+)\?", text)
    if meant:
        assert letters(meant[1]) == letters(name) or (
            len(name) > 4
            and difflib.SequenceMatcher(None, letters(meant[1]), letters(name)).ratio() >= 0.85
        )
    of = re.search(r"in place of \w+'s (\w+) use", text)
    assert not of or letters(of[1]) == letters(name) or len(name) > 4
    for path in re.findall(r"\buse ((?:xp|np)(?:\.\w+)+)", text):
        root, _, rest = path.partition(".")
        assert found(root, rest) is not None


def letters(name):
    return name.lower().replace("_", "")


@pytest.mark.parametrize(
    ("make", "name", "advice"),
    [
        (lambda k: optimizers.Adam(**k), "lr", "in place of Keras's lr use learning_rate"),
        (lambda k: optimizers.SGD(0.1, **k), "decay", "Keras's decay use weight_decay"),
        (
            lambda k: optimizers.AdamW(**k),
            "betas",
            "in place of PyTorch's betas use beta_1 and beta_2",
        ),
        (lambda k: nn.Dense(2, **k), "kernel_regularizer", "a penalty is a term of the loss"),
        (lambda k: nn.Conv2D(2, 3, **k), "input_shape", "find the shape of their inputs"),
        (lambda k: nn.Dense(2, **k), "input_dim", "find the shape of their inputs"),
        (lambda k: nn.BatchNormalization(**k), "eps", "in place of PyTorch's eps use epsilon"),
    ],
)
def test_a_keyword_of_another_librarys_layer_has_advice(make, name, advice):
    with pytest.raises(TypeError) as caught:
        make({name: 1})
    assert f"got an unexpected keyword argument {name!r}: " in str(caught.value)
    assert advice in str(caught.value)
    assert str(caught.value).count("unexpected keyword") == 1
    assert f"[at {__file__}:" in str(caught.value)


def test_the_keywords_with_advice_are_not_those_of_dense_or_adam():
    known = {
        *inspect.signature(nn.Dense).parameters,
        *inspect.signature(optimizers.Adam).parameters,
    }
    assert {"units", "learning_rate"} <= known  # not hidden
    assert known.isdisjoint(name for names in other_names.KEYWORDS.values() for name in names)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nothing'$"):
        nn.Dense(2, nothing=1)


def test_an_error_of_an_initializer_of_ones_own_stays():
    class Own(nn.Layer):
        def __init__(self):
            super().__init__()
            (lambda: None)(lr=1)

    with pytest.raises(TypeError, match=r"unexpected keyword argument 'lr'$"):
        Own()
