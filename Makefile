# Everything a fresh machine needs: python3, pip, make and gcc. Each target makes .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: demo test check bench docs fuzz browser install clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "quickfit: making $(VENV) and installing pinned versions (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]' \
		2> $(VENV)/pip.log || { cat $(VENV)/pip.log; exit 1; }
	@touch $@

demo: $(STAMP)
	$(BIN)/quickfit demo

check: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples corpus/pairs
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 -m "not tf and not loads_tf and not browser"

# Only files with the mark are collected: all of them take half a minute each time.
MARKED = $(shell grep -rlE 'mark\.$(1)\b' tests --include='test_*.py')

# `loadfile`: the tests of a file share its runs of TensorFlow. What needs a quiet machine comes last.
test: check browser
	$(BIN)/python -m pytest -q -m browser $(call MARKED,browser)
	$(BIN)/python -m pytest -q -n 2 -m loads_tf --durations=5 $(call MARKED,loads_tf)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "tf and tf_any" --durations=5 $(call MARKED,tf)
	$(BIN)/python -m pytest -q -m "tf and not tf_any" --durations=10 $(call MARKED,tf)

# Debian's Chromium, for the tests of pages; where it cannot be had they are skipped, and say so.
browser:
	@{ command -v chromium && command -v chromedriver; } > /dev/null || { \
		echo "quickfit: installing chromium and its driver for the tests of pages"; \
		apt-get update -qq && apt-get install -y -qq chromium chromium-driver > /dev/null; \
	} || echo "quickfit: chromium cannot be installed here; the tests of pages will be skipped"

bench: $(STAMP)
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/account.py
	$(BIN)/python benchmarks/short.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/lines.py
	$(BIN)/python benchmarks/endings.py
	$(BIN)/python benchmarks/harmless.py --times 3 --beside 2
	$(BIN)/python benchmarks/stalls.py --only 'not watched' watched
	$(BIN)/python benchmarks/wait_share.py
	$(BIN)/python benchmarks/demo_gain.py
	$(BIN)/python benchmarks/pairs.py
	$(BIN)/python benchmarks/variants.py
	$(BIN)/python benchmarks/healthy.py
	$(BIN)/python benchmarks/fixes.py
	$(BIN)/python benchmarks/fixes.py --null 20
	$(BIN)/python benchmarks/fixes.py --styles
	$(BIN)/python benchmarks/data_images.py
	$(BIN)/python benchmarks/data_packs.py
	$(BIN)/python benchmarks/data_pack.py
	$(BIN)/python benchmarks/data_training.py
	$(BIN)/python benchmarks/data_generator.py
	$(BIN)/python benchmarks/guard_cost.py
	$(BIN)/python benchmarks/training_rows.py
	$(BIN)/python benchmarks/tune.py

# The site in build/site, with a real report for every cause: about a minute. Opens without a server.
docs: $(STAMP)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "quickfit: build/site/index.html"

# Changed inputs for every reader; what it finds is kept in corpus/fuzz. See docs/fuzzing.md.
FUZZ_SECONDS ?= 120
FUZZ_SEED ?= 1
FUZZ_KIND ?=
fuzz: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -W ignore -m fuzz \
		--seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --kind "$(FUZZ_KIND)"

clean:
	rm -rf $(VENV) .quickfit build dist src/*.egg-info .mypy_cache .ruff_cache
