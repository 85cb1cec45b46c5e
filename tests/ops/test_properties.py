"""Every function of the namespace against NumPy, bit for bit, on inputs that hypothesis draws.

``helpers.rows`` has one row per function.  A row's arguments hold NumPy arrays; our side gets Arrays
of the same values.  Values must agree in every bit (any NaN equals any other), and so must dtype
and shape.
"""

import array_api_compat.numpy as compat
import pytest
from hypothesis import given

import arraytape as xp
from helpers.drawn_arrays import FEW, FEWER, FEWEST
from helpers.rows import ROWS
from helpers.same_values import arrays_in, as_numpy, assert_same, function_of, ours, quiet

FUNCTIONS_OF_FUNCTIONS = (
    "gauss_newton_product", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize",
    "sparse_hessian", "sparse_jacobian", "value_and_grad", "vhp", "vjp", "vmap",
)  # fmt: skip
# Public functions without a row, with the reason.
EXEMPT = {
    "cofactors": "NumPy has no such function: test_linalg_low_rank, as the gradient of det",
    "inverse_again": "NumPy has no such function: test_linalg_factors, as the gradient of slogdet",
    "matmul_adjoint": "NumPy has no such function: test_rules, by its samples",
    "window_correlation": "NumPy has no such function: nn/test_convolution, against loops",
    "sum_adjoint": "NumPy has no such function: test_rules, by its samples",
    "solve_again": "NumPy has no such function: test_linalg_factors, as the gradient of solve",
    "power_derivative": "NumPy has no such function: test_second_order_at_special_points, under pow",
    "sinc_derivative": "NumPy has its order 0 alone: test_second_order_at_special_points, as sinc",
    **dict.fromkeys(FUNCTIONS_OF_FUNCTIONS, "takes a function: functional/"),
    "custom_gradient": "a decorator: custom/test_custom_gradient",
    "define_op": "declares an op: define/test_define_op",
    "einsum": "its subscripts decide what fits: numpy_api/test_products, all small products",
    "grad_pass_through": "a decorator: custom/test_pass_through",
    "function": "replays a function: replay/test_function",
    "host_function": "makes a function: custom/test_host_functions",
    "no_gradient": "declares that an op has no gradient",
    "numpy_function": "calls any function of NumPy arrays: custom/test_host_functions",
    "pad": "its widths decide what fits: numpy_api/test_pieces",
    "recompute_grad": "a decorator: custom/test_recompute",
    "register_gradient": "declares a gradient",
    "register_nesting": "declares how a class is taken apart: util/test_nestings",
    "reinterpreted": "NumPy has no such function: numpy_api/test_array_methods, as the method view",
    "set_default_device": "NumPy has no such function: storage/test_storages",
    "set_exits": "NumPy has no such function: exits/test_modes",
    "show_versions": "NumPy has no such function: project/test_versions",
    "stop_gradient": "NumPy has no such function: tape/test_values",
}


def public_functions():
    """Every function of the namespace, those for rules among them, and of its two extensions."""
    everything = {name: getattr(xp, name) for name in (*dir(xp), *xp._FOR_RULES)}
    main = {
        name
        for name, value in everything.items()
        if callable(value) and not isinstance(value, type) and not name.startswith("_")
    }
    linalg = {f"linalg.{name}" for name in xp.linalg.__all__}
    return main | linalg | {f"fft.{name}" for name in xp.fft.__all__}


def test_every_public_function_has_a_row():
    named = {row.name for row in ROWS}
    public = public_functions() - set(EXEMPT)
    assert public - named == set()
    assert named - public == set()
    assert set(EXEMPT) <= public_functions()


def numbered(rows):
    seen = {}
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        yield row.name if seen[row.name] == 1 else f"{row.name}-{seen[row.name]}"


def draws_id(settings):
    return f"{settings.max_examples} draws"


every_row = pytest.mark.parametrize("row", ROWS, ids=numbered(ROWS))


@pytest.mark.parametrize(
    "draws", [FEWEST, pytest.param(FEW, marks=pytest.mark.nightly)], ids=draws_id
)
@every_row
def test_the_value_is_numpys(row, draws):
    function, show = function_of(xp, row.name), row.show or (lambda result: result)
    reference = row.reference or function_of(compat, row.name)

    @draws
    @given(row.calls)
    def check(drawn):
        arguments, keywords = ours(drawn.arguments), {k: ours(v) for k, v in drawn.keywords.items()}
        with quiet():
            expected = reference(*drawn.arguments, **drawn.keywords)
            result = function(*arguments, **keywords)
        assert_same(show(result), show(expected), row.close)
        if row.show is None:
            assert_same(arguments, drawn.arguments)  # nothing was written to

    check()


@pytest.mark.parametrize(
    "draws", [FEWEST, pytest.param(FEWER, marks=pytest.mark.nightly)], ids=draws_id
)
@every_row
def test_the_value_is_the_same_while_a_persistent_tape_watches_the_inputs(row, draws):
    function, show = function_of(xp, row.name), row.show or (lambda result: result)

    @draws
    @given(row.calls)
    def check(drawn):
        plain, watched = (
            (ours(drawn.arguments), {k: ours(v) for k, v in drawn.keywords.items()})
            for _ in range(2)
        )
        with quiet():
            expected = show(function(*plain[0], **plain[1]))
            with xp.GradientTape(persistent=True) as tape:
                tape.watch([x for x in arrays_in(watched) if xp.isdtype(
                    x.dtype, ("real floating", "complex floating"))])  # fmt: skip
                result = function(*watched[0], **watched[1])
        assert_same(show(result), as_numpy(expected))

    check()
