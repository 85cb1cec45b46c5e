"""Short runs of the attacks on ``implicit``, ``odeint`` and the functional forms."""

import pytest

from . import functional_programs, implicit_programs, ode_programs

BLOCKS = 4


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.every(5)
def test_implicit_functions_have_the_derivatives_of_recorded_newton_steps(seed):
    assert implicit_programs.run(seed) == implicit_programs.ASKED


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_functional_forms_have_the_derivatives_of_differences(block):
    assert sum(functional_programs.run(seed) for seed in range(block, 40, BLOCKS)) > 0


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_initial_value_problems_have_the_derivatives_of_differences(block):
    assert sum(ode_programs.run(seed) for seed in range(block, 8, BLOCKS)) > 0
