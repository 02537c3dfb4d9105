# The only entry points: developers and CI call the same.
#
# The machine brings Rust, Python 3.11 or newer, a C compiler and make; everything else is installed into
# .venv from the locked versions in requirements/. Stamp files keep `make` from doing work twice.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
BUILT := $(VENV)/.built
# 1: `make wheel` shows the compiler what runs do (PGO) where the toolchain can; packaging/train.py says which runs.
PGO :=
WHEEL := dist/.built$(if $(PGO),-profiled)
DEMO := out/demo
# 1: `make record` repeats all experiments, and not only those whose records are out of date.
ALL :=
# Cargo's options for clippy and the tests; .ci/run has some.
TESTED ?=
# What the extension module is built from. Python sources are used where they lie.
RUST := Cargo.toml Cargo.lock pyproject.toml $(wildcard .cargo/*) $(shell find crates -type f)

# maturin must find this environment, and no other that happens to be active.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX PYTHONPATH PYTHONHOME

.PHONY: help
help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

.PHONY: build
build: $(BUILT) ## Build; afterwards .venv/bin/duetime is the command

.PHONY: try
try: $(TOOLS) ## Build what has changed in the crates with little optimization, to try it; `make build` builds it for runs
	cargo build --profile trial --locked --package duetime-python --features pyo3/extension-module
	install target/trial/lib_core.so python/duetime/_core.abi3.so
	rm -f $(BUILT)

.PHONY: demo
demo: $(BUILT) ## Compare TCP, DCTCP and D2TCP on a fan-in workload: a table and a picture
	$(BIN)/duetime compare scenarios/large-messages.toml --transports tcp,dctcp,d2tcp --out $(DEMO)
	$(BIN)/duetime plot $(DEMO) > /dev/null
	@printf '\nThe picture: %s\n' $(DEMO)/plots/overview.png

.PHONY: test
test: BESIDE := programs playground fuzz-targets
test: lint test-rust test-linux test-fuzz test-clients test-testbed test-python test-bench test-wheel site ## Run every check and test

.PHONY: lint
lint: $(BUILT) locks words ## Check format, lints, types, lock files and words; warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked $(TESTED) -- -D warnings
	for crate in d2tcp testbed clients/rust; do cargo fmt --manifest-path deploy/linux/$$crate/Cargo.toml --check; done
	@if why=$$(deploy/linux/prepare); then set -x; cargo clippy --all-targets --locked $(LINUX) -- -D warnings; \
	else echo "SKIPPED: lints of the Linux tool: $$why"; fi
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/mypy bench/run.py bench/instructions.py bench/scale.py bench/threads.py docs/generate.py docs/man.py docs/notebooks.py tests/check_wheel.py packaging/locks.py packaging/words.py packaging/portable.py packaging/train.py playground/build.py playground/link.py
	$(BIN)/mypy docs/conf.py
	MYPYPATH=bench:python $(BIN)/mypy -p validate
	MYPYPATH=bench:python $(BIN)/mypy bench/beside.py bench/hpcc_ns3.py bench/uec.py
	$(BIN)/mypy deploy/linux/bench.py packaging/release.py
	MYPYPATH=deploy/linux/clients/python:deploy/linux/clients/trial $(BIN)/mypy deploy/linux/clients/python/d2tcp deploy/linux/clients/trial/*.py
	playground/lint

.PHONY: locks
locks: $(TOOLS) ## Check that every lock file fits what it locks: crates, Python packages, Go modules, npm packages
	$(BIN)/python packaging/locks.py

.PHONY: words
words: ## Check comments, pages and commit subjects for the field's words; packaging/words.py FOLDER prints the places
	$(PYTHON) packaging/words.py

.PHONY: fmt
fmt: $(TOOLS) ## Format Rust, Python and the playground's scripts
	cargo fmt --all
	for crate in d2tcp testbed clients/rust; do cargo fmt --manifest-path deploy/linux/$$crate/Cargo.toml; done
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	playground/lint --fix

.PHONY: test-rust
test-rust: ## Run the Rust tests
	cargo test --workspace --locked $(TESTED)

.PHONY: test-dummies
test-dummies: ## Run the Rust tests with one more transport, marker, topology and so on, each a file and a line (minutes)
	$(PYTHON) tests/dummies.py

.PHONY: test-python
test-python: $(BUILT) programs playground ## Run the Python tests, two at a time; those by the clock alone
	$(BIN)/pytest --numprocesses 2 --dist loadgroup --durations 30 -m "not real"
	$(BIN)/pytest -m real

.PHONY: goldens
goldens: $(BUILT) ## Write tests/goldens.hashes and goldens.txt anew: the results of runs; say in CHANGELOG.md what moved, and why
	$(BIN)/python tests/goldens.py

.PHONY: test-bench
test-bench: $(BUILT) ## Check that the benchmark workloads do what they should; no timing
	$(BIN)/python bench/run.py --verify

.PHONY: test-wheel
test-wheel: wheel

.PHONY: wheel
wheel: $(WHEEL) ## Build the wheel, install it into a fresh environment and run it there; PGO=1: a faster one, minutes more
	$(BIN)/python tests/check_wheel.py dist/*.whl

.PHONY: bench
bench: $(BUILT) ## Measure speed on the workloads W1, W2, W3 and append to bench/record/
	$(BIN)/python bench/run.py

.PHONY: bench-peers
bench-peers: $(BUILT) ## Measure ns-3 and, with HTSIM=TREE, csg-htsim, UEC=TREE, UEC htsim, HPCC=TREE, HPCC's ns-3 beside duetime (DUETIME=COMMAND)
	PYTHONPATH=bench $(BIN)/python bench/beside.py $(if $(HTSIM),--htsim $(HTSIM)) $(if $(DUETIME),--duetime $(DUETIME))
	$(if $(UEC),$(BIN)/python bench/uec.py $(UEC) $(if $(DUETIME),--duetime $(DUETIME)))
	$(if $(HPCC),$(BIN)/python bench/hpcc_ns3.py $(HPCC) $(if $(PROGRAM),--program $(PROGRAM)) $(if $(DUETIME),--duetime $(DUETIME)))

.PHONY: instructions
instructions: $(TOOLS) ## Count instructions per packet-hop on W1, W2, W3, which load does not change; needs valgrind
	$(BIN)/python bench/instructions.py $(if $(NOTE),--note '$(NOTE)')

.PHONY: scale
scale: $(BUILT) ## Measure how time and memory grow with hosts, fan-in, flows, messages and rates (minutes; 2 GB); LONG=1: 1e8 messages
	$(BIN)/python bench/scale.py $(if $(LONG),--long)

# Where a run of `make validate` is kept; docs/record/validation is what the page shows.
RECORD :=
# A tree of csg-htsim, built by `make -C sim libhtsim.a` there: compared too.
HTSIM :=
# A tree of Ultra Ethernet's htsim, built as its README says: `make bench-peers` compares its own validation.
UEC :=
# A tree of HPCC's ns-3, built as its README says: `make bench-peers` compares slowdowns on identical flows. PROGRAM is its program
# where it was built otherwise.
HPCC :=
PROGRAM :=
# The command that `make bench-peers` measures, where it is another than this environment's.
DUETIME :=
# 1: figures 6 and 7 on real TCP too, ten repeats beside simulations of the same messages (22 minutes); needs root.
KERNEL :=
.PHONY: validate
validate: $(BUILT) ## Hold the simulator against closed forms and, where its wheel is, ns-3; RECORD=DIR keeps the tables
	PYTHONPATH=bench $(BIN)/python -m validate $(if $(RECORD),--record $(RECORD)) $(if $(HTSIM),--htsim $(HTSIM))
ifneq ($(KERNEL),)
	@if why=$$(deploy/linux/prepare); then $(MAKE) --no-print-directory linux; \
	  PYTHONPATH=bench $(BIN)/python -m validate.kernel $(if $(RECORD),--record $(RECORD)); \
	else echo "SKIPPED: real TCP: $$why"; fi
endif

.PHONY: docs
docs: $(BUILT) ## Write anew what the documentation takes from the code and from docs/record
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/man.py
	$(BIN)/python docs/notebooks.py

.PHONY: man
man: $(BUILT) ## Write the man pages anew from the commands
	$(BIN)/python docs/man.py

.PHONY: site
site: $(BUILT) playground ## Build the documentation into out/site; warnings are errors
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -b html docs out/site

.PHONY: record
record: $(BUILT) ## Run again the experiments whose records are out of date (ALL=1: all) and write the numbers into docs/
	@failed=; \
	while read -r name options; do \
	  robust=; if [[ $$name = d2tcp/fig10 ]]; then robust="--robust 20"; fi; \
	  if $(BIN)/duetime reproduce $$name $$options $$robust --out out/reproduce > /dev/null < /dev/null; \
	  then $(BIN)/python docs/generate.py --record out/reproduce/$$name; else failed="$$failed $$name"; fi; \
	done < <($(BIN)/python docs/generate.py --names $(if $(ALL),all,stale)); \
	$(BIN)/python docs/generate.py --examples; \
	if [[ -n $$failed ]]; then echo "not recorded:$$failed" >&2; exit 1; fi

.PHONY: pictures
pictures: $(BUILT) ## Draw the demo's picture of the documentation again if results have moved; `make record` draws the others
	$(BIN)/python docs/generate.py --pictures

# --- The playground: the simulator in a web page, one file that works without a server

WASM := target/wasm32-unknown-unknown/wasm/duetime_wasm.wasm
PAGE := out/playground/playground.html
.PHONY: plugins
plugins: ## Build plugins/*.wasm, built-in laws as plug-ins; needs Rust's target wasm32-unknown-unknown
	@plugins/build

.PHONY: playground
playground: ## Build out/playground/playground.html, a page to try the simulator in; says where it cannot be built
	@if why=$$(playground/prepare); then $(MAKE) --no-print-directory $(PAGE); else echo "SKIPPED: the playground: $$why"; fi

.PHONY: test-playground
test-playground: $(BUILT) playground ## Hold the playground against the installed simulator, in node and in Chromium
	$(BIN)/pytest tests/test_playground.py

$(WASM): $(RUST)
	cargo build --profile wasm --locked --package duetime-wasm --target wasm32-unknown-unknown
	touch $@

$(PAGE): $(WASM) python/duetime/template.toml $(wildcard scenarios/*.toml) \
  $(shell find playground python/duetime/report/assets -type f -not -path '*/node_modules/*')
	$(PYTHON) playground/build.py $(WASM) $@

# --- D2TCP on Linux: workspaces of their own, since they need clang and Linux, and none is part of the simulator

LINUX := --manifest-path deploy/linux/d2tcp/Cargo.toml --target-dir target
TESTBED := target/release/duetime-testbed
CLIENT := --manifest-path deploy/linux/clients/rust/Cargo.toml --target-dir target

.PHONY: linux
linux: $(TESTBED) ## Build target/release/d2tcp, the tool for D2TCP on this machine's kernel
	deploy/linux/prepare
	cargo build --release --locked $(LINUX)

# What the tests as root need: built where it can be, and said where not.
.PHONY: programs
programs:
	@if why=$$(deploy/linux/prepare); then $(MAKE) --no-print-directory linux; \
	else echo "SKIPPED: the programs for the tests on real TCP: $$why"; fi

$(TESTBED): $(shell find deploy/linux/testbed -type f)
	deploy/linux/prepare
	cargo build --release --locked --manifest-path deploy/linux/testbed/Cargo.toml --target-dir target
	touch $@

.PHONY: test-linux
test-linux: ## Test the Linux tool: all of it as root where BPF works, the rest elsewhere
	@if why=$$(deploy/linux/prepare); then set -x; cargo test --locked --no-run $(LINUX); \
	$(if $(BESIDE),trap wait EXIT; $(IDLE) $(MAKE) $(BESIDE) > target/beside.log 2>&1 & )cargo test --locked $(LINUX) -- --nocapture --test-threads 1; \
	else echo "SKIPPED: tests of the Linux tool: $$why"; fi

# What `make test` builds meanwhile, as the tests wait for most of their time. If it fails, it is built again where it is
# needed, and says why there. It runs when no test wants the core.
BESIDE :=
IDLE = $(if $(shell command -v chrt),chrt --idle 0) nice -n 19

.PHONY: linux-hostile
linux-hostile: ## Try to break the Linux tool: malformed calls, kills, foreign pins, greedy users; needs root (minutes)
	deploy/linux/prepare
	cargo test --locked $(LINUX) --test hostile -- --ignored --nocapture
	D2TCP_ROUNDS=200 cargo test --locked $(LINUX) --test kernel rounds_leave_nothing

.PHONY: test-clients
test-clients: ## Test the libraries that tell deadlines: Rust, and Go where it is installed; the rest is among the Python tests
	@if [[ $$(uname -s) == Linux ]]; then set -x; \
	cargo clippy --all-targets --locked $(CLIENT) -- -D warnings; cargo test --quiet --locked $(CLIENT); \
	else echo "SKIPPED: the Rust client: it is for Linux"; fi
	@if command -v go > /dev/null; then cd deploy/linux/clients/go && go vet ./... && go test ./...; \
	else echo "SKIPPED: the Go client: there is no go"; fi
	@if ! command -v go > /dev/null; then echo "SKIPPED: deadlines of gRPC in Go: there is no go"; \
	elif ! (cd deploy/linux/clients/go/d2tcpgrpc && go mod download); then echo "SKIPPED: deadlines of gRPC in Go: no modules"; \
	else cd deploy/linux/clients/go/d2tcpgrpc && go vet ./... && go test ./...; fi

.PHONY: test-testbed
test-testbed: ## Test the testbed's processes; the rest of it is among the Python tests
	@if why=$$(deploy/linux/prepare); then set -x; \
	cargo clippy --all-targets --locked --manifest-path deploy/linux/testbed/Cargo.toml --target-dir target -- -D warnings; \
	cargo test --quiet --locked --manifest-path deploy/linux/testbed/Cargo.toml --target-dir target; \
	else echo "SKIPPED: tests of the testbed's processes: $$why"; fi

.PHONY: kernel-matrix
kernel-matrix: $(BUILT) linux ## Boot Debian's cloud kernels under emulation and try D2TCP on each (minutes)
	$(BIN)/python deploy/linux/matrix/run.py

.PHONY: packages
packages: ## Build the static tool, the deb and the rpm into target/package/out
	deploy/linux/prepare
	deploy/linux/packages/build

.PHONY: test-packages
test-packages: packages $(TOOLS) ## Install the packages into folders of their own, look at them, take them out (minutes)
	PATH=$(CURDIR)/$(BIN):$$PATH deploy/linux/packages/test target/package/out

.PHONY: linux-deadlines
linux-deadlines: $(BUILT) linux ## Measure what deadlines do for unchanged programs beside plain flows; needs root (minutes)
	$(BIN)/python deploy/linux/clients/trial/measure.py

.PHONY: linux-bench
linux-bench: linux ## Measure what D2TCP costs on loopback against cubic, in pairs; needs root
	$(PYTHON) deploy/linux/bench.py

# --- Mutation: each line of the protocols is broken once, and a test must see it

MUTANTS := target/tools/bin/cargo-mutants
# Which files are changed; make mutants FILES=crates/transport/src/recovery/rto.rs takes minutes.
FILES := $(addsuffix /**/*.rs,$(addprefix crates/,transport/src sim/src/fabric/port sim/src/faults)) \
  $(addprefix crates/sim/src/fabric/,qdisc_ports.rs faulty.rs shared_buffer.rs)
MUTATE = $(MUTANTS) mutants --iterate --output out --cargo-arg=--locked
# The files of one crate, and that a mutant survived or ran for ever stops no pass: mutants.out says which.
OF = $(foreach file,$(filter crates/$(1)/%,$(FILES)),--file '$(file)')
PASSED = || [[ $$? == [23] ]]
.PHONY: mutants
mutants: $(MUTANTS) ## Break transports, ports, pools and faults line by line and test each mutant (hours); survivors in out/mutants.out
	rm -rf out/mutants.out*
	# First the quick tests of its crate, as one program that is built without optimization.
ifneq ($(filter crates/transport/%,$(FILES)),)
	$(MUTATE) --profile mutants --timeout 15 --test-package duetime-transport $(call OF,transport) \
	  --cargo-arg=--lib --cargo-arg=--features=quick-tests $(PASSED)
endif
ifneq ($(filter crates/sim/%,$(FILES)),)
	$(MUTATE) --profile mutants --timeout 15 --test-package duetime-sim $(call OF,sim) --cargo-arg=--lib $(PASSED)
endif
	# Then every test of both, for those that survived.
	$(MUTATE) $(foreach file,$(FILES),--file '$(file)') $(PASSED)

$(MUTANTS):
	cargo install cargo-mutants --locked --version 27.1.0 --root target/tools

# --- Fuzzing: variations of the kept inputs are tried in `cargo test` too (crates/fuzz)

# For each target.
FUZZ_SECONDS := 60
# Some of them: make fuzz FUZZ_TARGETS="law policy".
FUZZ_TARGETS :=
.PHONY: fuzz
fuzz: ## Look for inputs that break a reader, the engine, a transport or a law, FUZZ_SECONDS for each target; finds in out/fuzz
	fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

.PHONY: fuzz-targets
fuzz-targets:
	fuzz/run build

.PHONY: test-fuzz
test-fuzz: ## Build every fuzz target and try the kept inputs and a fixed number of variations, C under ASan and UBSan
	fuzz/run short

# --- What comes from others

CHECKERS := target/checkers
DENY := target/tools/bin/cargo-deny
.PHONY: audit
audit: ## Look for known vulnerabilities, and for licenses and sources that deny.toml does not allow; STRICT=1: skips fail
	@PYTHON=$(PYTHON) CHECKERS=$(CHECKERS) STRICT=$(STRICT) packaging/audit

.PHONY: sbom
sbom: $(WHEEL) $(CHECKERS)/.cyclonedx-bom ## Write what the wheel is made from and needs into dist, as CycloneDX
	cd dist && unzip -qqjo duetime-*.whl '*/sboms/*'
	$(CHECKERS)/bin/cyclonedx-py requirements requirements/all.txt --pyproject pyproject.toml --output-reproducible \
	  --of JSON -o dist/duetime-needs.cyclonedx.json
	ls -l dist/*.json

# Two builds in folders of their own, from sources in other places, must give the same bytes.
.PHONY: reproducible
reproducible: $(TOOLS) ## Build the wheel twice in different folders and compare the bytes (minutes)
	rm -rf target/reproducible
	commit=$$(git rev-parse HEAD); \
	for place in one other; do \
	  mkdir -p target/reproducible/$$place; \
	  git archive $$commit | tar -x -C target/reproducible/$$place; \
	  (cd target/reproducible/$$place && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct $$commit) $(REMAPPED) \
	    $(CURDIR)/$(BIN)/maturin build --release --locked --target-dir ../$$place-target --out ../$$place-dist && \
	    $(CURDIR)/$(BIN)/python packaging/portable.py . ../$$place-dist/*.whl); \
	done
	cd target/reproducible && sha256sum one-dist/*.whl other-dist/*.whl && cmp one-dist/*.whl other-dist/*.whl

# Paths of this machine that would otherwise stand in the program.
REMAPPED = RUSTFLAGS="--remap-path-prefix=$$PWD=duetime \
  --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo --remap-path-prefix=$$(rustc --print sysroot)=rust"

# Pinned here, as they are no part of what is built or tested.
$(DENY):
	cargo install cargo-deny --locked --version 0.20.2 --root target/tools
$(CHECKERS)/.pip-audit: CHECKER := pip-audit==2.10.1
$(CHECKERS)/.cyclonedx-bom: CHECKER := cyclonedx-bom==7.5.0
$(CHECKERS)/.%:
	$(PYTHON) -m venv $(CHECKERS)
	$(CHECKERS)/bin/python -m pip install --quiet --disable-pip-version-check $(CHECKER)
	touch $@

# --- What is written or fetched anew

VENDOR := python/duetime/report/assets
.PHONY: vendor
vendor: ## Fetch the chart libraries of the report, and the playground's editor, anew from npm
	cd $(VENDOR) && for file in d3@7.9.2:d3.min.js @observablehq/plot@0.6.17:plot.umd.min.js; do \
	  tar=$$(npm pack --silent "$${file%:*}"); \
	  tar -xzOf "$$tar" "package/dist/$${file##*:}" > "$${file##*:}"; \
	  rm "$$tar"; \
	done
	cd playground/editor && npm ci --silent && npm run --silent bundle

.PHONY: lock
lock: $(TOOLS) ## Write requirements/*.txt anew from pyproject.toml
	$(BIN)/python -m pip install --quiet uv==0.13.8
	for set in dev all runtime; do \
	  $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
	    $$([ $$set = runtime ] || echo --extra $$set) \
	    $$([ $$set = dev ] || echo --constraint requirements/dev.txt) \
	    --output-file requirements/$$set.txt; \
	done
	$(BIN)/uv pip compile deploy/linux/clients/python/pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" --extra grpc \
	  --output-file deploy/linux/clients/python/requirements-test.txt

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) dist out target

$(TOOLS): requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("duetime needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

$(BUILT): $(TOOLS) $(RUST)
	$(BIN)/maturin develop --release --locked
	# Maturin has written these through their links, with the same bytes: were they newer, the wheel's build would
	# compile again what is compiled.
	find experiments scenarios -type f -exec touch -r $(TOOLS) {} +
	touch $@

PROFILED = $(if $(PGO),$$(if why=$$(packaging/profiler); then echo --pgo; else echo "SKIPPED: PGO: $$why" >&2; fi))
$(WHEEL): $(TOOLS) $(RUST) $(wildcard packaging/*) README.md $(shell find -L python -type f ! -name '*.pyc' ! -name '*.so')
	rm -rf dist
	$(BIN)/maturin build --release --locked --out dist $(PROFILED)
	$(BIN)/python packaging/portable.py . dist/*.whl
	touch $@
