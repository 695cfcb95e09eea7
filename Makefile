# Each target is a line or two that could be typed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# For a machine without an NVIDIA GPU, a smaller torch:
#   make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
PIP_ARGS ?=

.PHONY: install format lint types test demo check

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name yours: make PYTHON=python3.12 …" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "venv is missing; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25"
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -e ".[dev,model]"
	@touch $@

format: install
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: install
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports

types: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright

test: install
	$(BIN)/webmcp-agent doctor --get
	$(BIN)/pytest -n auto

demo: install
	$(BIN)/webmcp-agent doctor --get
	$(BIN)/webmcp-agent run shop: "Find trail running shoes under 100 euros, open them and add two to the cart" --yes \
		--record on --film gif=on --out runs/demo
	cd runs/demo && for kind in mp4 webm gif; do test ! -f video.$$kind || cp video.$$kind ../../demo.$$kind; done
	@ls demo.*

check:
	bash .ci/run
