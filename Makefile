# Every target makes what it needs in .venv. Choose an interpreter with `make test PYTHON=python3.12`.
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c '$(USABLE)' 2>/dev/null && echo $$p && break; done)
NEEDS_PYTHON := needs Python >= 3.11 with venv (Debian: apt install python3-venv); name one with PYTHON=/path/to/python3
# One worker more than there are cores: many tests wait for browsers, servers and killed processes.
WORKERS := $(shell echo $$(( $$(nproc 2>/dev/null || echo 4) + 1 )))
PYTEST_FLAGS ?= -n $(WORKERS) --maxprocesses 8
# Exact versions of all packages. `make test CONSTRAINTS=` takes the newest instead.
CONSTRAINTS ?= constraints.txt
PIP_INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))
# A module that chooses between a C extension and its Python twin chooses when it is imported. These tests run once for
# each of them; other tests, such as those of the container, use both in one run.
PURE_TESTS := $(addprefix tests/,test_golden.py layers/test_golden.py storage/test_filters.py)

# The stamps carry a checksum of all that an installation depends on, so a stale or moved .venv is made anew.
C_SOURCES := $(sort $(wildcard $(foreach folder,rlds_kit/* trials/frames,$(folder)/*.c $(folder)/*.h)))
SOURCES := setup.py pyproject.toml rlds_kit/_version.py $(CONSTRAINTS) $(C_SOURCES)
KEY := $(shell { pwd; $(PYTHON) -VV; cat $(SOURCES); } 2>&1 | cksum | cut -d ' ' -f 1)
RUN := .venv/bin/python

.PHONY: help demo test test-all lint docs bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile

demo: .venv/$(KEY).demo  ## record Atari episodes, verify them, serve them through tfds.load, plot them
	$(RUN) examples/demo.py

test: .venv/$(KEY).dev  ## run the tests; those of the filters also on their pure-Python twins
	$(RUN) -m pytest $(PYTEST_FLAGS)
	RLDS_KIT_PURE=1 $(RUN) -m pytest $(PURE_TESTS)

test-all: .venv/$(KEY).dev  ## run what `make test` leaves out: the tests marked `thorough`, and sweeps with all repetitions
	$(RUN) -m pytest $(PYTEST_FLAGS) --hypothesis-profile=thorough -m '(thorough or sweep) and not slow'

lint: .venv/$(KEY).dev  ## check style, format, types and floors
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy --num-workers auto
	.venv/bin/lint-imports --no-cache

docs: .venv/$(KEY).dev  ## build the documentation site in site/; a broken link or anchor fails
	rm -rf build/.cache build/site site
	$(RUN) docs/website.py build/docs
	.venv/bin/zensical build --strict --config-file build/mkdocs.yml
	mv build/site site

bench: .venv/$(KEY).dev  ## measure recording against its peers, side by side
	$(RUN) benchmarks/record.py

clean:  ## remove .venv and everything else that targets and tools made
	rm -rf .venv build dist site *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache rlds_kit/*/_*.so trials/frames/_*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/$(KEY).demo:
	@$(or $(PYTHON),false) -c '$(USABLE)' 2>/dev/null || { echo "make: $(NEEDS_PYTHON)" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(PIP_INSTALL) --editable '.[atari,plot,tfds]'
	touch $@

.venv/$(KEY).dev: .venv/$(KEY).demo
	$(PIP_INSTALL) --editable '.[dev-all]'
	$(PIP_INSTALL) --no-deps ocatari==2.2.1  # it demands NumPy 1 and works with 2 as rlds_kit.shaping.objects calls it
	rm -rf .venv/lib/python3*/site-packages/tests  # it brings one, which would hide ours
	touch $@
