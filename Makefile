# `make test` is what to run before each commit. `make check` is everything. CI runs both.

GO ?= go
FUZZTIME ?= 10s

# One more package at a time than processors: tests of servers and disks mostly wait.
AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: test check build demo fmt vet unit lint race full processes purego peers model vuln fuzz fuzz-long nightly cross release

test: fmt vet unit

# The tests of the whole program mostly wait while the long tables compute. So do tests of servers and
# disks under the race detector, while staticcheck reads.
check: test
	@$(MAKE) --no-print-directory -j2 lint race
	@$(MAKE) --no-print-directory -j2 full processes
	@$(MAKE) --no-print-directory -j2 purego cross peers model vuln

build:
	$(GO) build -o choir ./cmd/choir

demo:
	$(GO) run ./cmd/choir demo

fmt:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }

vet:
	$(GO) vet ./...

# Tests of the whole program that take longest.
PROCESSES := ^(TestLongScripts|TestCluster|TestKilledAnywhere|TestNoVerbIsSilent)$$

# Every package's tests, the long tables by a sample of their rows. What go test would vet, go vet
# has vetted: doing it again takes as long as linking half of the tests.
unit:
	$(GO) test -vet=off -short -p $(AT_ONCE) -timeout 10m -skip '$(PROCESSES)' ./...

lint:
	$(GO) tool staticcheck ./...

# Packages that start no goroutine run without the race detector, which would cost a factor
# of four. A test in internal/house reads this line and checks that they start none. Studies run
# sessions by lab/bed, which runs under the race detector itself.
SERIAL := privacy/shuffle internal/house learn/bayes learn/mcmc learn/internal/ellipse crypto/identity crypto/internal/msm learn/dataset lab/catalogue lab/internal/own lab/internal/paper1 lab/internal/paper4 lab/internal/thesis lab/internal/workshop privacy privacy/pld learn/global learn/model lab/figure lab/uci session/terms lab/internal/calibration lab/internal/paper2 lab/internal/paper3 lab/internal/settings lab/internal/threat session/app session/result transport/internal/fragment lab/report learn/response learn/noiseaware learn/noiseaware/newton learn/noiseaware/internal/logistic learn/noiseaware/internal/shrink learn/pvi/reading privacy/ledger crypto/field crypto/fixedpoint docs learn/centre learn/defaults learn/evaluate learn/gauss learn/internal/coin learn/internal/secret learn/stats learn/table lab/internal/published lab/internal/quality lab/internal/randhie lab/study internal/cputime internal/disk internal/strictjson internal/tomlsize transport/internal/credential internal/secretfile crypto/commit learn/internal/trusted

# Packages with long tables, which run under the race detector by a sample of their rows, and
# in full without it.
LONG := lab/experiment attack/simulate attack/collude session/run attack/simulate/mixnet

# Tests of these packages which the race detector needn't see: they compute in one goroutine, or repeat what
# others do under it for a distribution. They run without it, by a sample and in full.
REPEATED := ^TestAdvise$$|^TestAdviceOfUnlikeParties$$|^TestReports$$/^noise$$|^TestAggregateNoiseVariance$$

# Tests of the whole program start the real binary, which the race detector does not see.
REAL := cmd/choir

# Everything else under the race detector.
race:
	$(GO) test -vet=off -race -p $(AT_ONCE) -timeout 18m $(filter-out $(addprefix choir/,$(LONG) $(SERIAL) $(REAL)),$(shell $(GO) list ./...))
	$(GO) test -vet=off -race -short -p $(AT_ONCE) -timeout 10m -skip '$(REPEATED)' $(addprefix ./,$(LONG))

# In full, without the race detector, what runs under it by a sample or not at all: the tests that leave
# something out in `make test`. That runs all others without the race detector, those that are tagged !race
# too. The longest packages begin first, so that none is left alone at the end.
full:
	.ci/left $(GO) test -vet=off -timeout 15m -- $(LONG) $(SERIAL)

# What `make test` leaves out of the tests of the whole program.
processes:
	$(GO) test -vet=off -timeout 15m -run '$(PROCESSES)' $(addprefix ./,$(REAL))

# The portable form of everything in crypto that has assembly.
purego:
	$(GO) test -vet=off -tags purego ./crypto/...

# A member for Windows, which no test here runs, without inlining, two fifths of the time of compiling;
# and what writes the bills of materials of `make release`.
cross:
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) build -gcflags=all=-l -o /dev/null ./cmd/choir-member
	$(GO) vet -C .ci/sbom .

# What the protocol is measured next to: a module of its own, so that its libraries never
# weigh on users.
peers:
	cd lab/bench/peers && $(GO) vet ./... && $(GO) test ./...

# The model of the protocol in docs/model, exhaustively. Needs spin and gcc, else prints NOT RUN.
model:
	@.ci/model

# The vulnerability database is a service of its own: without a way to it, the check prints
# NOT RUN and the build goes on (docs/decisions/0001-vulnerability-database.md).
vuln:
	@.ci/vuln

# Every fuzz target for FUZZTIME each.
fuzz:
	@.ci/fuzz $(FUZZTIME)

fuzz-long:
	@.ci/fuzz 10m

# Sites in network namespaces under faults, for some minutes. Needs root, else prints NOT RUN.
nightly:
	@.ci/nightly

# Reproducible archives for every platform, with bills of materials and checksums.
release:
	@.ci/release
