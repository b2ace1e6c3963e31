# Every target prints its result in its last line: "name: N passed, N failed, N skipped".
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
GO ?= go
VENV := .venv

.PHONY: help build test vet slt first-hour race fuzz-quick fuzz conformance ecosystem-lance crash-quick crash crash-points gc-adversary history bench-flight bench-lance store-conformance image lint cross clean lance-matrix

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## build the binary into bin/loam
	$(GO) build -trimpath -ldflags '-s -w' -o bin/loam ./cmd/loam

test: vet ## build everything, vet, run the unit, text and property tests (minutes)
	$(GO) build ./...
	@$(GO) test ./... 2>&1 | $(GO) run ./internal/testsum test

vet: ## go vet and gofmt
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

slt: ## the SQL tests: each record on rows in the tail, on splits, and over Flight SQL
	@$(GO) test -count=1 . -run '^TestSLT$$' -timeout 20m -v | awk '/slt_test.go:[0-9]+: [0-9]+ records/ {sub(/.*go:[0-9]+: /, ""); print} /slt: / {sub(/.*slt: /, "slt: "); last=$$0; next} /FAIL|testdata\/slt/ {print} END {print last; exit last !~ / 0 failed/}'

first-hour: ## what a new user types, from docs/first-hour.md and the README, command by command
	@$(GO) test -count=1 ./conformance/firsthour -v -timeout 10m | awk '/first-hour: / {sub(/.*first-hour: /, "first-hour: "); last=$$0; next} !/^(===|---|PASS|ok)/ {print} END {print last; exit last !~ / 0 failed/}'

# The rooms with goroutines of their own.
RACY := . ./exec/... ./storage/wal/... ./storage/object/... ./storage/collection/... ./metastore/... ./worker/... ./catalog/... ./flightsql/... ./cmd/...

race: ## the tests of the rooms with goroutines under the race detector (needs gcc; 10 minutes)
	@$(GO) test -race -short -timeout 30m $(RACY) 2>&1 | $(GO) run ./internal/testsum race

# What reads bytes from outside: SQL, tickets, tokens, the log, splits, Lance files.
FUZZ := ./planner/internal/parser:FuzzParse ./flightsql/internal/ticket:FuzzOpen ./internal/snapshot:FuzzParseToken ./storage/wal:FuzzSegment ./storage/internal/column:FuzzOpen ./storage/lance/internal/file:FuzzOpen
FUZZTIME ?= 3s

fuzz-quick: ## fuzz the parser, tickets, tokens, the log, splits and Lance files, seconds each
	@n=0; for t in $(FUZZ); do \
		$(GO) test $${t%:*} -run '^$$' -fuzz "^$${t#*:}$$" -fuzztime $(FUZZTIME) -timeout 10m > .fuzz.log 2>&1 || { cat .fuzz.log; rm -f .fuzz.log; echo "fuzz: $$n passed, 1 failed, 0 skipped"; exit 1; }; n=$$((n+1)); \
	done; rm -f .fuzz.log; echo "fuzz: $$n passed, 0 failed, 0 skipped"

fuzz: ## fuzz every target of the module, FUZZTIME each (30 s: a quarter of an hour)
	@$(MAKE) --no-print-directory fuzz-quick FUZZTIME=$(if $(filter 3s,$(FUZZTIME)),30s,$(FUZZTIME)) FUZZ="$$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed -E 's,/[^/]*\.go:func ,:,' | sort -u | tr '\n' ' ')"

conformance: build $(VENV)/ok ## real clients against a running server: ADBC (Go, Python), JDBC, pyarrow, Polars, DuckDB, pylance, stand-ins for Spice and Grafana, and fuzzed REST
	./conformance/run.sh

$(VENV)/ok: conformance/python/requirements.txt conformance/rest/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q -r conformance/python/requirements.txt -r conformance/rest/requirements.txt
	touch $@

ecosystem-lance: build $(VENV)/ok $(VENV)-ecosystem/ok ## what Loam wrote, opened by pylance (two releases), Polars, Daft, DuckDB, Hugging Face datasets, Ray (1.1 GB of clients)
	@./conformance/ecosystem/run.sh

$(VENV)-ecosystem/ok: conformance/ecosystem/requirements.txt
	python3 -m venv $(VENV)-ecosystem
	$(VENV)-ecosystem/bin/pip install -q -r $<
	touch $@

# Versions of the Lance library that the matrix runs against, each in a place of its own.
PYLANCES := 12.0.0 14.0.2
PYLANCE_VENVS := $(PYLANCES:%=.venv-pylance-%/ok)

.venv-pylance-%/ok:
	python3 -m venv $(@D)
	$(@D)/bin/pip install -q pylance==$* pyarrow numpy
	touch $@

lance-matrix: $(PYLANCE_VENVS) ## Lance files of every type, size, null ratio and version: Loam reads what pylance writes, pylance reads what Loam writes (minutes)
	@LOAM_LANCE_MATRIX="$$(for v in $(PYLANCES); do printf '%s:' "$$PWD/.venv-pylance-$$v/bin/python"; done | sed 's/:$$//')" \
		$(GO) test -count=1 ./storage/lance -run '^TestLanceMatrix$$' -timeout 60m -v | awk '/^lance-matrix: / {last=$$0; next} !/^(===|---|PASS|ok)/ {print} END {print last; exit last !~ / 0 failed/}'

crash-quick: ## kill -9 under load (30 rounds) and 200 crash images, the quick form (minutes)
	@$(GO) test -count=1 ./conformance/crash -run '^TestQuick' -timeout 20m -v 2>&1 | grep -vE '^(=== |--- PASS|PASS$$|ok )'

gc-adversary: ## builders, tags, drops and readers, with garbage collection at every await of them: 1,000 rounds; and control builds that must be caught (minutes)
	@$(GO) test -count=1 ./storage/gc -run '^TestAdversary' -rounds $(or $(ROUNDS),1000) -timeout 60m -v | awk '/gc-adversary: / {sub(/.*gc-adversary: /, "gc-adversary: "); last=$$0; next} !/^(=== |ok|PASS)/ {sub(/^ +[a-z_]+test.go:[0-9]+: /, ""); print} /^(FAIL|panic)/ {bad=1} END {print last; exit bad || last !~ / 0 failed/}'

crash: ## the same, ROUNDS of each kind (500) and IMAGES (5,000): an hour
	$(GO) test -count=1 ./conformance/crash -run '^TestLong' -rounds $(or $(ROUNDS),500) -images $(or $(IMAGES),5000) -timeout 0 -v

ENDS ?= 1

crash-points: ## end the machine at every named place between two steps, before and after what follows; ENDS times each (one: a minute; POINT='…' for one place)
	@$(GO) test -count=1 -tags loamfault ./conformance/crash -run '^TestPoints$$$$' -ends $(ENDS) $(if $(POINT),-point '$(POINT)') -timeout 0 -v 2>&1 | grep -vE '^(=== |--- PASS|PASS$$|ok )'

.PHONY: mutation-control
mutation-control: ## break the code in one place after the other; the suites must notice each (a quarter of an hour; MUTANT=… for one)
	@$(GO) test -count=1 ./conformance/mutation -run '^TestMutants$$' $(if $(MUTANT),-mutant $(MUTANT),-mutants) -timeout 0 -v 2>&1 | grep -vE '^(=== |--- PASS|PASS$$|ok )'

HISTORIES ?= 10000
SEED ?= 1

history: ## histories of two nodes under faults on simulated time, checked with porcupine: HISTORIES of them from SEED on (10,000: a quarter of an hour)
	@$(GO) test -count=1 ./conformance/history -run '^Test(Stream)?Histories$$' -histories $(HISTORIES) -seed $(SEED) -timeout 0 -v 2>&1 | grep -vE '^(=== |--- PASS|PASS$$|ok )'

LINK_ROUNDS ?= 500

link-adversary: ## rounds of links whose workers are overtaken, killed and lose replies: each record exactly once (500: 5 minutes), and that doing it wrong is noticed
	@$(GO) test -count=1 . -run '^TestLink(Adversary|Controls)$$' -links $(LINK_ROUNDS) -link-seed $(SEED) -timeout 0 -v | awk '/link-adversary: / {sub(/.*link-adversary: /, "link-adversary: "); last=$$0; next} /_test.go:|panic:/ {sub(/^ +/, ""); print} /^--- FAIL/ {f=1} END {print last; exit f || last !~ / 0 failed/}'

bench-flight: ## CPU per byte of results over Flight against arrow-go's writer: 4 M rows or 1 GiB a case, five runs each (minutes)
	@$(GO) test -count=1 ./flightsql -run '^TestFlightBench$$' -flight -v -timeout 30m | \
		awk '/^\{/ {print; n++} /FAIL:|panic:|_test.go:/ {print; f++} END {printf "bench-flight: %d passed, %d failed, 0 skipped\n", n, f; exit f > 0 || n == 0}'

.PHONY: bench-append
bench-append: ## small appends to a stream, Go API and REST, by 1, 8 and 64 clients, against a synced file that all share: three turns of a second (two minutes)
	@$(GO) test -count=1 ./flightsql/rest -run '^TestAppendBench$$' -append 1s $(if $(CASE),-append-case $(CASE)) -v -timeout 30m | \
		awk '/^\{/ {print; n++} /FAIL:|panic:|_test.go:/ {print; f++} END {printf "bench-append: %d passed, %d failed, 0 skipped\n", n, f; exit f > 0 || n == 0}'

bench-lance: $(VENV)-ecosystem/ok ## open, scan, take, write of a Lance dataset against pylance: the same files, five turns (minutes)
	@LOAM_CONFORMANCE_PYTHON=$(CURDIR)/$(VENV)-ecosystem/bin/python $(GO) test -count=1 ./storage/lance -run '^TestBenchLance$$' -pylance-bench -v -timeout 30m | \
		awk '/^\{/ {print; n++} /FAIL:|panic:|_test.go:/ {print; f++} END {printf "bench-lance: %d passed, %d failed, 0 skipped\n", n, f; exit f > 0 || n == 0}'

.PHONY: golden
golden: ## pack a data directory of the present format, for a release: FORMAT=v1 writes testdata/golden/v1.tar.gz
	@test -n "$(FORMAT)" || { echo "golden: say which format, FORMAT=v1"; exit 1; }
	@$(GO) test -count=1 . -run '^TestGoldenDirectories$$' -golden testdata/golden/$(FORMAT).tar.gz -v | \
		awk '/^ +--- PASS: / {p++} /--- FAIL: / {f++} /_test.go:|panic:/ {print} END {printf "golden: %d passed, %d failed, 0 skipped\n", p, f; exit f > 0 || p == 0}'

image: ## the container image, where a builder is at hand
	docker build -f deploy/Dockerfile -t loam .

# A real S3 server for the tests, built outside of the tree and never linked in. At
# least v1.8.0: before it, several writers of one name could win.
VERSITYGW := v1.8.0
VERSITYGW_DIR := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/loam/versitygw-$(VERSITYGW)

$(VERSITYGW_DIR)/versitygw:
	GOFLAGS= GOBIN=$(VERSITYGW_DIR) $(GO) install -trimpath github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW)

store-conformance: $(VERSITYGW_DIR)/versitygw ## the suite of the object store, and kill -9 under load, over a real S3 server, versitygw (the first run builds it, minutes)
	@export LOAM_VERSITYGW=$<; { $(GO) test -count=1 -timeout 10m ./storage/object -run '^Test.*/^versitygw' -skip '^Test(S3|File|Crash|Faulty)' -v; \
		$(GO) test -count=1 -timeout 10m ./cmd/loam ./conformance/crash -run '^TestStore.*/^versitygw' -v; } 2>&1 | \
		awk '/^ +--- PASS: .*\/versitygw/ {p++} /^ +--- SKIP: .*\/versitygw/ {s++} /--- FAIL: / {f++} /_test.go:|FAIL|panic:|^kill -9/ {print} \
		END {printf "store-conformance: %d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0}'

.PHONY: cluster
cluster: $(VERSITYGW_DIR)/versitygw ## two loam serve on one S3 server and three members of etcd: a node is killed, the leader stopped hard (a minute)
	@export LOAM_VERSITYGW=$<; $(GO) test -count=1 -timeout 10m ./conformance/cluster -run '^TestCluster$$' -v 2>&1 | \
		awk '/^ +--- PASS: / {p++} /^ +--- SKIP: / {s++} /--- FAIL: / {f++} /_test.go:|FAIL|panic:/ {print} \
		END {printf "cluster: %d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0}'

LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

lint: ## golangci-lint with the few linters of .golangci.yml (the first run builds it, minutes)
	@$(GO) run $(LINT) run ./... && echo "lint: 1 passed, 0 failed, 0 skipped"

cross: ## build for linux/arm64 and darwin/arm64, tests included
	@for p in linux/arm64 darwin/arm64; do \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build ./... && GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./... || { echo "cross: $$p does not build"; exit 1; }; \
	done; echo "cross: 2 passed, 0 failed, 0 skipped"

ROWS ?= 1000000

.PHONY: ingest-long
ingest-long: ## write ROWS documents (1000000) of 1 KiB and a vector while a reader searches: rows/s, memory, amplification, longest wait (minutes)
	@$(GO) test -count=1 . -run '^TestIngestLong$$' -ingest $(ROWS) -timeout 60m -v | awk '/_test.go:|panic:/ {sub(/^ +/, ""); print} /^--- FAIL/ {f++} /^--- PASS/ {p++} END {printf "ingest-long: %d passed, %d failed, 0 skipped\n", p, f; exit f > 0 || p == 0}'

clean: ## remove what the targets made
	rm -rf bin $(VENV) $(VENV)-*
