"""Names that arraytape takes from CuPy are there in the oldest and newest CuPy that is supported."""

import json

import pytest

import cupy_names
from arraytape._storage.cupy import SINCE_14

FACTS = json.loads(cupy_names.TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", FACTS)
def test_what_the_sources_take_is_there_and_callable_where_they_call_it(version):
    known = FACTS[version]["cupy"]
    for path, called, keywords in cupy_names.all_taken():
        found = known.get(path)
        assert found, f"CuPy {version} lacks {path}: see tools/cupy_names.py"
        assert not called or found["kind"] in ("function", "ufunc", "type"), path
        if keywords and found["kind"] != "type":  # classes in Cython show no signature
            assert set(keywords) <= set(found["keywords"]), path


def test_what_is_said_to_be_new_is_new():
    assert min(FACTS) < "14" <= max(FACTS)
    for version, facts in FACTS.items():
        assert {bool(facts["cupy"][path]) for path in SINCE_14} == {version >= "14"}


def test_of_a_source_the_longest_paths_are_found():
    source = "self.cupy.add.at(x, key=k)\ncupy.linalg\nself.other.sum(x)\nf(cupy)\nxp.cupy.abs"
    assert sorted(cupy_names.taken(source)) == [
        ("abs", False, []), ("add.at", True, ["key"]), ("linalg", False, []),
    ]  # fmt: skip
