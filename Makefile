# Two commands: `make run` measures, `make test` tests. Each sets up what it needs.
# Everything made stays in .venv/, .local/ and output/ (and the Debian packages that were missing).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test bench setup setup-test lint test-kernels test-sanitizers test-python clean

PYTHON := .venv/bin/python
REFRAME := .venv/bin/reframe -C site_configs/local.py --system local -c reframe_tests -R
ARGS ?=
JOBS := $(shell nproc)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## measure with both stacks on both file systems; table and output/report.html (ARGS='-n S3d')
	@status=0; $(REFRAME) -t quick $(ARGS) -r || status=$$?; \
	$(PYTHON) -m analysis summary || { s=$$?; [ $$status -ne 0 ] || status=$$s; }; \
	exit $$status

test: setup-test lint test-kernels test-sanitizers test-python ## everything that CI runs

bench: setup ## compare with upstream's ior and s3d_io.x (IOR=path S3D_IO=path), and the driver's own cost
	$(PYTHON) -m tools.bench $(ARGS)

setup: ## what `run` needs: Debian packages, PnetCDF for MPICH, .venv
	@environments/debian/setup.sh

setup-test: ## what `test` needs besides
	@environments/debian/setup.sh --test

lint: setup-test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/clang-format --dry-run --Werror kernels/*.[ch] kernels/*/*.[ch]
	shellcheck environments/debian/*.sh .ci/run

# The kernels of each stack, with warnings as errors, and every pattern x method x mode of them.
KERNELS_openmpi := -DCMAKE_C_COMPILER=mpicc.openmpi -DIOKERNEL_HDF5_PKGCONFIG=hdf5-openmpi -DIOKERNEL_PNETCDF_ROOT=/usr
KERNELS_mpich := -DCMAKE_C_COMPILER=mpicc.mpich -DIOKERNEL_HDF5_PKGCONFIG=hdf5-mpich \
	-DIOKERNEL_PNETCDF_ROOT=$(CURDIR)/.local/stacks/mpich

.local/build/test-%/build.ninja: kernels/CMakeLists.txt
	cmake -S kernels -B $(@D) -G Ninja $(KERNELS_$*) -DIOKERNEL_WERROR=ON

clean: ## remove what was built and measured, but not .venv and the libraries
	rm -rf .local/build output
