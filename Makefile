# Every target makes the environment that it needs; nothing has to be installed first but Python and make.

PYTHON ?= python3
MINUTES ?= 60
TESTS ?= tests
BASE ?= HEAD^
BIN := .venv/bin
CUPY ?= 14.2.0
ON_CUPY = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/cupy-$(CUPY)/rig -m pytest -q -n auto --maxprocesses=4
ABOUT_CUPY := $(patsubst %,tests/storage/test_%.py,cupy_on_a_gpu cupy_launches cupy_mixed_devices cuda_captures) \
	tests/replay/test_on_device.py tests/replay/test_captured_products.py
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# SciPy and scikit-learn read this when they are imported.
export SCIPY_ARRAY_API := 1
# The package is compiled once, not by each of the hundred processes that tests start.
export PYTHONDONTWRITEBYTECODE :=

# A worker for each core, at most four.  One thread each in BLAS and OpenMP, since those of several workers
# would wait for each other.
PARALLEL = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses=4
QUICK := tests/tape tests/record tests/array tests/define tests/functional tests/ops/test_rules.py \
	$(patsubst %,--ignore=tests/functional/test_%.py,vmap_ops vmap_layouts vmap_ended_axes sparse numpy_in_and_out) \
	$(patsubst %,--deselect=tests/ops/test_rules.py::test_%,complex_derivative float32 following no_result strided the_three)

.DEFAULT_GOAL := help
.PHONY: help demo quick test cupy nightly lint newest lowest numpy scipy sklearn interop libraries soak bench bench-check dashboard ratios pages smoke docs dist fresh clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: .venv/.demo  ## Differentiate scikit-learn; plot in build/differentiate_sklearn.png
	@mkdir -p build
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/differentiate_sklearn.py --out build/differentiate_sklearn.png

quick: .venv/.dev  ## Run the tests of tapes, recorders, writes, transformations and rules: 20 seconds
	$(PARALLEL) -m "not slow and not nightly" $(QUICK)

test: lint  ## Run the linters and type checker, then the tests but for those marked nightly; CuPy's own if `make cupy` has run
	$(PARALLEL)
	@test ! -x build/cupy-$(CUPY)/rig || $(ON_CUPY) $(ABOUT_CUPY)

cupy:  ## Run the tests for any storage on CuPy, without a GPU, in an environment of its own (CUPY=13.4.1; see tools/cupy_rig)
	$(PYTHON) tools/cupy_rig/make_rig.py build/cupy-$(CUPY) $(CUPY) --project .
	$(ON_CUPY) $(ABOUT_CUPY)
	$(ON_CUPY) --storage cupy -m any_storage $$(grep -rl --include='test_*.py' any_storage tests)

nightly: .venv/.dev  ## Run all tests (TESTS="tests/tape ..."), those marked nightly included
	$(PARALLEL) -m "" $(TESTS)
	$(PARALLEL) -m "" --compiled tests/replay

lint: .venv/.dev  ## Run ruff, mypy, the import rules, the rules of words, the list of public names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/words.py
	$(BIN)/python tools/pages.py --check public_names

newest lowest: BIN = build/$@/bin
newest:  ## Run all tests (TESTS="tests/tape ...") with the newest release of each dependency, in a new environment
	$(PYTHON) -m venv --clear build/$@
	$(PIP_INSTALL) --upgrade --upgrade-strategy eager --editable ".[dev]"
	$(PARALLEL) -m "" $(TESTS)

lowest:  ## Run all tests with the lowest release of each dependency that pyproject.toml allows
	$(PYTHON) -m venv --clear build/$@
	$(PIP_INSTALL) --editable ".[dev]"
	$(PIP_INSTALL) --no-deps $$($(BIN)/python tools/lowest_releases.py)  # array-api-extra asks for more than we do
	$(PARALLEL) -m "" $(TESTS)

numpy: .venv/.dev  ## Run NumPy's own tests with its functions called on Arrays, then on open tapes
	$(BIN)/python tests/third_party/run_numpy.py
	$(BIN)/python tests/third_party/run_numpy.py --taped

scipy: .venv/.dev  ## Run SciPy's own tests on Arrays, then on open tapes
	$(BIN)/python tests/third_party/run_scipy.py
	$(BIN)/python tests/third_party/run_scipy.py --taped

sklearn: .venv/.dev  ## Run scikit-learn's own array API tests on Arrays, then on open tapes
	$(BIN)/python tests/third_party/sklearn_plugin.py
	$(BIN)/python tests/third_party/sklearn_plugin.py --open-tapes

interop: .venv/.dev  ## Run SciPy's and scikit-learn's own tests on NumPy data with interop installed
	$(BIN)/python tests/third_party/run_interop.py

libraries:  ## Run other people's libraries on Arrays, in an environment of their own, and write their page; PEERS=1 adds PyTorch and JAX
	$(PYTHON) -m venv build/libraries
	build/libraries/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement tools/libraries/requirements.txt $(if $(PEERS),--requirement tools/libraries/peers.txt) --editable .
	PYTHONPATH=tools OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/libraries/bin/python tools/pages.py libraries

soak: .venv/.dev  ## Attack the promises of docs/explanation/reliability.md for an hour (MINUTES=60); goes on where it stopped
	cd tests && ulimit -v 12000000 && OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=../src:.:../tools \
		../$(BIN)/python -W ignore -m attack --minutes $(MINUTES) --state ../build/soak.json

bench: .venv/.dev  ## Run the benchmarks and print the table
	$(BIN)/python asv_bench/run.py

bench-check: .venv/.dev  ## Compare counts and ratios with those of a commit (BASE=HEAD^), for CI; ACCEPT="a b" lets some pass
	$(BIN)/python asv_bench/check.py $(BASE) $(foreach one,$(ACCEPT),--accept $(one))

dashboard: .venv/.dev  ## Measure commits with asv (COMMITS="v0.3 main", or the last tags, LAST=5), pages in asv_bench/html
	$(BIN)/python asv_bench/dashboard.py $(COMMITS) $(if $(LAST),--last $(LAST))

ratios: .venv/.dev  ## Measure and write README's table of ratios, and the figures of docs/howto/benchmarks.md; PY_PEERS=python adds PyTorch's and JAX's
	$(BIN)/python tools/pages.py ratios benchmarks_picture benchmarks

pages: .venv/.dev  ## Write the pages that programs write of the sources; PAGES="distributions ..." names others, see tools/pages.py --list
	$(BIN)/python tools/pages.py $(PAGES)

smoke: .venv/.dev  ## Run each benchmark once, to see that it runs
	$(BIN)/python asv_bench/run.py --smoke

docs: .venv/.docs  ## Build the site in build/docs/html, warnings are errors; FAST=1 runs no examples, and leaves the gallery out
	PYTHONPATH=tools $(BIN)/python -m website $(if $(FAST),--no-gallery)

dist: .venv/.release  ## Build wheel and sdist in dist/, and check them as a package index does
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents --toplevel arraytape,_arraytape_pytest.py dist/*.whl

fresh:  ## Install the wheel of dist/ into a new environment with its two dependencies, and run the quickstart there
	$(PYTHON) -m venv --clear build/fresh
	build/fresh/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/fresh/bin/python tools/quickstart.py

clean:  ## Remove the environment, the caches and what was built
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf asv_bench/env asv_bench/html asv_bench/results
	find . -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +

# The stamps are older than pyproject.toml after it changes, and then the install is done again.
.venv/.demo: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) --editable ".[demo]"
	@touch $@

.venv/.dev: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) --editable ".[dev]"
	@touch $@ .venv/.demo

.venv/.docs: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) --editable ".[docs]"
	@touch $@ .venv/.demo

.venv/.release: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) --editable ".[release]"
	@touch $@

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "arraytape needs Python 3.11 or later: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv --clear .venv || \
		{ rm -rf .venv; echo "no venv module (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
