# Cairn. "make" alone says what there is.

# Semantic, as NATS wants it of a service: the last tag vX.Y.Z and what came
# after it; without one 0.0.0 and the commit.
TAGGED := $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)
COMMIT := $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
VERSION ?= $(or $(TAGGED:v%=%),0.0.0+$(COMMIT))
LDFLAGS := -X cairn/bus.Version=$(VERSION)
# How long all tests of one package may take.
TIMEOUT ?= 10m
# How often each benchmark runs, and which.
COUNT ?= 3
BENCH ?= .
# How long each fuzz target runs.
FUZZTIME ?= 10m

.DEFAULT_GOAL := help
.PHONY: help version build run test test-real cover lint gosec check bench fuzz

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

version: ## say which version is built
	@echo $(VERSION)

build: ## build bin/cairn
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/cairn ./deploy/cairn

run: build ## run everything in one process on 127.0.0.1:8080, kept in ./data; FLAGS="…" for more
	bin/cairn up $(FLAGS)

test: ## run the tests, with the race detector
	go test -race -timeout $(TIMEOUT) ./...

test-real: ## run the tests that need a server: CAIRN_TEST_OLLAMA=URL, CAIRN_TEST_ELASTICSEARCH=URL
	CAIRN_TEST_FAULTS=1 go test -count=1 -timeout $(TIMEOUT) -run Real ./...

cover: ## say how much of the code the tests run
	go test -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

lint: ## look for mistakes: gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l bus deploy edge schemas services test); \
	if [ -n "$$unformatted" ]; then echo "not as gofmt writes it:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

# G115: numbers that are made smaller are lengths of bodies and of lists in
# memory, bounded far below. G304: the files are those that a command line names.
GOSEC := go run github.com/securego/gosec/v2/cmd/gosec@v2.30.0
gosec: ## look for what is unsafe; what is found is mended, or explained where it stands
	$(GOSEC) -quiet -exclude-generated -exclude-dir=testdata -exclude=G115,G304 ./...

check: lint test ## all that must hold before a change is taken; the rules of imports and sizes are tests

bench: ## run the benchmarks, beside those of the run before; BENCH=name COUNT=n
	@[ ! -f bench.out ] || mv bench.out bench.before.out
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m ./... > bench.out || { cat bench.out; exit 1; }
	@if [ -f bench.before.out ]; then go tool benchstat before=bench.before.out now=bench.out; else go tool benchstat now=bench.out; fi

fuzz: ## send each decoder what nobody expects, FUZZTIME (10m) each, one after the other
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*_test.go:func | |' | while read -r package target; do \
		echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package || exit 1; \
	done
