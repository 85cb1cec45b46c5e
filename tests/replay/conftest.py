"""What tests of replays share."""

import pytest

from arraytape.replay import program_plan


@pytest.fixture
def with_all_bits(monkeypatch):
    """Programs without the pass that changes last bits."""
    monkeypatch.setattr(program_plan, "rounded", lambda program: program)


@pytest.fixture(scope="module")
def cupy():
    """CuPy with a GPU, or with a stand-in for one."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy is installed, but there is no GPU: {error}")
    return cupy
