package bench

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"time"

	"choir/internal/cputime"
)

// Phase is what one role did in one step of the protocol, over all members of
// the role and all rounds' mean.
type Phase struct {
	Role    string `json:"role"`
	Phase   string `json:"phase"`
	InRound bool   `json:"in_round"` // counted in seconds_round
	Members int    `json:"members"`  // how many did it
	// wall time: of the phase alone on all cores (stream), or busy in steps (host)
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"` // processor time; 0 if not measured separately
	Bytes      int64   `json:"bytes"`       // sent or received
	Allocs     int64   `json:"allocs"`      // objects; 0 if not measured separately
	AllocBytes int64   `json:"alloc_bytes"`
	// LimitSeconds is the same work at the machine's limit on all cores; LimitRatio
	// the fraction of the limit's speed that was reached. 0: no limit applies.
	LimitSeconds float64 `json:"limit_seconds"`
	LimitRatio   float64 `json:"limit_ratio"`
	Limit        string  `json:"limit,omitempty"` // what the limit counts
}

// cost is what a stretch of the process took.
type cost struct {
	Seconds, CPUSeconds float64 // wall time; processor time of all threads
	Allocs, AllocBytes  int64   // objects and bytes
}

// Measure runs f. The figures are the whole process's: nothing else may run meanwhile.
func Measure(f func() error) (cost, error) {
	m := heapAllocs()
	cpu := cputime.Used().Seconds()
	at := time.Now()
	err := f()
	c := cost{Seconds: time.Since(at).Seconds(), CPUSeconds: cputime.Used().Seconds() - cpu}
	n := heapAllocs()
	c.Allocs, c.AllocBytes = n.objects-m.objects, n.bytes-m.bytes
	return c, err
}

type allocated struct{ objects, bytes int64 }

func heapAllocs() allocated {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return allocated{int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())}
}

// meter adds phases up, in the order in which they first came.
type meter struct{ phases []*Phase }

func (m *meter) phase(role, name string, inRound bool, members int) *Phase {
	for _, p := range m.phases {
		if p.Role == role && p.Phase == name {
			return p
		}
	}
	p := &Phase{Role: role, Phase: name, InRound: inRound, Members: members}
	m.phases = append(m.phases, p)
	return p
}

func (p *Phase) add(c cost) {
	p.Seconds += c.Seconds
	p.CPUSeconds += c.CPUSeconds
	p.Allocs += c.Allocs
	p.AllocBytes += c.AllocBytes
}

// move takes a share of a phase's time out of it and into another: what was
// measured inside of it.
func (p *Phase) move(to *Phase, share float64) {
	share = min(max(share, 0), 1)
	to.Seconds, to.CPUSeconds = to.Seconds+share*p.Seconds, to.CPUSeconds+share*p.CPUSeconds
	p.Seconds, p.CPUSeconds = (1-share)*p.Seconds, (1-share)*p.CPUSeconds
}

// limited sets a phase's limit, in processor seconds, for a number of cores.
func (p *Phase) limited(what string, cpuSeconds float64, cores int) {
	spent := p.CPUSeconds
	if spent == 0 {
		spent = p.Seconds
	}
	if cpuSeconds <= 0 || spent <= 0 {
		return
	}
	p.Limit = what
	p.LimitSeconds = cpuSeconds / float64(cores)
	p.LimitRatio = cpuSeconds / spent
}

func (m *meter) seconds(pick func(*Phase) bool) (wall, cpu float64) {
	for _, p := range m.phases {
		if pick(p) {
			wall += p.Seconds
			cpu += p.CPUSeconds
		}
	}
	return wall, cpu
}

// round is the wall time of the phases in the round.
func (m *meter) round() float64 {
	wall, _ := m.seconds(func(p *Phase) bool { return p.InRound })
	return wall
}

// medianMeter is that of the session whose round takes the median time, the upper one of two.
func medianMeter(sessions []*meter) *meter {
	sorted := slices.SortedFunc(slices.Values(sessions),
		func(a, b *meter) int { return cmp.Compare(a.round(), b.round()) })
	return sorted[len(sorted)/2]
}

// meanMeter has each phase's mean over sessions.
func meanMeter(sessions []*meter) *meter {
	sum, times := new(meter), len(sessions)
	for _, m := range sessions {
		for _, p := range m.phases {
			sum.phase(p.Role, p.Phase, p.InRound, p.Members).add(cost{p.Seconds, p.CPUSeconds, p.Allocs, p.AllocBytes})
		}
	}
	for _, p := range sum.phases {
		p.Seconds /= float64(times)
		p.CPUSeconds /= float64(times)
		p.Allocs /= int64(times)
		p.AllocBytes /= int64(times)
	}
	return sum
}
