package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"choir/aggregator"
	"choir/compute"
	"choir/host"
	"choir/internal/cputime"
	"choir/party"
	"choir/protocol"
	"choir/transport"
)

// repeated bounds how long sessions are repeated for, in seconds, if their number is not given: as
// often as the bare transfer, whose median they are held against, unless they take long.
const repeated = 20

// hosted runs sessions as a deployment does: host.Run for every member, over the
// transport; over NATS with stores in files. The one whose rounds take the median
// time counts. The first one in a process pays for its memory's first touch, which a
// deployment pays once, and of which the bare transfers after it know nothing.
func (r *Result) hosted(ctx context.Context) error {
	w, err := newWorld(r.Config)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.Dir, "choir-bench-")
	if err != nil {
		return protocol.Fail(protocol.ClassInput,
			"a folder for the session's files (TMPDIR names another place): %w", err)
	}
	defer os.RemoveAll(dir)
	if err := r.sessions(ctx, w, dir); err != nil {
		return err
	}
	return r.stepsAlone(ctx)
}

// sessions runs the sessions and the bare transfers. Members of a deployment are
// processes, of which one that waits for its disk leaves the cores to the others. In one
// process it would keep a processor of the runtime's until that takes notice, up to 10
// ms later: there are twice as many as cores, for the bare transfer as well.
func (r *Result) sessions(ctx context.Context, w *world, dir string) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0)))
	var sessions []*hosted
	began := time.Now()
	more := func(n int) bool {
		return n < r.Repeats || n == 0 || r.Repeats == 0 && n < bareRuns && time.Since(began).Seconds() < repeated
	}
	for more(len(sessions)) {
		r.progress("session %d", len(sessions)+1)
		h := &hosted{cfg: r.Config, w: w, dir: filepath.Join(dir, fmt.Sprint("session-", len(sessions))),
			log: newTraffic(len(w.keys))}
		if err := h.run(ctx); err != nil {
			return fmt.Errorf("session over %s: %w", r.Transport, err)
		}
		sessions = append(sessions, h)
		r.RoundsAll = append(r.RoundsAll, h.round())
	}
	slices.SortFunc(sessions, func(a, b *hosted) int { return cmp.Compare(a.round(), b.round()) })
	h := sessions[len(sessions)/2]
	r.SecondsSetup = h.opened.Sub(h.began).Seconds()
	r.SecondsRound = h.round()
	r.SecondsAggregate = h.log.aggregate()
	r.CPURound = h.cpu / float64(r.Rounds)
	sums := h.log.tally(w.session)
	sums.wire = h.wire
	r.setTraffic(sums.traffic(r.Rounds))
	if r.Sigma > 0 {
		r.NoiseIn = "seconds_setup"
		if h.drawnAtOpening < int64(r.Parties)*32*int64(r.Rounds) {
			r.NoiseIn = "seconds_round"
		}
	}
	return r.hostedLimit(ctx, h)
}

// alonePasses is how many sessions of one round the phases are the mean of: the noise of a
// single one, which a round over NATS is compared with, takes up to half as long again.
const alonePasses = 3

// stepsAlone measures the phases, and a node's memory, with the stream driver on the same
// cell: among dozens of other goroutines neither can be separated. The rest of the session is
// the loop's, the stores' and the transport's.
func (r *Result) stepsAlone(ctx context.Context) error {
	profileFinely(r.Config)
	pass := *r
	pass.Driver = DriverStream
	pass.Rounds = 1
	pass.Repeats = alonePasses
	pass.Settle = r.Parties
	if err := pass.stream(ctx, meanMeter); err != nil {
		return fmt.Errorf("steps alone: %w", err)
	}
	m := &meter{pass.Phases}
	// A bus carries the messages here.
	m.phases = slices.DeleteFunc(m.phases, func(p *Phase) bool { return p.Role == "memory" })
	r.NodeLiveBytes, r.NodePeakBytes = pass.NodeLiveBytes, pass.NodePeakBytes
	r.Limits = pass.Limits
	r.LimitRound = pass.LimitRound
	r.CPUSetup, r.LimitSetup, r.SetupRatio = pass.CPUSetup, pass.LimitSetup, pass.SetupRatio
	r.AddPath = pass.AddPath
	if r.Transport == Memory {
		r.LimitRatio, r.LimitOf = pass.LimitRatio, pass.LimitOf
	}
	_, steps := m.seconds(func(p *Phase) bool {
		return p.InRound || p.Phase == "receipts" || p.Phase == "settle" || p.Phase == "close"
	})
	rest := m.phase("host", "loop, stores and transport", true, len(m.phases))
	rest.Members = r.Parties + r.Computes + 1
	rest.CPUSeconds = max(0, r.CPURound-steps)
	rest.Seconds = rest.CPUSeconds / float64(r.Workers)
	r.Phases = m.phases
	return nil
}

// hosted is a session under way.
type hosted struct {
	cfg Config
	w   *world
	dir string
	log *traffic

	mu                    sync.Mutex
	began, opened, ended  time.Time
	drawn, drawnAtOpening int64
	cpu                   float64
	wire                  []Wire // by member
}

// round is what a round took, in seconds.
func (h *hosted) round() float64 { return h.ended.Sub(h.opened).Seconds() / float64(h.cfg.Rounds) }

// run runs the session to its end, with time taken from its start, its first
// round's opening, and the last member's end.
func (h *hosted) run(ctx context.Context) error {
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		return err
	}
	over, err := startNetwork(h.w.session, h.cfg, filepath.Join(h.dir, "broker"))
	if err != nil {
		return err
	}
	defer over.shutdown()
	n := len(h.w.keys)
	members := make([]*hostedMember, n)
	for i := range members {
		if members[i], err = h.member(ctx, uint32(i), over); err != nil {
			return err
		}
		defer members[i].close()
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.began = time.Now()
	h.log.onOpening = h.opening
	var group sync.WaitGroup
	errs := make([]error, n)
	for i, m := range members {
		group.Go(func() {
			if errs[i] = m.run(ctx); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	group.Wait()
	h.ended, h.cpu, h.wire = time.Now(), cputime.Used().Seconds()-h.cpu, over.wire()
	if outer.Err() != nil {
		return outer.Err()
	}
	if errors.Join(errs...) != nil {
		return context.Cause(ctx) // the first error, which has ended the others
	}
	return h.check(members)
}

// opening notes the moment in which the first round opens.
func (h *hosted) opening() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opened = time.Now()
	h.drawnAtOpening = h.drawn
	h.cpu = cputime.Used().Seconds()
}

// Read implements io.Reader for all members' randomness and counts what parties
// read.
func (h *hosted) Read(b []byte) (int, error) {
	h.mu.Lock()
	h.drawn += int64(len(b))
	h.mu.Unlock()
	return rand.Reader.Read(b)
}

// check holds every member's model against the plain sum.
func (h *hosted) check(members []*hostedMember) error {
	sum := members[len(members)-1].machine.(modeller).Model()
	for _, m := range members[:h.cfg.Parties] {
		if !slices.Equal(m.machine.(modeller).Model(), sum) {
			return errors.New("a party ended with another sum than the aggregator")
		}
	}
	return h.w.check(sum)
}

type hostedMember struct {
	host.Config
	machine protocol.Machine
	store   host.Store
	bus     transport.Bus
}

func (m *hostedMember) close() {
	_ = m.bus.Close() // the session is over; nothing is lost
	_ = m.store.Close()
}

func (m *hostedMember) run(ctx context.Context) error { return host.Run(ctx, m.Config) }

// member builds a member as run.Role does, its steps timed.
func (h *hosted) member(ctx context.Context, i uint32, over *network) (*hostedMember, error) {
	m := &hostedMember{store: host.NewRam()}
	if h.cfg.Transport == NATS {
		file, err := host.OpenFile(filepath.Join(h.dir, h.w.session.Name(i)+".db"))
		if err != nil {
			return nil, err
		}
		m.store = file
	}
	bus, err := over.connect(ctx, i)
	if err != nil {
		return nil, errors.Join(err, m.store.Close())
	}
	m.bus = &recordedBus{Bus: bus, member: int(i), log: h.log}
	journal, s := host.NewJournal(m.store), h.w.session
	batch := protocol.NewBatch(s, rand.Reader)
	s.Verifier = batch
	var machine protocol.Machine
	switch s.Plan.Members[i].Role {
	case protocol.RoleParty:
		machine, err = party.New(party.Config{Session: s, Key: h.w.keys[i], App: h.w.app, Ledger: unpaid{},
			Rand: h, View: journal, ResendMS: longTime, Window: host.Window})
	case protocol.RoleCompute:
		machine, err = compute.New(compute.Config{Session: s, Key: h.w.keys[i], Rand: rand.Reader,
			View: journal, ResendMS: longTime})
	default:
		machine, err = aggregator.New(aggregator.Config{Session: s, Key: h.w.keys[i], Model: h.w.app,
			Rand: rand.Reader, View: journal, ResendMS: longTime})
	}
	if err != nil {
		m.close()
		return nil, err
	}
	m.machine = machine
	m.Config = host.Config{Machine: machine, Journal: journal, Bus: m.bus, Filters: s.Filters(i),
		Prepare: batch.Prepare, Proposer: &proposer{rows: h.w.rows, i: int(i)},
		Gather: host.Gather(s.Plan.Members[i].Role)}
	return m, nil
}

// proposer encodes a party's row, in the same memory each time: a machine takes an
// update in before it asks for the next.
type proposer struct {
	rows   *rows
	i      int
	update []int64
}

// Propose implements protocol.Proposer.
func (p *proposer) Propose(context.Context, protocol.Work) ([]int64, []byte, error) {
	if p.update == nil {
		p.update = make([]int64, p.rows.dim)
	}
	return p.update, []byte{}, p.rows.encodeTo(p.update, p.i)
}
