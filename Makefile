# Every target sets up what it needs on a fresh machine with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EVERYTHING := $(VENV)/.everything
# pip tries versions one by one where the lowest ones are asked for; uv knows at once.
LOWER := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint $(VENV)/lowest.txt

# Copies of the process that collects the tests (tests/copies.py). Two more than there are cores: tests of browsers and
# servers wait more than they work.
COPIES ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)

# An environment in which nothing but the package and what it needs is installed.
CLEAN := build/release/clean/bin

# Databases of the tests wait for the disk after every answer: they lie in memory where that is possible.
SCRATCH := $(if $(wildcard /dev/shm/.),TMPDIR=/dev/shm)

# Pythons of `make matrix`: commands or paths, as many as there are.
MATRIX ?= python3.11 python3.12 python3.13

# What `test` needs: the package with all that is optional, and the groups of pyproject.toml.
NEEDED := --editable '.[all]' --group test --group lint --group docs --group build
GROUPS := --extra all --group test --group lint --group docs --group build

# What `quick` runs: formulas, engine, the rooms, that all doors agree, and one page in a browser.
QUICK := tests/theory tests/engine tests/model tests/base/test_symbols.py tests/base/test_results.py tests/test_rooms.py \
  tests/test_doors_agree.py tests/apps/test_web_browser.py::test_the_answer_follows_the_slider_and_is_that_of_the_function

# What Python compiled of the sources is kept: every worker and every command of the tests would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick release lint bench docs matrix resolve lock lowest clean

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(INSTALLED): pyproject.toml $(BIN)/pip
	$(BIN)/pip install --quiet --editable .
	touch $@

$(EVERYTHING): pyproject.toml $(BIN)/pip
	$(if $(LOWEST),$(BIN)/pip install --quiet uv && $(BIN)/python .ci/lowest.py > $(VENV)/lowest.txt)
	$(if $(LOCKED),$(BIN)/pip install --quiet --require-hashes --requirement .ci/lock.txt)
	$(if $(LOWEST),$(LOWER),$(BIN)/pip install --quiet $(if $(LOCKED),--no-build-isolation)) $(NEEDED)
	touch $@ $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/python -m weakly demo --out demo --force

test: $(EVERYTHING)
	$(SCRATCH) $(BIN)/python -m pytest --copies $(COPIES)

# At most a minute, to be run all the time. It leaves out what takes longer or changes seldom: formats and files (tests/io),
# posteriors, methods, studies but for what all doors agree on, the command line's own tests, the labeler, the server's
# behaviour under abuse, all but one test in a browser, PostgreSQL, the documentation, docstrings, compiled code, the release.
quick: $(EVERYTHING)
	$(SCRATCH) $(BIN)/python -m pytest --copies $(COPIES) $(QUICK)

# The suite under every Python, and with the lowest versions of the dependencies that pyproject.toml allows.
matrix: resolve
	for python in $(MATRIX); do $(MAKE) test PYTHON=$$python VENV=.venv-$$(basename $$python) || exit 1; done
	$(MAKE) lowest PYTHON=$(firstword $(MATRIX))

# Whether the pip of a fresh environment finds versions that go together, under every Python; nothing is installed.
resolve:
	for python in $(MATRIX); do \
	  $$python -m venv --clear build/resolve && build/resolve/bin/pip install --quiet --upgrade pip \
	  && build/resolve/bin/pip install --quiet --dry-run $(NEEDED) && echo "$$python: resolved" || exit 1; \
	done
	rm -rf build/resolve

# The versions of CI, with their hashes, for every Python; `LOCKED=1` installs these.
lock: $(BIN)/pip
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml $(GROUPS) --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-header --quiet --upgrade --output-file .ci/lock.txt

lowest:
	$(MAKE) test VENV=.venv-lowest LOWEST=1

# The archives as they are uploaded, the wheel built from the sdist, installed with what they need in an environment that
# has nothing else; outside of the source the installed command makes its demo and checks a file of it.
release: $(EVERYTHING)
	rm -rf build/release && mkdir -p build/release/away
	$(BIN)/python -m build --no-isolation --outdir build/release .
	sed -n 's/^\([A-Za-z0-9._-]*==[^ ]*\( ;[^\\]*\)\{0,1\}\).*/\1/p' .ci/lock.txt > build/release/versions.txt
	$(PYTHON) -m venv build/release/clean
	$(CLEAN)/pip install --quiet $(if $(LOCKED),--constraint build/release/versions.txt) build/release/*.whl
	$(CLEAN)/pip check
	for archive in build/release/*.whl build/release/*.tar.gz; do \
	  $(CLEAN)/pip install --quiet --force-reinstall --no-deps $$archive && cd build/release/away && rm -rf demo \
	  && ../clean/bin/weakly demo --out demo > demo.txt && ../clean/bin/weakly check demo/pilot.tsv \
	  && ../clean/bin/python -c "import weakly; print(weakly.__file__)" | grep /site-packages/weakly/ \
	  && cd $(CURDIR) || exit 1; \
	done

lint: $(EVERYTHING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(EVERYTHING)
	$(BIN)/python -m benchmarks
	mkdir -p build && $(BIN)/python -m benchmarks.bench_information --out build/information.json

docs: $(EVERYTHING)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(VENV)-* demo site build dist
