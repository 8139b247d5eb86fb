# Every target sets up what it needs on a fresh machine with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EVERYTHING := $(VENV)/.everything

.PHONY: demo test lint bench docs clean

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(INSTALLED): pyproject.toml $(BIN)/pip
	$(BIN)/pip install --quiet --editable .
	touch $@

$(EVERYTHING): pyproject.toml $(BIN)/pip
	$(BIN)/pip install --quiet --editable '.[all]' --group test --group lint --group docs
	touch $@ $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/python -m weakly demo --out demo

test: $(EVERYTHING)
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(EVERYTHING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(EVERYTHING)
	$(BIN)/python -m benchmarks
	mkdir -p build && $(BIN)/python -m benchmarks.bench_information --out build/information.json --docs docs

docs: $(EVERYTHING)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) demo site build dist
