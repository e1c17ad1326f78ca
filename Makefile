SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# every recipe finds the tools of .venv (and GATK, linked there) before those of the system
export PATH := $(CURDIR)/.venv/bin:$(PATH)
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

PYTEST_ARGS ?=

# tests start Python by the hundred: none shall compile anew what it imports
unexport PYTHONDONTWRITEBYTECODE

# the tests of a file share what is slow to make, so one process runs them; tests/conftest.py says in which order
BY_FILE := --dist loadfile --no-loadscope-reorder

.PHONY: help setup setup-bwa-mem4 image installed doctor demo demo-germline demo-tuxedo demo-throughput test test-fast unit e2e test-long test-bench test-slurm test-numa test-faults test-image rehearsal rehearsal-data rehearsal-reference rehearsal-map rehearsal-cohort rehearsal-rna soak mutants mutants-rules lint lint-form lint-types format bench bench-many docs docs-serve lock clean

help: ## say what there is to make
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 20

PREFIX = # of the command line alone: others mean other things by a variable of that name

setup: ## install what this machine lacks (PREFIX=FOLDER: unpack it there, without root); what is there is left alone
	@scripts/setup/install $(if $(PREFIX),--prefix '$(PREFIX)')

setup-bwa-mem4: installed ## build bwa-mem4 (mapper: bwa-mem4) into .tools: some minutes
	@scripts/setup/bwa-mem4

BASE ?= debian:12
IMAGE ?= genomes-per-day
IMAGE_ARGS ?=
BUILDER ?= $(firstword $(foreach name,podman buildah docker,$(if $(shell type -P $(name)),$(name))))

image: ## build a container image with gpd and all tools (BASE=debian:12, IMAGE=NAME, BUILDER=docker, IMAGE_ARGS=...)
	@[ -n "$(BUILDER)" ] || { echo "make image: it takes podman, buildah or docker, and none is on PATH" >&2; exit 2; }
	@$(BUILDER) build --file envs/Containerfile --build-arg BASE=$(BASE) --tag $(IMAGE) $(IMAGE_ARGS) .

installed:
	@scripts/setup/install --quiet

doctor: installed ## show the tools and the machine; fails when a pipeline could not run
	@gpd doctor

demo: installed ## simulate small cohorts, run both pipelines on them, and measure a small throughput study
	@gpd demo

demo-germline demo-tuxedo demo-throughput: demo-%: installed ## one part of the demo alone
	@gpd demo $*

test: lint unit e2e ## lint, units, dry runs, and what is essential of the pipelines with the real tools

PINNED := scripts/snakemake-executor-plugin-pinned/snakemake_executor_plugin_pinned

NOT_UNITS := tests/e2e tests/slurm tests/numa tests/faults tests/image tests/soak tests/mutants scripts/bench # whose imports no unit test tries

NEEDS_NO_TOOL := not long and not e2e and not bench and not slurm and not numa and not faults and not image

test-fast: lint ## lint, units and dry runs, without those that take long
	@pytest -m "$(NEEDS_NO_TOOL) and not deep" --numprocesses 2 $(BY_FILE) $(PYTEST_ARGS)

# more processes than CI has cores: tests wait for jobs to end, for signals and for disks
unit: installed ## tests that need no tool
	@pytest -m "$(NEEDS_NO_TOOL)" --numprocesses 3 $(BY_FILE) $(PYTEST_ARGS)

e2e: installed
	@pytest -m "e2e and not long" --numprocesses 4 $(BY_FILE) $(PYTEST_ARGS)

test-long: installed ## what make test leaves out: deep, slow, or a variation of what it has
	@pytest -m long --numprocesses 3 $(BY_FILE) $(PYTEST_ARGS)

test-bench: installed ## whether each benchmark works, in its smallest size
	@pytest -m bench --numprocesses 2 $(PYTEST_ARGS)

# as above: Slurm's own delays are most of what these take
test-slurm: installed ## the workflow through a real Slurm of several nodes, which is started for it
	@scripts/setup/slurm --quiet
	@pytest -m slurm --numprocesses 3 $(BY_FILE) $(PYTEST_ARGS)

# one machine a process: each is emulated on all cores
test-numa: installed ## the launcher on a virtual machine of 2 sockets and 4 NUMA nodes, which is started for it
	@scripts/setup/numa --quiet
	@pytest -m numa --numprocesses 2 $(BY_FILE) $(PYTEST_ARGS)

# a case is a folder of its own, so any process takes any; one more than CI has cores, as above
test-faults: installed ## faults of every kind in the way of the real tools (tests/faults); as root
	@pytest -m faults --numprocesses 3 --dist worksteal $(PYTEST_ARGS)

test-image: installed ## build the image on a base of Debian's packages, and run the demos inside; as root
	@scripts/setup/image-tools --quiet
	@pytest -m image $(PYTEST_ARGS)

SCALE ?= 1
REHEARSAL ?= rehearsal-run

# a job for each chromosome and each sample's reads of one: a run that was cut off goes on where it was
rehearsal-data: installed ## simulate a genome of human size and three samples of it (SCALE=0.001: all contigs, short)
	@snakemake --snakefile resources/simulation/Snakefile --directory $(REHEARSAL) --workflow-profile none --cores all \
		--config design=$(CURDIR)/resources/rehearsal scale=$(SCALE)
	@cp resources/rehearsal/config.yaml $(REHEARSAL)

# its JVMs compile for long walks, as a genome's do: the shards of a short or shallow one are short, so that what they
# take a gigabase would be the first compiler's
LONG_WALKS := _JAVA_OPTIONS="$${_JAVA_OPTIONS:--XX:-TieredCompilation}"
REHEARSE := $(LONG_WALKS) gpd run germline --directory $(REHEARSAL) --configfile $(REHEARSAL)/config.yaml $(REHEARSAL_ARGS)

rehearsal-reference: rehearsal-data ## the first stage of make rehearsal: the mapper's index, and what all samples share
	@$(REHEARSE) -- --until bwa_index indexed_vcf n_free_intervals

rehearsal-map: rehearsal-data ## its second stage: the alignments
	@$(REHEARSE) -- --until base_recalibration

rehearsal: rehearsal-data ## the germline pipeline on a genome of human size, as far as this machine's disk and patience hold
	@$(REHEARSE)

COHORT ?= 1000

rehearsal-cohort: installed ## joint calling of many small samples (COHORT=1000), in one workflow
	@[ -e $(REHEARSAL)-cohort ] || python resources/demo/germline/simulate_cohort.py --output $(REHEARSAL)-cohort \
		--samples $(COHORT) --length 20000 --coverage 12
	@gpd run germline --directory $(REHEARSAL)-cohort --configfile $(REHEARSAL)-cohort/config.yaml \
		$(REHEARSAL_ARGS) -- --config filter=hard

REPLICATES ?= 15

rehearsal-rna: installed ## differential expression among 4 conditions of many small samples (REPLICATES=15), in one workflow
	@[ -e $(REHEARSAL)-rna ] || python resources/demo/tuxedo/simulate_experiment.py --output $(REHEARSAL)-rna \
		--conditions 4 --replicates $(REPLICATES)
	@gpd run tuxedo --directory $(REHEARSAL)-rna --configfile $(REHEARSAL)-rna/config.yaml $(REHEARSAL_ARGS)

HOURS ?= 12
SOAK_ARGS ?=

soak: installed ## random cohorts with random faults for so many hours (HOURS=12), as root with full disks, too
	@python tests/soak/soak.py --hours $(HOURS) $(SOAK_ARGS)

MUTANTS_ARGS ?=

mutants: installed ## whether a test misses each small change of the launcher and of input checks (MUTANTS_ARGS=runtime); hours
	@python tests/mutants/modules.py $(MUTANTS_ARGS)

mutants-rules: installed ## whether a test misses each argument of the rules' commands (MUTANTS_ARGS=haplotype_caller); hours
	@python tests/mutants/rules.py $(MUTANTS_ARGS)

lint: installed ## the checks of form, two at once
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-form $(LINT_TYPES)

lint-form: installed
	@ruff check .
	@ruff format --check .
	@snakefmt --check workflow
	@lint-imports --no-logo

lint-types: installed
	@mypy

LINT_TYPES := $(addprefix lint-types/,$(NOT_UNITS))

$(LINT_TYPES): lint-types/%: lint-types # which fills the cache of all
	@MYPYPATH=scripts:tests:workflow/scripts:$(PINNED):$* mypy --config-file tests/mypy.ini $*

format: installed ## put Python and Snakemake files into form
	@ruff check --fix .
	@ruff format .
	@snakefmt workflow

# each says at its top what it measures and how long that takes; one alone: make bench BENCHES=scripts/bench/plan.py
BENCHES ?= $(wildcard scripts/bench/*.py)
BENCH_ARGS ?=
EVIDENCE ?= docs/evidence/data

bench: installed ## measure what the documentation says, into EVIDENCE (docs/evidence/data); make docs makes pages of it
	@failed=(); for bench in $(BENCHES); do \
			python "$$bench" --json "$(EVIDENCE)/$$(basename "$$bench" .py).json" $(BENCH_ARGS) || failed+=("$$bench"); done; \
		if (( $${#failed[@]} )); then echo "make bench: failed: $${failed[*]}" >&2; exit 1; fi

bench-many: installed ## whether 128 and 512 CPUs have work with 1,000 genomes, on a made-up machine in virtual time
	@$(MAKE) bench BENCHES=scripts/bench/many.py

SITE := docs/_build/html
DOCS_PORT ?= 8000

docs: installed ## write the generated pages of docs/ anew, and build the site in docs/_build; a warning is an error
	@scripts/setup/docs --quiet
	@python -m documentation
	@sphinx-build --quiet --builder html --fail-on-warning --keep-going docs $(SITE)
	@echo "$(SITE)/index.html"

docs-serve: docs ## build the site and show it on this machine (DOCS_PORT=8000)
	@python -m http.server --bind 127.0.0.1 --directory $(SITE) $(DOCS_PORT)

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"
DOCS_EXTRA := python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*project["optional-dependencies"]["docs"], sep="\n")'

lock: installed ## resolve requirements.lock, docs/requirements.lock and envs/vets/requirements.lock anew
	@$(COMPILE) --extra dev --output-file requirements.lock pyproject.toml
	@$(COMPILE) --output-file envs/vets/requirements.lock envs/vets/requirements.txt
	@$(DOCS_EXTRA) | $(COMPILE) --constraint requirements.lock --output-file docs/requirements.lock -

clean: ## remove what set-up and runs made in this folder
	@rm -rf .venv .tools .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis .snakemake demo-run benchmark-run rehearsal-run* docs/_build
