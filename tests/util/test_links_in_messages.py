"""Messages link to docs/howto/errors.md: links have their section, sections are linked or listed."""

import re

import numpy as np
import pytest

import arraytape as xp
from arraytape._tape import undefined
from arraytape._util import errors
from helpers.repository import ROOT

PAGE = (ROOT / "docs" / "howto" / "errors.md").read_text(encoding="utf-8")
# Sections about messages that say all in their own words.
UNLINKED = {
    "a-name-of-another-library",
    "array-that-is-read-only",
    "different-devices",
    "function-gives-no-scalar",
    "input-of-another-length",
    "mapped-axes-differ",
    "output-gradients-do-not-fit",
    "result-that-does-not-fit-in-place",
    "tape-is-already-recording",
    "tape-is-not-recording",
}


def anchor(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


SECTIONS = [anchor(heading) for heading in re.findall(r"^### (.*)$", PAGE, flags=re.M)]


def linked():
    """The sections that the source's messages name."""
    sources = (ROOT / "src" / "arraytape").rglob("*.py")
    calls = [re.findall(r"""see\(["']([^"']+)["']\)""", path.read_text()) for path in sources]
    return {name for found in calls for name in found} | {name for _, name in errors.SECTIONS}


def test_every_link_has_its_section():
    assert linked() <= {*SECTIONS}
    assert len(SECTIONS) == len({*SECTIONS})


def test_every_section_is_linked_or_listed():
    assert {*SECTIONS} - linked() == UNLINKED


def test_links_within_the_page_have_their_section():
    assert {*re.findall(r"\]\(#([^)]+)\)", PAGE)} <= {*SECTIONS}


def test_every_section_says_the_way_out():
    for section in PAGE.split("\n### ")[1:]:
        assert "**Way out.**" in section, section.partition("\n")[0]


def test_a_link_is_the_address_of_the_page_in_the_repository():
    project = (ROOT / "pyproject.toml").read_text()
    home = re.search(r'^Source = "(.*)"$', project, flags=re.M).group(1)
    assert f"{home}/blob/main/docs/howto/errors.md" == errors.PAGE
    assert errors.see("one-element") == f"(see {errors.PAGE}#one-element)"


# --- what an argument is called ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (xp.ones((2, 3)), "Array float64(2, 3)"),
        (xp.asarray(1.0), "Array float64()"),
        (np.ones(3), "ndarray float64(3,)"),
        (np.float32(2.5), "float32 2.5"),
        ([xp.ones(2), np.ones(1)], "[Array float64(2,), ndarray float64(1,)]"),
        ((xp.ones(2), 3.0), "(Array float64(2,), float 3.0)"),
        (3.0, "float 3.0"),
        ("a" * 50, "str 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."),
        (xp.Variable([1.0]), "Variable float64(1,)"),
        (None, "NoneType None"),
    ],
)
def test_an_argument_is_called_by_kind_dtype_and_shape(value, words):
    assert errors.describe(value) == words


def failed(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda x: x + xp.ones(2), "add(x1: Array float64(3,), x2: Array float64(2,)) failed: "),
        (lambda x: xp.sum(x, axis=3), "sum(x: Array float64(3,), axis: int 3) failed: "),
        (lambda x: xp.concat([x, xp.ones((2, 2))]), "concat(arrays: [Array float64(3,), Array "),
        (lambda x: float(x), "float() of Array float64(3,) failed: "),
        (lambda x: range(x[0]), "index() of Array float64() failed: "),
        (lambda x: xp.zeros((-1,)), "zeros(shape: tuple (-1,)) failed: "),
        (lambda x: xp.permute_dims(x, (0, 1)), "permute_dims(x: Array float64(3,), axes: tuple"),
        (lambda x: xp.broadcast_to(x, (2,)), "broadcast_to(x: Array float64(3,), shape: tuple"),
        (
            lambda x: xp.asarray(np.asarray(["a"])),
            "asarray(ndarray <U1(1,)) failed: no Array can have dtype <U1",
        ),
        (lambda x: xp.asarray([[1.0], [1.0, 2.0]]), "asarray(list [[1.0], [1.0, 2.0]]) failed: "),
    ],
)
def test_a_failure_says_function_arguments_and_line(call, start):
    x = xp.asarray([1.0, 2.0, 3.0])
    message = failed(lambda: call(x))
    assert message.startswith(start)
    assert "[at " in message
    assert f"{__file__}:" in message
    assert "ndarray" not in message or "asarray" in message
    assert "NoneType" not in message


def test_an_array_of_a_followed_value_is_described_alike():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        assert "x1: Array float64(3,), x2: Array float64(2,)" in failed(lambda: x * xp.ones(2))


@pytest.mark.parametrize(
    ("call", "section"),
    [
        (lambda x: x + xp.ones(2), "shapes-do-not-fit"),
        (lambda x: x @ xp.ones(2), "shapes-do-not-fit"),
        (lambda x: xp.reshape(x, (2, 2)), "shapes-do-not-fit"),
        (lambda x: x[9], "index-or-axis-out-of-range"),
        (lambda x: xp.linalg.inv(xp.ones((2, 2))), "singular-matrix"),
        (lambda x: x & x, "dtype-that-an-op-does-not-take"),
        (lambda x: xp.asarray([[1.0], [1.0, 2.0]]), "nested-lists-of-unequal-lengths"),
        (lambda x: bool(x), "one-element"),
        (lambda x: xp.asarray(x, dtype=xp.float32, copy=False), "copy-is-needed"),
        (lambda x: xp.asarray(1.0, device="moon"), "unknown-device"),
    ],
)
def test_a_message_whose_way_out_takes_words_links_to_them(call, section):
    message = failed(lambda: call(xp.asarray([1.0, 2.0, 3.0])))
    assert errors.see(section) in message
    assert message.count(errors.PAGE) == 1


def test_links_to_other_pages_have_their_file():
    address = errors.PAGE.removesuffix("docs/howto/errors.md")
    assert (ROOT / undefined.DECISION.removeprefix(address)).is_file()
