# Every verb makes what it needs in .venv. Choose an interpreter with `make test PYTHON=python3.12`.
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c '$(USABLE)' 2>/dev/null && echo $$p && break; done)
NEEDS_PYTHON := needs Python >= 3.11 with venv (Debian: apt install python3-venv); name one with PYTHON=/path/to/python3
PYTEST_FLAGS ?= -n auto --maxprocesses 8

# The stamps carry a checksum of all that an installation depends on, so a stale or moved .venv is made anew.
SOURCES := setup.py pyproject.toml rlds_kit/_version.py $(wildcard rlds_kit/*/_*.c studio/frames/_*.c)
KEY := $(shell { pwd; $(PYTHON) -VV; cat $(SOURCES); } 2>&1 | cksum | cut -d ' ' -f 1)
RUN := .venv/bin/python

.PHONY: help demo test lint bench clean

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' Makefile

demo: .venv/$(KEY).demo  ## record Atari episodes, verify them, serve them through tfds.load, draw them
	$(RUN) examples/demo.py

test: .venv/$(KEY).dev  ## run all tests; those of the container and the filters also on the pure-Python twins
	$(RUN) -m pytest $(PYTEST_FLAGS)
	RLDS_KIT_PURE=1 $(RUN) -m pytest $(PYTEST_FLAGS) --ignore=tests/studio -k 'riegeli or filters or golden'

lint: .venv/$(KEY).dev  ## check style, format and types
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

bench: .venv/$(KEY).dev  ## measure recording against its peers, side by side
	$(RUN) benchmarks/record.py

clean:  ## remove .venv and everything else that the verbs and tools made
	rm -rf .venv build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache rlds_kit/*/_*.so studio/frames/_*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/$(KEY).demo:
	@$(or $(PYTHON),false) -c '$(USABLE)' 2>/dev/null || { echo "make: $(NEEDS_PYTHON)" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[atari,plot,tfds]'
	touch $@

.venv/$(KEY).dev: .venv/$(KEY).demo
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
