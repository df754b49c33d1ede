package ledger

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"choir/privacy"
	"choir/privacy/pld"

	"pgregory.net/rapid"
)

func charge(plan byte, round uint32) Charge {
	return Charge{
		Plan: [32]byte{plan}, Round: round, FracBits: 20,
		Release: privacy.Release{Sensitivity: 2 << 20, PartVariance: 1 << 48, Parts: 7, Dim: 218},
	}
}

func filled(t testing.TB, n int) *Ledger {
	t.Helper()
	l := &Ledger{}
	for i := range n {
		if err := l.Append(l.Next(charge(byte(i%2), uint32(i)))); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestStoredLedgerOpensAsItWas(t *testing.T) {
	l := filled(t, 20)
	if err := l.Append(l.NextReset("data replaced by the release of May")); err != nil {
		t.Fatal(err)
	}
	back, err := reopen(l.Entries())
	if err != nil {
		t.Fatal(err)
	}
	if back.Head() != l.Head() || back.Len() != 21 {
		t.Fatalf("head %v, %d entries", back.Head(), back.Len())
	}
}

// reopen encodes a chain and opens it.
func reopen(chain []Entry) (*Ledger, error) {
	var stored [][]byte
	for _, e := range chain {
		stored = append(stored, e.Marshal())
	}
	return Open(stored)
}

// TestTamperingIsDetected: every alteration of the stored chain breaks it, except for removing the
// newest entries, which a head stored elsewhere reveals.
func TestTamperingIsDetected(t *testing.T) {
	honest := filled(t, 6)
	for name, tamper := range map[string]func([]Entry) []Entry{
		"less sensitivity": func(c []Entry) []Entry { c[2].Charge.Release.Sensitivity--; return c },
		"more noise":       func(c []Entry) []Entry { c[0].Charge.Release.PartVariance++; return c },
		"another plan":     func(c []Entry) []Entry { c[3].Charge.Plan[31]++; return c },
		"removed":          func(c []Entry) []Entry { return append(c[:2], c[3:]...) },
		"removed first":    func(c []Entry) []Entry { return c[1:] },
		"swapped":          func(c []Entry) []Entry { c[1], c[2] = c[2], c[1]; return c },
		"renumbered":       func(c []Entry) []Entry { c[4].Seq++; return c },
		"inserted":         func(c []Entry) []Entry { return append(c[:1], c...) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := reopen(tamper(honest.Entries())); !errors.Is(err, ErrChain) {
				t.Error(err)
			}
		})
	}
	cut, err := reopen(honest.Entries()[:5])
	if err != nil {
		t.Fatalf("a truncated chain: %v", err)
	}
	if cut.Head() == honest.Head() {
		t.Error("a truncated chain has the same head")
	}
}

func TestAttemptIsChargedOnce(t *testing.T) {
	l := filled(t, 3)
	if err := l.Append(l.NextReset("new data")); err != nil {
		t.Fatal(err)
	}
	before := l.Head()
	if err := l.Append(l.Next(charge(0, 2))); !errors.Is(err, ErrCharged) {
		t.Fatalf("second charge: %v", err)
	}
	if l.Head() != before || l.Len() != 4 {
		t.Fatal("a rejected entry changed the ledger")
	}
	again := charge(0, 2)
	again.Attempt = 1
	if err := l.Append(l.Next(again)); err != nil {
		t.Fatalf("a new attempt: %v", err)
	}
}

func TestSpentComposesAcrossPlans(t *testing.T) {
	l := filled(t, 12)
	got, err := l.Spent(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	mu := float64(2<<20) / math.Sqrt(7*math.Exp2(48)) * math.Sqrt(12)
	if want := privacy.GaussianEpsilon(mu, 1e-6); math.Abs(got.Epsilon/want-1) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if err := l.Append(l.NextReset("new data")); err != nil {
		t.Fatal(err)
	}
	if b, err := l.Spent(1e-6); err != nil || b.Epsilon != 0 {
		t.Errorf("after a reset: %v, %v", b, err)
	}
}

func TestOverspendIsRejectedAtTheLastRelease(t *testing.T) {
	l := &Ledger{}
	target := privacy.Target{Epsilon: 1, Delta: 1e-5, Sensitivity: 2 << 20, Dim: 218, Releases: 15, Parts: 7}
	noise, err := privacy.Calibrate(target)
	if err != nil {
		t.Fatal(err)
	}
	budget := Budget{Epsilon: 1, Delta: 1e-5}
	for round := range uint32(16) {
		c := charge(1, round)
		c.Release.PartVariance = noise.PartVariance
		spent, err := l.CanAfford(budget, c)
		if round == 15 {
			if !errors.Is(err, ErrOverspend) || spent.Epsilon <= 1 {
				t.Fatalf("the sixteenth of fifteen: %v, %v", spent, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(l.Next(c)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.CanAfford(budget, c); err != nil {
			t.Fatalf("a charged attempt costs nothing more: %v", err)
		}
	}
}

func entryOf(t *rapid.T) Entry {
	e := Entry{Seq: rapid.Uint64().Draw(t, "seq"), Kind: KindCharge, Charge: Charge{
		Round: rapid.Uint32().Draw(t, "round"), Attempt: rapid.Uint32().Draw(t, "attempt"),
		FracBits: rapid.Uint8Range(0, 52).Draw(t, "bits"),
		Release: privacy.Release{
			Sensitivity:  rapid.Uint64Range(1, math.MaxInt64).Draw(t, "sensitivity"),
			PartVariance: rapid.Uint64Min(1).Draw(t, "variance"),
			Parts:        rapid.Uint32Min(1).Draw(t, "parts"),
			Dim:          rapid.Uint32Min(1).Draw(t, "dim"),
		},
		Relation: rapid.SampledFrom([]privacy.Relation{privacy.ReplaceOne, privacy.AddRemove}).Draw(t, "relation"),
	}}
	if rapid.Bool().Draw(t, "sampled") {
		e.Charge.Sampling, e.Charge.Rate = privacy.SamplingPoisson, rapid.Float64Range(1e-9, 1).Draw(t, "rate")
	}
	e.Charge.Count = rapid.Uint32Min(1).Draw(t, "count")
	if rapid.Bool().Draw(t, "shuffled") {
		e.Charge.Release, e.Charge.Sampling, e.Charge.Rate = privacy.Release{}, privacy.SamplingNone, 0
		e.Charge.Relation = privacy.ReplaceOne
		e.Charge.Shuffled = privacy.Shuffled{Reports: rapid.Uint64Min(1).Draw(t, "reports"),
			Categories: rapid.Uint32Range(2, 1<<20).Draw(t, "categories"),
			Gamma:      rapid.Uint64Range(1, 1<<32).Draw(t, "gamma")}
		if rapid.Bool().Draw(t, "noise") {
			e.Charge.Shuffled.Gamma, e.Charge.Shuffled.Categories = 0, 1<<8
			e.Charge.Shuffled.Keep = rapid.Uint64Range(1<<31, 1<<32-1).Draw(t, "keep") | 0xf<<28
		}
	}
	copy(e.Prev[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "prev"))
	copy(e.Charge.Plan[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "plan"))
	if rapid.Bool().Draw(t, "reset") {
		e.Kind, e.Charge, e.Note = KindReset, Charge{}, rapid.StringMatching(`[a-zäß ,.]{1,60}`).Draw(t, "note")
	}
	return e
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := entryOf(t)
		var back Entry
		if err := back.Unmarshal(e.Marshal()); err != nil || back != e {
			t.Fatalf("%+v became %+v: %v", e, back, err)
		}
	})
}

// Every field is part of the hash: two entries with the same hash are equal.
func TestEveryBitOfAnEntryIsRead(t *testing.T) {
	e := (&Ledger{}).Next(charge(3, 4))
	whole := e.Marshal()
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		before := Entry{Seq: 77}
		got := before
		if err := got.Unmarshal(b); err != nil {
			if got != before {
				t.Fatalf("bit %d: rejected, but the receiver changed", bit)
			}
			continue
		}
		if got.hash() == e.hash() || !bytes.Equal(got.Marshal(), b) {
			t.Fatalf("bit %d is not read", bit)
		}
	}
}

// Charges of different relations count under the stricter one.
func TestRelationsMixUnderTheStricter(t *testing.T) {
	one, two := charge(1, 1), charge(1, 2)
	one.Relation = privacy.AddRemove
	l := &Ledger{}
	for _, c := range []Charge{one, two} {
		if err := l.Append(l.Next(c)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Spent(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	mu := float64(2<<20) / math.Sqrt(7*math.Exp2(48)) * math.Sqrt(4+1)
	if want := privacy.GaussianEpsilon(mu, 1e-6); math.Abs(got.Epsilon/want-1) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// Sampled rounds cost less than others, namely the bound of their accountant.
func TestSampledChargesAreAmplified(t *testing.T) {
	l := &Ledger{}
	for round := range uint32(60) {
		c := charge(1, round)
		c.Relation, c.Sampling, c.Rate = privacy.AddRemove, privacy.SamplingPoisson, 0.05
		if err := l.Append(l.Next(c)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Spent(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	want, err := privacy.SampledEpsilon([]privacy.SampledStep{{
		Mu: float64(2<<20) / math.Sqrt(7*math.Exp2(48)), Sampling: privacy.SamplingPoisson, Rate: 0.05, Count: 60,
	}}, privacy.AddRemove, 1e-6, pld.Precision{})
	if err != nil || got.Method != privacy.MethodPLD || got.Epsilon < want.Lower ||
		got.Epsilon > want.Upper*1.001 {
		t.Errorf("%+v, want %+v (%v)", got, want, err)
	}
	half := Budget{Epsilon: want.Lower / 2, Delta: 1e-6}
	if _, err := l.CanAfford(half, charge(1, 99)); !errors.Is(err, ErrOverspend) {
		t.Errorf("half of it buys another round: %v", err)
	}
}

// TestShuffledChargesCompose: reports compose with each other by Theorem S2, and with noisy sums: no less
// than either alone and no more than both added up.
func TestShuffledChargesCompose(t *testing.T) {
	reports := func(round uint32) Charge {
		return Charge{Plan: [32]byte{9}, Round: round,
			Shuffled: privacy.Shuffled{Reports: 1000, Categories: 4, Gamma: 1 << 30}}
	}
	spent := func(all ...Charge) float64 {
		l := &Ledger{}
		for _, c := range all {
			if err := l.Append(l.Next(c)); err != nil {
				t.Fatal(err)
			}
		}
		b, err := l.Spent(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return b.Epsilon
	}
	once, noise := spent(reports(1)), spent(charge(1, 1))
	four := spent(reports(1), reports(2), reports(3), reports(4))
	// Values of Theorem S2 at delta 10^-5.5 and 10^-7 enclose those at 10^-6.
	if once < 0.518538 || once > 0.628892 {
		t.Errorf("one round %v", once)
	}
	if four < 1.083292 || four > 1.287096 {
		t.Errorf("four rounds %v", four)
	}
	if both := spent(reports(1), charge(1, 1)); both < max(once, noise) || both > once+noise {
		t.Errorf("with noise %v, %v and %v alone", both, once, noise)
	}
}

// An attempt of several releases costs as much as that many attempts of one.
func TestCountedCharge(t *testing.T) {
	one, many := &Ledger{}, &Ledger{}
	for round := range uint32(12) {
		c := charge(1, round)
		if err := one.Append(one.Next(c)); err != nil {
			t.Fatal(err)
		}
		if c.Count = 4; round%4 == 0 {
			if err := many.Append(many.Next(c)); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, errA := one.Spent(1e-6)
	b, errB := many.Spent(1e-6)
	if errA != nil || errB != nil || a != b {
		t.Errorf("%v, %v; %v, %v", a, b, errA, errB)
	}
}

func TestUnprovenChargesAreRejected(t *testing.T) {
	for name, spoil := range map[string]func(*Charge){
		"rate without sampling": func(c *Charge) { c.Rate = 0.5 },
		"negative zero":         func(c *Charge) { c.Rate = math.Copysign(0, -1) },
		"rate":                  func(c *Charge) { c.Sampling, c.Rate = privacy.SamplingPoisson, math.NaN() },
		"fixed add-remove": func(c *Charge) {
			c.Sampling, c.Rate = privacy.SamplingFixed, 0.5
			c.Relation = privacy.AddRemove
		},
		"sampling":    func(c *Charge) { c.Sampling, c.Rate = 9, 0.5 },
		"relation":    func(c *Charge) { c.Relation = 9 },
		"frac bits":   func(c *Charge) { c.FracBits = 53 },
		"sensitivity": func(c *Charge) { c.Release.Sensitivity = 1 << 63 },
		"no noise":    func(c *Charge) { c.Release.Parts = 0 },
		"reports and noise": func(c *Charge) {
			c.Shuffled = privacy.Shuffled{Reports: 9, Categories: 2, Gamma: 1 << 31}
		},
		"no reports": func(c *Charge) {
			c.Release, c.Shuffled = privacy.Release{}, privacy.Shuffled{Categories: 2, Gamma: 1 << 31}
		},
		"reports without randomness": func(c *Charge) {
			c.Release, c.Shuffled = privacy.Release{}, privacy.Shuffled{Reports: 9, Categories: 2}
		},
		"reports with noise and gamma": func(c *Charge) {
			c.Release, c.Shuffled = privacy.Release{}, privacy.Shuffled{Reports: 9, Categories: 2, Gamma: 5, Keep: 5}
		},
		"reports and add-remove": func(c *Charge) {
			c.Release, c.Relation = privacy.Release{}, privacy.AddRemove
			c.Shuffled = privacy.Shuffled{Reports: 9, Categories: 2, Gamma: 1 << 31}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := charge(1, 1).filled()
			spoil(&c)
			l := &Ledger{}
			if err := l.Append(l.Next(c)); !errors.Is(err, ErrEntry) || l.Len() != 0 {
				t.Errorf("appended, %v", err)
			}
			if _, err := l.CanAfford(Budget{Epsilon: 100, Delta: 1e-5}, c); err == nil ||
				errors.Is(err, ErrOverspend) {
				t.Errorf("affordable, %v", err)
			}
		})
	}
}

func FuzzEntry(f *testing.F) {
	l := filled(f, 2)
	f.Add(l.entries[0].Marshal())
	f.Add(l.entries[1].Marshal())
	f.Add(l.NextReset("why").Marshal())
	f.Add([]byte{})
	f.Add(make([]byte, entryFixed))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Entry
		if e.Unmarshal(b) != nil {
			if e != (Entry{}) {
				t.Fatal("rejected, but the receiver changed")
			}
			return
		}
		if !bytes.Equal(e.Marshal(), b) {
			t.Fatalf("accepted %x, which Marshal does not return", b)
		}
	})
}
