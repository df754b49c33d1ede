package bench

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/protocol"
)

// Header is what every document begins with.
type Header struct {
	SchemaVersion int               `json:"schema_version"`
	Command       string            `json:"command"`
	Machine       Machine           `json:"machine"`
	Go            string            `json:"go"`
	Versions      map[string]string `json:"versions"`
}

func newHeader() Header {
	return Header{SchemaVersion: schemaVersion, Machine: ThisMachine(), Go: runtime.Version(),
		Versions: Versions()}
}

// Part is one building block measured by itself.
type Part struct {
	Header
	Part    string    `json:"part"`
	Repeats int       `json:"repeats"`
	Rows    []PartRow `json:"rows"`
}

// PartRow is one operation at one size.
type PartRow struct {
	Case    string  `json:"case"`
	Size    int64   `json:"size"`    // in the unit of Case
	Seconds float64 `json:"seconds"` // processor time of one operation, the median of the repetitions
	Fastest float64 `json:"fastest"` // of the repetitions
	Spread  float64 `json:"spread"`  // slowest less fastest, over the median
	Allocs  float64 `json:"allocs"`  // objects, by operation
	Bytes   int64   `json:"bytes,omitempty"`
}

// parts are the names that MeasurePart knows.
func parts() []string { return []string{"noise", "channel", "verify", "audit"} }

// MeasurePart measures one building block, each figure repeats times. quick
// measures the smallest size of each case only.
func MeasurePart(name string, repeats int, quick bool) (*Part, error) {
	if repeats < 1 || repeats > 1000 {
		return nil, protocol.Fail(protocol.ClassInput, "repeats: %d is not in 1..1000", repeats)
	}
	p := &Part{Header: newHeader(), Part: name, Repeats: repeats}
	var err error
	switch name {
	case "noise":
		err = p.noise(quick)
	case "channel":
		err = p.channel()
	case "verify":
		err = p.verify(quick)
	case "audit":
		err = p.audit(quick)
	default:
		err = protocol.Fail(protocol.ClassInput, "part: %q is not one of %q", name, parts())
	}
	return p, err
}

// row measures f, which does a number of operations at a time.
func (p *Part) row(name string, size int64, operations int, f func() error) error {
	seconds, allocs := make([]float64, p.Repeats), 0.0
	for i := range seconds {
		c, err := Measure(f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		seconds[i], allocs = c.CPUSeconds/float64(operations), float64(c.Allocs)/float64(operations)
	}
	slices.Sort(seconds)
	r := PartRow{Case: name, Size: size, Seconds: seconds[len(seconds)/2], Fastest: seconds[0],
		Allocs: allocs}
	if r.Seconds > 0 {
		r.Spread = (seconds[len(seconds)-1] - seconds[0]) / r.Seconds
	}
	p.Rows = append(p.Rows, r)
	return nil
}

// noise measures the sampler on one core at sigma = 2^4 ... 2^30, and the
// sampler that is its oracle. Size is sigma.
func (p *Part) noise(quick bool) error {
	fast, slow := make([]int64, 1<<18), make([]int64, 1<<11)
	sizes := []int{4, 8, 12, 16, 20, 24, 28, 30}
	if quick {
		sizes = sizes[:1]
		fast = fast[:1<<10]
		slow = slow[:1<<6]
	}
	for _, k := range sizes {
		variance := uint64(1) << (2 * k)
		var g *noise.Gaussian
		err := p.row("make the table, sigma", 1<<k, 1,
			func() (err error) { g, err = noise.NewGaussian(variance); return err })
		if err != nil {
			return err
		}
		if err := p.row("a sample, sigma", 1<<k, len(fast),
			func() error { return g.Fill(fast, rand.Reader) }); err != nil {
			return err
		}
		ref, err := noise.NewReference(variance, 1)
		if err != nil {
			return err
		}
		if err := p.row("a sample of the reference sampler, sigma", 1<<k, len(slow),
			func() error { return ref.Fill(slow, rand.Reader) }); err != nil {
			return err
		}
	}
	return nil
}

// channel measures HPKE in both suites. Size is the length of enc.
func (p *Part) channel() error {
	const times = 64
	for _, suite := range []channel.Suite{channel.SuiteHybrid, channel.SuiteX25519} {
		var key *channel.PrivateKey
		var enc []byte
		size := int64(suite.EncSize())
		for _, m := range []struct {
			name string
			f    func() error
		}{
			{"make a key, ", func() (err error) {
				key,
					err = channel.GenerateKey(suite, rand.Reader)
				return err
			}},
			{"set up a channel, ", func() (err error) {
				enc, _,
					err = channel.Initiate(suite, key.Public(), nil)
				return err
			}},
			{"accept a channel, ", func() error { _, err := channel.Accept(key, enc, nil); return err }},
		} {
			err := p.row(m.name+suite.String(), size, times, func() error {
				for range times {
					if err := m.f(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// verify measures Ed25519 signatures one by one and in batches, and batches with one
// bad signature, which must be found. Size is the number that waits together.
func (p *Part) verify(quick bool) error {
	sizes := []int{16, 64, 256, 1024}
	if quick {
		sizes = sizes[:1]
	}
	items, err := signedItems(sizes[len(sizes)-1])
	if err != nil {
		return err
	}
	for _, n := range sizes {
		bad := slices.Clone(items[:n])
		bad[n/3].Sig[0] ^= 1
		for _, m := range []struct {
			name string
			f    func() error
		}{
			{"a signature verified alone, of", func() error { return each(items[:n]) }},
			{"a signature verified in a batch, of", func() error { return batch(items[:n], -1) }},
			{"a signature in a batch with one bad, of", func() error { return batch(bad, n/3) }},
		} {
			if err := p.row(m.name, int64(n), n, m.f); err != nil {
				return err
			}
		}
	}
	return nil
}

func signedItems(n int) ([]identity.Item, error) {
	items := make([]identity.Item, n)
	for i := range items {
		key, err := identity.Generate(rand.Reader)
		if err != nil {
			return nil, err
		}
		msg := fmt.Appendf(make([]byte, 0, 300), "contribution %290d", i)
		items[i] = identity.Item{Key: key.Public(), Msg: msg, Sig: key.Sign(msg)}
	}
	return items, nil
}

func each(items []identity.Item) error {
	for i, it := range items {
		if !identity.Verify(it.Key, it.Msg, it.Sig) {
			return fmt.Errorf("signature %d was refused", i)
		}
	}
	return nil
}

// batch expects exactly the culprit, -1 for none.
func batch(items []identity.Item, culprit int) error {
	got := identity.VerifyBatch(items, rand.Reader)
	if (culprit < 0 && len(got) > 0) || (culprit >= 0 && (len(got) != 1 || got[0] != culprit)) {
		return fmt.Errorf("the batch names %v, not %d", got, culprit)
	}
	return nil
}

// audit measures Pedersen commitments. Size is d.
func (p *Part) audit(quick bool) error {
	sizes := []int{1e2, 1e3, 1e4, 1e5}
	if quick {
		sizes = sizes[:1]
	}
	for _, d := range sizes {
		values := make([]int64, d)
		for j := range values {
			values[j] = int64(j*7919)%(1<<20) - 1<<19
		}
		blinding, err := commit.RandomScalar(rand.Reader)
		if err != nil {
			return err
		}
		var g *commit.Generators
		var c commit.Commitment
		for _, m := range []struct {
			name string
			f    func() error
		}{
			{"derive the generators, d", func() (err error) {
				g,
					err = commit.NewGenerators(d)
				return err
			}},
			{"commit, d", func() (err error) { c, err = g.Commit(values, blinding); return err }},
			{"check an opening, d", func() error {
				ok, err := g.Opens(c, values, blinding)
				if err == nil && !ok {
					err = fmt.Errorf("the commitment does not open")
				}
				return err
			}},
		} {
			if err := p.row(m.name, int64(d), 1, m.f); err != nil {
				return err
			}
		}
	}
	return nil
}
