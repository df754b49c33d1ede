# Everything a developer runs. `make test` is what the README and CI call.

GO ?= go
FUZZTIME ?= 10s

.PHONY: test vet race plain peers vuln fuzz fuzz-long bench-check demo build

test: vet race plain peers vuln

build:
	$(GO) build -o choir ./cmd/choir

demo:
	$(GO) run ./cmd/choir demo

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Rooms that start no goroutine, and so run without the race detector, which would cost them
# a factor of four. A test in internal/house reads this line and holds them to it.
SERIAL := crypto/identity crypto/internal/msm crypto/internal/msm/lanes learn/dataset lab/catalogue lab/internal/own lab/internal/paper1 lab/internal/paper4 lab/internal/thesis lab/internal/workshop privacy privacy/pld learn/global learn/model lab/figure lab/uci

# Everything else under the race detector; the simulator's tables run on a sample of their
# rows there (-short), and in full right below.
race:
	$(GO) test -race -timeout 18m $(filter-out $(addprefix choir/,attack/simulate $(SERIAL)),$(shell $(GO) list ./...))
	$(GO) test -race -short -timeout 10m ./attack/simulate

# In full, without the race detector: every row, every byte, every seed, and the tests that
# are tagged !race. Then what is in assembly, without it.
plain:
	$(GO) test -timeout 15m $(addprefix ./,$(SERIAL)) ./attack/simulate/... ./protocol/verify ./attack/threat ./lab/experiment ./learn/pvi
	$(GO) test -tags purego ./crypto/field ./crypto/xof ./crypto/share ./crypto/fixedpoint

# What the protocol is measured beside: a module of its own, so that its libraries
# never weigh on users.
peers:
	cd lab/bench/peers && $(GO) vet ./... && $(GO) test ./...

# Ratios to the machine's limits against the committed baseline; names what got slower.
bench-check:
	$(GO) run ./cmd/choir bench check

# The vulnerability database is a service of its own: without a way to it, the
# check says so and the build goes on (docs/decisions/0001-vulnerability-database.md).
vuln:
	@.ci/vuln

# Every fuzz target for FUZZTIME each.
fuzz:
	@.ci/fuzz $(FUZZTIME)

fuzz-long:
	@.ci/fuzz 10m
