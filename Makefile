# Run "make" to list the targets.

# The version is that of the last tag vX.Y.Z and the commits after it, as
# git-describe(1) prints it; without a tag it is 0.0.0 and the commit.
TAGGED := $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)
COMMIT := $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
VERSION ?= $(or $(TAGGED:v%=%),0.0.0+$(COMMIT))
LDFLAGS := -s -w -X cairn/bus.Version=$(VERSION)
# Flags of "make run".
FLAGS ?=
# Timeout of the tests of one package.
TIMEOUT ?= 10m
# go vet runs in "make lint". Without symbol tables the test binaries link in half the time.
TEST = go test -vet=off -ldflags '-s -w' -timeout $(TIMEOUT)
# By default, a program with the race detector sleeps for 1 s when it exits.
export GORACE ?= atexit_sleep_ms=50
# Benchmarks to run, and how many times.
BENCH ?= .
COUNT ?= 3
# Time for each fuzz target.
FUZZTIME ?= 10m

# Without debug information, which only debuggers use, the compiler takes a quarter less time.
export GOFLAGS := $(strip $(GOFLAGS) -gcflags=all=-dwarf=false)

# Tools have a separate module, so that their dependencies are not Cairn's.
# The go command builds each once and keeps it in its build cache.
TOOL := go tool -modfile="$(CURDIR)/test/tools/go.mod"
# Nested modules are tests whose dependencies are not Cairn's.
MODULES := test/bench test/browser test/clients test/grafana test/kubernetes test/kubescore test/robustness

.DEFAULT_GOAL := help
.PHONY: help build release run version test test-modules test-real test-faults test-model cover bench fuzz lint gosec check

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# With fewer garbage collections, the compiler takes less time.
build: ## build bin/cairn
	GOGC=200 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/cairn ./deploy/cairn

release: ## build bin/release reproducibly, with bill of materials and checksums; RELEASE_KEY=FILE signs
	VERSION='$(VERSION)' .ci/release

run: build ## build and run all services in one process; FLAGS="…"
	bin/cairn up $(FLAGS)

version: ## print the version that a build reports
	@echo $(VERSION)

# Tests start one program, which is linked once. Its path in the build cache depends on its
# content, so test results stay cached until the program changes.
PROGRAM = go run -race -exec true ./deploy/cairn && export CAIRN_BINARY=$$(go run -race -exec echo ./deploy/cairn)

# The attacks use all CPUs, so they run after the other packages. The planner answers its sets
# of questions in an eighth of the time without the race detector, with which the tests of
# services/analyze run it.
PLANNER := services/internal/model/offline

# With fewer garbage collections, the compiler and the tests take less time. The programs that
# tests start have the default.
test test-modules: export GOGC ?= 400

# Most tests wait rather than compute, so two packages at a time run on each CPU.
PACKAGES ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
test: ## run the test suite with the race detector
	$(PROGRAM) && $(TEST) -race -p $(PACKAGES) $$(go list ./... | grep -v -e /test/security -e $(PLANNER))
	@$(TEST) ./$(PLANNER) && $(PROGRAM) && $(TEST) -race ./test/security

# Modules with concurrent code of their own run with the race detector; the others start a
# program that has it. The results of test/robustness are not cached: it reads source files of
# the main module. All tests of test/clients are Real tests.
test-modules: ## run the tests of the nested modules: browser, manifests, dashboards, faults
	@$(PROGRAM) && for module in $(filter-out test/clients,$(MODULES)); do \
		case $$module in */robustness) flags='-race -count=1';; */bench) flags=-race;; *) flags=;; esac; \
		(cd $$module && echo "$$module" && $(TEST) $$flags ./...) || exit 1; \
	done

# The faults of test/robustness take 6 minutes on 2 CPUs.
test-real: TIMEOUT = 20m
test-real: ## run the tests that need servers, data or packages: CAIRN_TEST_OLLAMA=URL CAIRN_TEST_ELASTICSEARCH=URL CAIRN_TEST_MODEL=URL/MODEL CAIRN_EVAL=FOLDER CAIRN_TEST_NPM=1 CAIRN_TEST_ARD=FOLDER CAIRN_A2A_TCK=FOLDER
	@for module in . $(MODULES); do \
		echo "go -C $$module test -run 'Real|PlantedBugs' ./..."; CAIRN_TEST_FAULTS=1 CAIRN_TEST_CLIENTS=1 go -C $$module test -count=1 -timeout $(TIMEOUT) -run 'Real|PlantedBugs' ./... || exit 1; \
	done
	@[ -z "$$CAIRN_TEST_MODEL" ] || go test -count=1 -timeout $(TIMEOUT) -run TestModelAnswers -v ./test/model

test-faults: ## run the long forms of the tests of faults and releases, which take about 10 minutes
	CAIRN_TEST_LONG=1 go test -count=1 -timeout 60m -run 'TestRealAnalysesWithinMemory|TestRealMillionTags|TestRealRelease' ./test ./test/security ./services/tags

test-model: ## ask a language model all evaluation questions: CAIRN_TEST_MODEL=http://HOST:PORT/MODEL CAIRN_EVAL=FOLDER
	CAIRN_TEST_MODEL_ALL=1 go test -count=1 -timeout 120m -run TestModelAnswers -v ./test/model

cover: ## print the test coverage
	go test -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

bench: ## run the benchmarks and compare with the previous run; BENCH=regexp COUNT=n
	@[ ! -f bench.out ] || mv bench.out bench.before.out
	@for module in . $(MODULES); do \
		go -C $$module test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m ./... >> bench.out || { cat bench.out; exit 1; }; \
	done
	@if [ -f bench.before.out ]; then $(TOOL) benchstat before=bench.before.out now=bench.out; else $(TOOL) benchstat now=bench.out; fi

fuzz: ## run each fuzz target; FUZZTIME=10m
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*_test.go:func | |' | while read -r package target; do \
		echo "$$package $$target"; go -C "$$package" test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x . || exit 1; \
	done

lint: ## run the linters of .ci/golangci.yml
	@for module in . $(MODULES); do \
		echo "golangci-lint $$module"; (cd $$module && $(TOOL) golangci-lint run --config $(CURDIR)/.ci/golangci.yml ./...) || exit 1; \
	done

# G115: integers that are narrowed are lengths of bodies and of lists in
# memory, which have lower limits. G304: the files are those of the command line.
GOSEC := go run github.com/securego/gosec/v2/cmd/gosec@v2.30.0
gosec: ## run gosec; findings are fixed or annotated with a reason
	$(GOSEC) -quiet -exclude-generated -exclude-dir=testdata -exclude=G115,G304 ./...

check: lint test test-modules ## run all checks that a change must pass
