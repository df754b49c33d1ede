//go:build !race

package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/compute"
	"choir/crypto/channel"
	"choir/protocol"
)

// grouped is a compute node of several processes as one machine of the simulation:
// the node, its workers and the messages between them, which are lost, duplicated
// and reordered, while workers crash, restart with their store, or are replaced with
// an empty one. The oracle checks it like a node in one process.
type grouped struct {
	m       *member
	of      int
	node    protocol.Machine
	workers []*compute.Worker
	up      []bool
	wake    []int64 // the node's last, then the workers'
	chance  *rand.Rand
	letters []parcel
	log     [][]byte // what the bus has had for the workers, in order
	whole   bool     // log goes back to the beginning
	eff     *protocol.Effects
	tally   *groupTally
}

// groupTally counts the events, so that a test of nothing fails.
type groupTally struct{ sums, lost, twice, crashes, replaced int }

type parcel struct {
	to   int // worker, or of for the node
	data []byte
}

// shelf is one process's part of the member's disk, including the current step.
type shelf struct {
	g      *grouped
	prefix string
}

func (s shelf) memory() protocol.StepView { return protocol.StepView{View: s.g.m.disk, Step: s.g.eff} }

func (s shelf) Get(key string) []byte { return s.memory().Get(s.prefix + key) }

func (s shelf) Keys(prefix string) []string {
	keys := s.memory().Keys(s.prefix + prefix)
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], s.prefix)
	}
	return keys
}

// grouping replaces each compute node by a group of workers, whose number depends
// on the seed.
func grouping(tally *groupTally) seams {
	return seams{machine: func(m *member, honest protocol.Machine) protocol.Machine {
		if m.role != protocol.RoleCompute {
			return honest
		}
		seed := mix(m.w.setup.Seed, "group", m.name)
		g := &grouped{m: m, of: 1 + int(seed%4), chance: rand.New(rand.NewPCG(seed, uint64(m.incarnation))),
			whole: m.incarnation == 0, tally: tally}
		g.workers, g.up, g.wake = make([]*compute.Worker, g.of), make([]bool, g.of), make([]int64, g.of+1)
		w := m.w
		node, err := compute.New(compute.Config{Session: w.session, Key: m.key, Rand: w.seams.randomOf(m),
			View: shelf{g, ""}, ResendMS: resendMS,
			Initiate: w.exchange.initiate(w.seams.randomOf(m)), Accept: w.exchange.accept, Group: g.group()})
		if err != nil {
			w.oracle.violate("broken store", "%s can't start: %v", m.name, err)
			return honest
		}
		g.node = node
		return g
	}}
}

func (g *grouped) group() compute.Group {
	secret, err := channel.NewSecret(slices.Repeat([]byte{7}, channel.SecretSize))
	if err != nil {
		panic(err) // 32 bytes are a secret
	}
	return compute.Group{Workers: g.of, Secret: secret}
}

func (g *grouped) prefix(i int) string { return fmt.Sprintf("worker-%d/", i) }

// faulty reports whether something goes wrong now, with a probability.
func (g *grouped) faulty(p float64) bool {
	return g.m.w.now < g.m.w.setup.Until && g.chance.Float64() < p
}

// Step implements protocol.Machine.
func (g *grouped) Step(now int64, ev protocol.Event) protocol.Effects {
	eff := protocol.Effects{}
	g.eff = &eff
	for i := range g.workers {
		g.keepUp(now, i)
	}
	switch e := ev.(type) {
	case protocol.Start, protocol.CaughtUp:
		g.take(g.of, g.node.Step(now, e))
	case protocol.Tick:
		for i, at := range g.wake {
			if at > 0 && at <= now {
				g.deliver(now, i, e)
			}
		}
	case protocol.Delivery:
		for _, to := range g.route(e.Data) {
			g.deliver(now, to, e)
		}
	}
	g.carry(now)
	eff.Wake = 0
	for _, at := range g.wake {
		if at > 0 && (eff.Wake == 0 || at < eff.Wake) {
			eff.Wake = at
		}
	}
	if len(g.letters) > 0 {
		eff.Wake = now + 1
	}
	g.eff = nil
	return eff
}

// keepUp crashes a worker, and restarts those that crashed.
func (g *grouped) keepUp(now int64, i int) {
	if g.up[i] && g.faulty(0.02) {
		g.up[i] = false
		g.tally.crashes++
		g.letters = slices.DeleteFunc(g.letters, func(l parcel) bool { return l.to == i && g.chance.IntN(2) == 0 })
	}
	if g.up[i] {
		return
	}
	replaced := g.whole && g.wake[i] > 0 && g.chance.IntN(3) == 0
	if replaced { // another machine takes its place, and reads everything again
		g.tally.replaced++
		s := shelf{g, g.prefix(i)}
		for _, key := range s.Keys("") {
			g.eff.Delete(g.prefix(i) + key)
		}
	}
	w, err := compute.NewWorker(compute.WorkerConfig{Session: g.m.w.session, Node: uint32(g.m.i), Worker: i,
		Group: g.group().Worker(i),
		Rand:  rand.NewChaCha8(sum("worker", g.chance.Uint64())), View: shelf{g, g.prefix(i)}, ResendMS: resendMS,
		Initiate: g.m.w.exchange.initiate(rand.NewChaCha8(sum("link", g.chance.Uint64()))),
		Accept:   g.m.w.exchange.accept})
	if err != nil {
		g.m.w.oracle.violate("broken store", "%s's worker %d can't start: %v", g.m.name, i, err)
		return
	}
	g.workers[i], g.up[i] = w, true
	g.deliver(now, i, protocol.Start{})
	if replaced {
		before := len(g.eff.Notices) // what it refuses again was refused before
		for _, data := range g.log {
			if slices.Contains(g.route(data), i) {
				g.take(i, w.Step(now, protocol.Delivery{Data: data}))
			}
		}
		g.eff.Notices = g.eff.Notices[:before]
	}
}

// route finds the listeners of a message of the bus, and records the workers' messages.
func (g *grouped) route(data []byte) (to []int) {
	worker := func(party uint32) []int { return []int{int(protocol.WorkerOf(party, uint32(g.of)))} }
	if c, err := protocol.UnmarshalChunk(data); err == nil {
		return worker(c.From)
	}
	e, err := protocol.UnmarshalEnvelope(data)
	switch {
	case err == nil && e.Kind == protocol.KindContribution:
		return worker(e.From)
	case err == nil && (e.Kind == protocol.KindRound || e.Kind == protocol.KindAbort):
		for i := range g.workers {
			to = append(to, i)
		}
	}
	return append(to, g.of)
}

func (g *grouped) deliver(now int64, to int, ev protocol.Event) {
	if to == g.of {
		g.take(to, g.node.Step(now, ev))
		return
	}
	if d, ok := ev.(protocol.Delivery); ok && !protocol.IsWorker(d.Data) && g.whole {
		g.log = append(g.log, d.Data)
	}
	g.take(to, g.workers[to].Step(now, ev))
}

// take applies the effects of one process.
func (g *grouped) take(from int, eff protocol.Effects) {
	for _, r := range eff.Persist {
		if from < g.of {
			r.Key = g.prefix(from) + r.Key
		}
		g.eff.Persist = append(g.eff.Persist, r)
	}
	for _, o := range eff.Send {
		if !protocol.IsWorker(o.Data) {
			g.eff.Send = append(g.eff.Send, o)
			continue
		}
		to := g.of
		if from == g.of {
			if _, err := fmt.Sscanf(o.Subject[strings.LastIndex(o.Subject, ".work."):], ".work."+g.m.name+".%d.down",
				&to); err != nil {
				g.m.w.oracle.violate("bad subject", "%s: %v", o.Subject, err)
			}
		}
		g.letters = append(g.letters, parcel{to, o.Data})
	}
	for _, n := range eff.Notices {
		// else a chunk, perhaps of long ago, that the broker altered
		if from == g.of || n.Code != protocol.NoteRefused || n.Peer != "" {
			g.eff.Notices = append(g.eff.Notices, n)
		}
	}
	g.wake[from] = max(eff.Wake, 1)
	if eff.Done {
		g.wake[from] = 0
	}
	if eff.Done && from == g.of { // an Abort ends workers, too, perhaps before the node has read it
		g.eff.Done, g.eff.Err = true, eff.Err
	}
}

// carry delivers some messages between node and workers.
func (g *grouped) carry(now int64) {
	for range 6 {
		under := g.letters
		g.letters = nil
		g.chance.Shuffle(len(under), func(i, j int) { under[i], under[j] = under[j], under[i] })
		for _, l := range under {
			switch {
			case g.faulty(0.05):
				g.tally.lost++
			case g.faulty(0.2):
				g.letters = append(g.letters, l) // later
			default:
				if g.faulty(0.05) {
					g.tally.twice++
					g.letters = append(g.letters, l)
				}
				worker := must(protocol.WorkerOfMessage(l.data))
				secret := g.group().Worker(int(worker)).Secret
				accept := func(_ protocol.WorkerPath, enc []byte) (*channel.Secret, error) {
					return g.m.w.exchange.secrets[string(enc)], nil
				}
				if _, m, err := g.m.w.session.OpenWorker(secret, l.data, accept); err == nil {
					if _, ok := m.(*protocol.WorkerSum); ok {
						g.tally.sums++
					}
				}
				g.deliver(now, l.to, protocol.Delivery{Data: l.data})
			}
		}
	}
}

// TestGroups: sessions whose compute nodes are groups of processes violate no
// invariant, with faults within and around a group.
func TestGroups(t *testing.T) {
	seeds := uint64(36)
	if testing.Short() {
		seeds = 6
	}
	tally, rounds, audits := &groupTally{}, 0, 0
	for _, p := range Profiles() {
		n := seeds
		if p.Wide {
			n = seeds / 6
		}
		for seed := range n {
			r := runSeams(seed, p, grouping(tally))
			if len(r.Violations) > 0 {
				t.Errorf("%s, seed %d (%s): %s", p.Name, seed, r.Setup, r.Violations[0])
			}
			rounds += r.Rounds
			if r.Setup.Audit {
				audits++
			}
		}
	}
	t.Logf("%d rounds, %d audited sessions, %+v", rounds, audits, *tally)
	if n := int(seeds); rounds < n || tally.sums < n || tally.lost < n || tally.twice < n ||
		tally.crashes < n || tally.replaced < n/2 {
		t.Errorf("too little happened: %d rounds, %+v", rounds, *tally)
	}
}
