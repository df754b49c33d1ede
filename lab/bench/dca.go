package bench

import (
	"context"
	"crypto/rand"
	"runtime"

	"choir/crypto/noise"
)

// Run measures one cell.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	r := &Result{Header: newHeader(), Suite: cfg.Suite.String(), Config: cfg}
	r.Checked = "equal to the plain sum"
	if cfg.Sigma > 0 {
		r.Checked = "the plain sum and noise of its law (chi-squared, 7 standard deviations)"
	}
	var err error
	if cfg.Driver == DriverStream {
		profileFinely(cfg)
		err = r.stream(ctx, medianMeter)
	} else {
		err = r.hosted(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.Repeats = len(r.RoundsAll)
	r.Quartiles = quartiles(r.RoundsAll)
	if r.SecondsNoise == 0 && cfg.Sigma > 0 {
		if err := r.sampleNoise(); err != nil {
			return nil, err
		}
	}
	r.total()
	r.ProcessPeakBytes = peakResident()
	return r, nil
}

// profileFinely makes the heap profile fine enough for what a node holds in a
// small cell. A sample costs microseconds, and a manifest some ten thousand bytes.
func profileFinely(cfg Config) {
	switch size := cfg.Parties * cfg.Dim; {
	case size < 1<<20:
		runtime.MemProfileRate = 16 << 10
	case size < 1<<26:
		runtime.MemProfileRate = 64 << 10
	default:
		runtime.MemProfileRate = 512 << 10
	}
}

// stream runs whole sessions of one round each. The result has the phases that of makes of theirs.
func (r *Result) stream(ctx context.Context, of func([]*meter) *meter) error {
	one, meters := r.Config, make([]*meter, max(1, r.Repeats))
	alone, err := newKEMMeter(one.Suite)
	if err != nil {
		return err
	}
	for i := range meters {
		meters[i] = new(meter)
		w, err := newWorld(one)
		if err != nil {
			return err
		}
		s, err := newStream(one, w, meters[i])
		if err != nil {
			return err
		}
		s.interrupted, s.kem = ctx.Err, alone
		if err := s.run(); err != nil {
			return err
		}
		if r.AddPath.Contributions == 0 {
			if r.AddPath, r.Limits, err = measureAddPath(one, w.session); err != nil {
				return err
			}
		}
		s.splitSigning()
		r.RoundsAll = append(r.RoundsAll, meters[i].round())
		r.setTraffic(s.tally.traffic(1))
		r.NodeLiveBytes = max(r.NodeLiveBytes, s.nodeLive)
		switch {
		case r.Sigma == 0:
		case s.noiseAhead:
			r.NoiseIn = "apart"
		default:
			r.NoiseIn = "seconds_round"
		}
	}
	r.NodePeakBytes = 2 * r.NodeLiveBytes
	m := of(meters)
	r.Phases = m.phases
	r.streamLimits(m)
	r.setUp(m, alone)
	r.SecondsRound, r.CPURound = m.seconds(func(p *Phase) bool { return p.InRound })
	r.SecondsAggregate = r.SecondsRound
	r.SecondsNoise, _ = m.seconds(func(p *Phase) bool { return p.Phase == "noise" })
	return nil
}

// streamLimits sets each phase's bytes and limit: vectors of 8 bytes an element, of which
// M-1 a party are keystream and one is sealed.
func (r *Result) streamLimits(m *meter) {
	n := int64(r.contributing())
	vectors, reals := n*int64(8*r.elements()), n*int64(8*r.Dim)
	derived := float64(r.Computes-1) * float64(vectors) / r.Limits.KeystreamAdd
	sealed := float64(vectors) / r.Limits.GCM
	partials := float64(r.Computes*8*r.elements()) / r.Limits.GCM
	for _, p := range m.phases {
		switch p.Role + " " + p.Phase {
		case "party encode":
			p.Bytes = reals
		case "party noise":
			p.Bytes = reals
		case "party share":
			p.Bytes = vectors * int64(r.Computes)
			p.limited("keystream and addition of M-1 vectors, AES-GCM of one", derived+sealed, r.Workers)
		case "compute open":
			p.Bytes = vectors
			p.limited("AES-GCM of a vector for each party", sealed, r.Workers)
		case "compute add":
			p.Bytes = vectors * int64(r.Computes-1)
			p.limited("keystream and addition of M-1 vectors for each party", derived, r.Workers)
		case "compute agree":
			p.Bytes = int64(r.Computes * 8 * r.elements())
			p.limited("AES-GCM of the partial sums", partials, r.Workers)
		case "aggregator combine":
			p.Bytes = int64(r.Computes * 8 * r.elements())
			p.limited("AES-GCM of the partial sums", partials, r.Workers)
		}
	}
	r.LimitRound = (2*derived + 2*sealed + 2*partials) / float64(r.Workers)
	r.LimitRatio = r.AddPath.LimitRatio
	r.LimitOf = "the compute nodes' add path, key derivation, keystream and addition, in processor time"
}

// noiseSamples bounds how many samples measure the sampler when the noise cannot
// be separated from the rest of a phase.
const noiseSamples = 4 << 20

// sampleNoise measures the parties' sampler on all cores, on as many samples as
// there are but no more than noiseSamples, and scales.
func (r *Result) sampleNoise() error {
	g, err := noise.NewGaussian(r.Sigma * r.Sigma)
	if err != nil {
		return err
	}
	samples := r.contributing() * r.Dim
	each := min((samples+r.Workers-1)/r.Workers, noiseSamples/r.Workers)
	buffers := make([][]int64, r.Workers)
	for i := range buffers {
		buffers[i] = make([]int64, each)
	}
	c, err := Measure(func() error {
		return parallel(r.Workers, r.Workers, func(i int) error { return g.Fill(buffers[i], rand.Reader) })
	})
	r.SecondsNoise = c.CPUSeconds / float64(r.Workers) * float64(samples) / float64(each*r.Workers)
	return err
}

func (r *Result) total() {
	r.SecondsTotal = r.SecondsSetup + r.SecondsRound
	if r.NoiseIn == "apart" {
		r.SecondsTotal += r.SecondsNoise
	}
}
