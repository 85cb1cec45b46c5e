"""Each row of the table of failures in docs/tutorials/distributed.md has a test that makes it happen."""

import ast
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "tutorials" / "distributed.md"
TESTS = {
    "a worker dies": {"test_a_worker_that_is_killed_in_mid_step"},
    "a worker stops answering: a frozen machine, a cut cable": {
        "test_a_worker_that_answers_no_more"
    },
    "a partition kills every worker that takes it (memory)": {
        "test_workers_that_die_of_a_partition",
        "test_memory_that_is_exhausted",
        "test_reading_a_partition_kills_until_it_does_not",
    },
    "no worker is left, or the memory of all is full": {
        "test_a_cluster_that_has_given_up_its_workers",
        "test_dasks_own_limit_says_the_same",
        "test_workers_that_are_paused_for_want_of_memory",
        "test_a_worker_that_computes_at_length_is_no_idle_one",
    },
    "a worker or the scheduler has no arraytape, or another version": {
        "test_a_process_without_arraytape_or_with_another",
        "test_another_version_on_a_worker",
    },
    "the function raises": {
        "test_an_error_on_a_worker",
        "test_an_error_keeps_its_type_and_gets_the_partition_and_the_line",
        "test_an_error_of_the_function_that_is_a_timeout",
        "test_an_error_in_the_backward_pass_of_one_partition",
    },
    "a block cannot be computed": {"test_a_block_that_cannot_be_computed"},
    "a reader or the function fails now and then": {
        "test_a_reader_that_fails_now_and_then",
        "test_a_function_that_fails_now_and_then",
    },
    "Ctrl-C": {"test_ctrl_c_leaves_no_tasks"},
    "workers join or leave": {"test_a_worker_that_leaves_and_one_that_joins"},
    "a worker is slow": {"test_a_slow_worker"},
    "the scheduler is lost, or the Client closed": {
        "test_a_scheduler_that_is_lost",
        "test_a_cluster_that_is_closed",
    },
    "the cluster or its scheduler is restarted": {
        "test_a_cluster_that_is_restarted",
        "test_a_scheduler_that_comes_back",
    },
    "data that was scattered from the driver is lost with its worker": {
        "test_data_that_nobody_can_compute_again"
    },
    "a value leaves the tape inside the function": {
        "test_a_value_that_leaves_the_tape_is_an_error"
    },
    "the function uses a Variable (also one of an imported module), or an Array that a tape follows, "
    "without taking it as a parameter": {
        "test_a_variable_that_is_no_parameter",
        "test_a_variable_of_an_imported_module",
        "test_a_followed_array_that_is_no_parameter",
    },
    "the function, or an object that it uses, cannot be pickled": {"test_what_cannot_be_sent"},
    "the function is in a module that workers cannot import": {
        "test_a_module_that_workers_do_not_have"
    },
    "a block is a Variable, an Array that a tape follows, or an Array that `vmap` maps": {
        "test_blocks_are_constants"
    },
    "the function assigns to a Variable of a Module": {"test_assigning_to_a_variable"},
    "collections have different numbers of blocks, different numbers of rows, or none": {
        "test_collections_that_do_not_fit"
    },
    "a partition has no rows": {
        "test_a_partition_without_rows",
        "test_an_integer_for_an_empty_partition",
    },
    "partitions return different shapes or nestings, real and complex numbers, None, text": {
        "test_results_that_differ",
        "test_results_that_cannot_be_summed",
    },
    "the loss is no scalar, or the parameter has integers": {
        "test_a_loss_that_is_no_scalar",
        "test_parameters_without_a_gradient",
    },
    "`xp.function` is around the call": {
        "test_function_around_a_sum_computes_anew",
        "test_function_inside_is_replayed",
    },
    "a context, such as `interop.scipy()`, is active around the call": {
        "test_a_context_around_the_call_is_not_on_the_workers"
    },
}


def test_each_row_has_its_tests_and_the_other_way_round():
    table = PAGE.read_text().split("| event | effect |\n| --- | --- |\n")[1]
    rows = [line.split(" | ")[0][2:] for line in table.split("\n\n")[0].splitlines()]
    assert rows == list(TESTS)


def test_the_tests_are_there():
    found = {
        node.name
        for file in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name for names in TESTS.values() for name in names} <= found


def test_what_may_be_spoiled_is_in_the_table():
    """A test of a spoiled cluster that no row names says something that users are not told."""
    tree = ast.parse((HERE / "test_spoiled_clusters.py").read_text())
    made = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named = {name for names in TESTS.values() for name in names}
    assert {name for name in made if name.startswith("test_")} <= named
