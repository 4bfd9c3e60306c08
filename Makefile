# SPDX-License-Identifier: BSD-3-Clause
# `make run` sets up and measures, `make test` tests; `iogauge` (.venv/bin) does all else.
# Everything made stays in .venv/, .local/ and output/ (and the Debian packages that were missing).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Targets of 0.2.
OLD := ab certificate claims lock-check newer replay shrink site stacks tune
.PHONY: help run help-dev $(OLD) test test-all test-nightly soak-kills bench setup setup-test lint fuzz test-kernels \
	test-more-kernels-openmpi test-more-kernels-mpich test-python-slow nightly-selftest nightly-fuzz nightly-soak nightly-soak-kills \
	test-kernels-openmpi test-kernels-mpich documents-smoke test-sanitizers test-python test-newer coverage soak bench-harness \
	selftest simulate replay-size test-logs test-slurm test-pbs test-fs guest spack-mirror docs clean \
	replay-faithful blame-size

PYTHON := .venv/bin/python
IOGAUGE := .venv/bin/iogauge
KILLS := 50
INGEST_KILLS := 200
ARGS ?=
CASES := 100000
SEED := $(shell date +%s)
DOCS := .local/venv-docs
COUNTS := .local/coverage
READERS := .local/venv-readers
# With twice as many, waiting processes that yield take a quarter more CPU time.
JOBS := $(shell nproc)
# Python compiles a module once.
CACHED = env -u PYTHONDONTWRITEBYTECODE
CTEST = $(CACHED) ctest -j $(JOBS) --output-on-failure --no-tests=error --test-dir
# What a compiler made is kept for the builds of pytest, which have the same (tests/conftest.py).
CCACHE = $(if $(shell command -v ccache),CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=$(CURDIR)/.local/ccache \
	CCACHE_BASEDIR=$(CURDIR) CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1)
KERNEL_TESTS := test-kernels-openmpi test-kernels-mpich

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*[^#]## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  make help-dev         what is for work on iogauge itself (all else: $(IOGAUGE) help)'

help-dev:
	@awk -F ':.*### ' '/^[a-z-]+:.*### / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## set up, then .venv/bin/iogauge run (ARGS='-n S3d')
	@$(if $(STACKS),IOGAUGE_STACKS="$(STACKS)") $(IOGAUGE) run --parent $$PPID $(ARGS)

# Targets of 0.2. They name the command that does their work now, and end.
ab: NEW := run --stack A,B --rounds 8
certificate: NEW := certify
claims: NEW := claims --run
lock-check: NEW := stack check --concretize
newer: NEW := stack add trixie
replay: NEW := replay LOG --dir DIR
shrink: NEW := shrink
site: NEW := site new NAME
stacks: NEW := stack add trixie
tune: NEW := tune
$(OLD):
	@echo 'make $@ is now: $(IOGAUGE) $(NEW)' >&2; exit 2

PARTS := .venv/bin/python -m tests.parts
# The parts of `make test`, what `make test-all` runs besides, and what depends on chance or on time.
QUICK_PARTS := lint test-kernels-openmpi test-kernels-mpich test-python
REST_PARTS := test-more-kernels-openmpi test-more-kernels-mpich test-sanitizers test-newer test-python-slow
NIGHTLY_PARTS := nightly-selftest nightly-fuzz nightly-soak nightly-soak-kills coverage

test: setup-test ## lint, kernels, and the quick tests of pytest (10 minutes on 2 cores)
	@$(PARTS) '$(MAKE)' $(QUICK_PARTS)

test-all: setup-test ## everything that CI runs: the parts of make test, then the rest (35 minutes on 2 cores)
	@$(PARTS) '$(MAKE)' $(QUICK_PARTS) $(REST_PARTS)

test-nightly: setup-test ### random faults, input, kills and many runs: counts what fails (2 hours; SEED=1)
	@$(PARTS) '$(MAKE)' $(NIGHTLY_PARTS)

documents-smoke: setup-test ### every experiment of the documents here for seconds, both stacks (ARGS="-k idris-2011-p35")
	$(PYTHON) -m pytest -q -m 'documents or slow' tests/docs/test_documents.py -k runs_here $(ARGS)

soak-kills: setup ### kill `make run` 50 times and `store add` 200 times: is anything lost or left (KILLS=50 INGEST_KILLS=200 SEED=1)
	@$(PYTHON) -m tests.soak_kills --kills $(KILLS) --ingest-kills $(INGEST_KILLS) --seed $(SEED)

bench: setup ### compare with upstream's ior, s3d_io.x and benchmark_hdf5 (IOR=, S3D_IO=, CGNS_BENCH=path); the recorder's cost
	@$(PYTHON) -m tests.bench $(ARGS)

bench-harness: setup ### CPU of the harness for each case; with MANY=2000, the memory of a session of so many
	@$(PYTHON) -m tests.harness $(if $(MANY),--many $(MANY)) $(ARGS)

setup: ## what `run` needs: Debian packages, PnetCDF for MPICH, parallel CGNS, .venv
	@environments/debian/setup.sh

setup-test: ### what `test` needs besides
	@environments/debian/setup.sh --test

fuzz: setup-test ### random input, CASES=100000 in all, until one breaks something (SEED=number repeats a run)
	@IOGAUGE_FUZZ_CASES=$(CASES) IOGAUGE_FUZZ_SEED=$(SEED) $(PYTHON) -m pytest -q -o timeout=36000 tests/fuzz $(ARGS)

lint: setup-test ## ruff, mypy, clang-format and shellcheck over all sources
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	@# Its workers have 3 seconds to start, which is too short on a busy machine: status 2.
	.venv/bin/mypy --num-workers 2 || { [[ $$? == 2 ]] && .venv/bin/mypy; }
	.venv/bin/clang-format --dry-run --Werror kernels/*.[ch] kernels/*/*.[ch] tests/*/*.c
	shellcheck environments/*/*.sh containers/*.sh tests/*.sh tests/*/*.sh reframe_tests/*/*.sh .ci/run

# Every pattern x method x mode of each stack's kernels, with two counts of processes; warnings are errors.
test-kernels: setup-test
	@$(PARTS) '$(MAKE)' $(KERNEL_TESTS)

$(KERNEL_TESTS): test-kernels-%: setup-test
	@$(COUNTED) $(CCACHE) $(IOGAUGE) build --for-tests --stack $*
	@$(CTEST) .local/build/test-$* -L quick

# With the other counts.
$(KERNEL_TESTS:test-%=test-more-%): test-more-kernels-%: setup-test
	@$(IOGAUGE) build --for-tests --stack $*
	@$(CTEST) .local/build/test-$* -L more

# The same with address and undefined behaviour sanitizers. The options of odd counts are the patterns', so
# three methods show them.
test-sanitizers: setup-test
	@$(IOGAUGE) build --stack openmpi --dir .local/build/test-sanitize -- -DIOKERNEL_WERROR=ON -DIOKERNEL_SANITIZE=ON \
		'-DIOKERNEL_TEST_PROCESSES=1;2'
	@$(CTEST) .local/build/test-sanitize -L quick
	@$(CTEST) .local/build/test-sanitize -L more -R '[.](posix|mpiio[.]collective|hdf5[.]collective)[.]more$$'

# Six files of tests at a time: they wait a good part of their time, for hung jobs and schedulers.
PYTEST = $(CACHED) $(COUNTED) $(PYTHON) -m pytest -q --dist loadfile --no-loadscope-reorder --numprocesses 6 \
	--durations 20 --durations-min 10

test-python: setup-test
	$(PYTEST) -m 'not slow and not newer and not readers and not documents' $(ARGS)

test-python-slow: setup-test
	$(PYTEST) -m 'slow and not newer and not readers and not documents' $(ARGS)

soak: setup-test ### 10,000 short runs, with other work beside them: crashes and hangs are counted (ARGS='--runs 500')
	@$(PYTHON) -m tests.soak $(ARGS)

# Lines that no test enters, error paths among them, of Python and of C. Counting makes the tests slower.
coverage: COUNTED = IOGAUGE_COVERAGE=1
coverage: PYTHON = .venv/bin/coverage run --data-file=$(CURDIR)/$(COUNTS)/counts
coverage: setup-test ### the lines that no test enters (an hour)
	@rm -rf $(COUNTS) && mkdir -p $(COUNTS)
	@PYTHON='$(PYTHON)' COUNTED='$(COUNTED)' $(PARTS) '$(MAKE) -e' test-kernels-openmpi test-python test-python-slow
	@.venv/bin/coverage combine --quiet --data-file=$(COUNTS)/counts
	@.venv/bin/coverage report --data-file=$(COUNTS)/counts
	@.venv/bin/gcovr --root . --filter kernels/ --exclude kernels/tests/ --gcov-ignore-parse-errors=all \
		.local/build/test-openmpi

# What depends on chance or on time: each night with another seed, which it prints.
nightly-selftest: setup-test
	@$(PYTHON) -m tests.selftest --seed $(SEED) --minutes 30

nightly-fuzz: setup-test
	@$(MAKE) --no-print-directory fuzz CASES=20000 SEED=$(SEED)

nightly-soak: setup-test
	@$(PYTHON) -m tests.soak --runs 2000 --seed $(SEED)

nightly-soak-kills: setup-test
	@$(PYTHON) -m tests.soak_kills --kills 20 --ingest-kills 100 --seed $(SEED)

# What is downloaded for tests alone: a newer generation of libraries, with half a minute of its certificate; the
# newest MPICH, from its wheel; readers of RAMSES dumps. Where no root of a release can be made, its tests are
# skipped and say why; so set-up may fail here.
test-newer: setup-test $(READERS)/made
	@environments/debian/setup.sh --test --releases || true
	$(CACHED) $(PYTHON) -m pytest -q --dist loadfile -n 3 -m 'newer or readers' tests/site_configs tests/readers $(ARGS)
	$(CACHED) IOGAUGE_ATTACKED=trixie-openmpi $(PYTHON) -m pytest -q -n 0 -m newer tests/reframe_tests/test_attackers.py

test-fs: ### mount every file system that this machine can, test on each, unmount (ARGS='xfs moosefs')
	@environments/debian/setup.sh --test --fs
	@$(PYTHON) -m tests.mounted_fs $(ARGS)

guest: setup-test ### run a command in a virtual machine with Debian's kernel (ARGS='--minutes 5 -- uname -r')
	@environments/debian/setup.sh --test --fs
	@$(PYTHON) -m tests.guest $(ARGS)

spack-mirror: ### archives for environments/from-source, each checked by sha256; says what is missing (FROM=FOLDER)
	@environments/debian/setup.sh --python-only
	@$(PYTHON) -m tools.spack_mirror $(FROM)

test-logs: setup-test ### Darshan logs of others are read as PyDarshan does, and each command runs on them (LOGS=FOLDER)
	IOGAUGE_LOGS='$(abspath $(LOGS))' $(PYTHON) -m pytest -q tests/analysis/darshan/test_public_logs.py $(ARGS)

test-slurm: setup-test ### only the tests with a real Slurm (two nodes on this machine)
	$(PYTHON) -m pytest -q -m slurm tests/reframe_tests/test_slurm.py tests/reframe_tests/test_slurm_scripts.py $(ARGS)

test-pbs: setup-test ### only the tests with a real OpenPBS (two nodes; PBS_EXEC, else /opt/pbs)
	tests/pbs_nodes.sh $(PYTHON) -m pytest -q -m pbs tests/reframe_tests/test_pbs.py $(ARGS)

selftest: setup-test ### inject faults, and count what is seen of them (ARGS='--short --seed N --only REGEX --minutes M')
	@$(PYTHON) -m tests.selftest $(ARGS)

replay-faithful: setup ### programs beside their replays, and advice beside changed programs (ARGS='--stack mpich --dir DIR')
	@$(PYTHON) -m tests.replay_faithful $(ARGS)

replay-size: setup ### plan the replay of 10^7 accesses of 4,096 processes: seconds and memory (ARGS='--accesses 100000')
	@$(PYTHON) -m tests.sizes replay $(ARGS)

blame-size: setup ### find who raced among 10^6 accesses of 64 processes: seconds (ARGS='--accesses 100000')
	@$(PYTHON) -m tests.sizes blame $(ARGS)

simulate: setup-test ### what the statistics promise, simulated (7 minutes; ranges in docs/analysis.md)
	@$(PYTHON) -m tests.simulate $(ARGS)

docs: $(DOCS)/made ## the documentation as a site in .local/site; a dead link fails
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo 'docs: .local/site; to search in it: python3 -m http.server --directory .local/site'

# In a separate folder: `run` and `test` do without it.
$(DOCS)/made: requirements/docs.lock
	@python3 -m venv --clear $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
		-r requirements/docs.lock
	@touch $@

$(READERS)/made: requirements/readers.lock
	@python3 -m venv --clear $(READERS)
	@$(READERS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes --only-binary :all: \
		-r requirements/readers.lock
	@touch $@

clean: ## remove what was built and measured, but not the store, .venv and the libraries
	rm -rf .local/build
	[ ! -d output ] || find output -mindepth 1 -maxdepth 1 ! -name store -exec rm -rf -- {} +
