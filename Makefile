# Every target sets up what it needs: a virtual environment in .venv with exactly the versions of requirements.lock.
# Only Python >= 3.11 with its venv module, make and git are expected on the machine.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The interpreter that makes the environment. Override it with: make PYTHON=/path/to/python3 test
PYTHON ?= python3
# Extra arguments: make test ARGS="tests/protos -x", make demo ARGS="--nodes 200", make bench ARGS="throughput --help"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
RESOLVER := .venv-lock
UV_VERSION := 0.13.8
CHART_RENDERER := build/helm
PAGE := build/javascript
HELM_VERSION := 0.2.2
SBOM_CHECKER := build/cyclonedx
CYCLONEDX_VERSION := 11.12.0
WORKFLOW_CHECKER := build/workflows
CHECK_JSONSCHEMA_VERSION := 0.39.0

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Tests and demos start hundreds of processes, which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo kind test test-full mutants release-check release workflows lint javascript bench proto pictures site lock images chart format clean help

demo: $(INSTALLED) ## Schedule a simulated cluster of 1,000 nodes with both processes
	@$(BIN)/poseidon demo $(ARGS)

kind: $(INSTALLED) ## Bind 200 pods in a cluster of your own: by kind, in Docker, or with ARGS=kwok on simulated nodes
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python deploy/trial/run.py $(or $(ARGS),kind)

test: $(INSTALLED) ## Run the tests
	@echo "==> tests"
	@$(PYTEST) $(ARGS)

test-full: $(INSTALLED) ## Run the tests with all their examples, and those marked full
	@echo "==> tests in full"
	@EFFORT=1 $(PYTEST) --timeout 300 $(ARGS)

mutants: $(INSTALLED) ## Put small faults into the programs and see which the tests notice
	@echo "==> mutants"
	@$(BIN)/python -m tests.mutants $(ARGS)

# One after the other: each has the machine to itself, and the first that fails ends it.
release-check: ## Run all that has to pass before a release, for about an hour
	@for target in lint test-full site workflows chart bench release; do $(MAKE) $$target ARGS= || { echo "==> not to be released: make $$target failed" >&2; exit 1; }; done
	@echo "==> ready to be released: lint, test-full, site, workflows, chart, bench and release passed; see dist"

release: $(INSTALLED) ## Build all files of a release into dist: packages, images, chart, component list, notes, checksums
	@echo "==> release"
	@test -d $(SBOM_CHECKER) || $(BIN)/python -m pip install -qq --target $(SBOM_CHECKER) "cyclonedx-python-lib[json-validation]==$(CYCLONEDX_VERSION)"
	@$(BIN)/python deploy/release.py dist $(ARGS)
	@PYTHONPATH=$(SBOM_CHECKER) $(BIN)/python -m pytest -n 0 tests/deploy/test_release.py -k cyclonedx

# The schemas of the checker are those that editors use; nothing else needs it.
workflows: $(INSTALLED) ## Check the workflows of GitHub Actions against their schema
	@echo "==> workflows"
	@test -d $(WORKFLOW_CHECKER) || $(BIN)/python -m pip install -qq --target $(WORKFLOW_CHECKER) check-jsonschema==$(CHECK_JSONSCHEMA_VERSION)
	@PYTHONPATH=$(WORKFLOW_CHECKER) $(BIN)/python -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

lint: $(INSTALLED) ## Check style, formatting, types and the layers of imports, of the dashboard's scripts too
	@echo "==> ruff check"
	@$(BIN)/ruff check .
	@echo "==> ruff format"
	@$(BIN)/ruff format --check .
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> import layers"
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) javascript

# Checked as a copy beside which types stand in for the minified libraries.
javascript: ## Check style, formatting and types of the dashboard's scripts and styles, where npm is there
	@echo "==> javascript"
	@if ! command -v npm >/dev/null; then echo "npm: none, the dashboard's scripts are not checked"; exit 0; fi; set -e; \
	rm -rf $(PAGE)/assets; mkdir -p $(PAGE); cp -r poseidon/ui/javascript/. poseidon/ui/assets $(PAGE); rm -rf $(PAGE)/assets/vendor/*; \
	for library in preact sankey uplot; do cp $(PAGE)/vendored.d.ts $(PAGE)/assets/vendor/$$library.d.ts; done; cd $(PAGE); \
	cmp -s package-lock.json node_modules/.lock || { npm ci --no-audit --no-fund --silent && cp package-lock.json node_modules/.lock; } \
	|| { echo "npm: its packages could not be installed, the dashboard's scripts are not checked"; exit 0; }; \
	node_modules/.bin/biome ci --colors=off --max-diagnostics=20 assets; node_modules/.bin/tsc -p .

bench: $(INSTALLED) ## Measure and compare at small sizes, in under three minutes
	@$(BIN)/python -m benchmarks $(or $(ARGS),small)

proto: $(INSTALLED) ## Regenerate the code of the gRPC contract
	@echo "==> generating protocol code"
	@$(BIN)/python -m protos.generate

pictures: $(INSTALLED) ## Draw the networks in docs/pictures again, and the terminal of the README
	@$(BIN)/firmament draw docs/pictures
	@$(BIN)/python docs/pictures/animate.py docs/pictures/explain.svg

site: $(INSTALLED) ## Build the documents as web pages in build/site; a link that leads nowhere is an error
	@echo "==> site"
	@$(BIN)/python docs/site/stage.py build/site-source
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f docs/site/mkdocs.yml

# Versions that are locked already stay; to move one: make lock ARGS="--upgrade-package NAME", all: ARGS=--upgrade
lock: $(RESOLVER)/.installed ## Bring the lock files in line with pyproject.toml
	@echo "==> resolving"
	@echo '$(BUILD_REQUIREMENT)' | $(RESOLVE) --extra bench --extra dev --extra tracing $(ARGS) -o requirements.lock pyproject.toml -
	@$(call NEEDED_BY,solver,tracing) | $(RESOLVE) -c requirements.lock -o deploy/docker/firmament.lock -
	@$(call NEEDED_BY,bridge,tracing) | $(RESOLVE) -c requirements.lock -o deploy/docker/poseidon.lock -

images: $(INSTALLED) ## Build both images' file systems without a container engine, and start what is in them
	@echo "==> images"
	@$(BIN)/python deploy/docker/rehearse.py build/images

# Helm is a download of 75 MB that nothing else needs; whatever the machine has of it is not used.
chart: $(INSTALLED) ## Compare what the Helm chart installs with what kustomize does
	@echo "==> chart"
	@test -d $(CHART_RENDERER) || $(BIN)/python -m pip install -qq --no-deps --target $(CHART_RENDERER) helm-python-sdk==$(HELM_VERSION)
	@PYTHONPATH=$(CHART_RENDERER) $(BIN)/python -m pytest tests/deploy/test_chart.py

# What one program needs, by its extra and another one alone: a resolver would add all of `dependencies` to it.
NEEDED_BY = $(PYTHON) -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	print("$(BUILD_REQUIREMENT)", *extras["$(1)"], *extras["$(2)"], sep="\n")'

# The package is built with a locked version too, so that nothing is fetched beside the lock.
BUILD_REQUIREMENT := setuptools>=77
RESOLVE := $(RESOLVER)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links

format: $(INSTALLED) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## Remove the environments, caches and build output
	@rm -rf $(VENV) $(RESOLVER) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# No build isolation: it would fetch a setuptools of its own instead of using the locked one. Metadata of an earlier
# install would be kept as they are, and with them an old list of cost models. Modules are compiled here as well, for
# users whose programs may not write beside them: each command would compile all that it loads, for a second.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not: pass one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "==> installing the locked versions into $(VENV) (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --require-hashes -r requirements.lock
	@rm -rf *.egg-info
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q cost_models firmament poseidon protos
	@touch $@

$(RESOLVER)/.installed:
	@$(PYTHON) -m venv $(RESOLVER)
	@$(RESOLVER)/bin/python -m pip install -qq uv==$(UV_VERSION)
	@touch $@
