package simulate

import (
	"context"
	"reflect"
	"testing"
)

func many(t *testing.T, b Batch) Report {
	t.Helper()
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWorkersDontMatter: the report is the same for any number of workers.
func TestWorkersDontMatter(t *testing.T) {
	for _, profile := range []string{"chaos", AllProfiles} {
		t.Run(profile, func(t *testing.T) {
			a := many(t, Batch{From: 7, Seeds: 11, Profile: profile, Workers: 1})
			b := many(t, Batch{From: 7, Seeds: 11, Profile: profile, Workers: 3})
			if !reflect.DeepEqual(a, b) || a.Steps == 0 || a.Seeds != 11 || a.Interrupted {
				t.Errorf("%+v\n%+v", a, b)
			}
		})
	}
}

// TestInterrupted: a batch whose context ends reports the sessions before that,
// as a batch of that many would.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := Batch{From: 3, Seeds: 1 << 40, Profile: "chaos", Workers: 3, Progress: func(Report) { cancel() }}
	got, err := b.Run(ctx)
	if err != nil || !got.Interrupted || got.Seeds < 1 || got.Seeds == b.Seeds {
		t.Fatalf("%+v, %v", got, err)
	}
	want := many(t, Batch{From: 3, Seeds: got.Seeds, Profile: "chaos", Workers: 2})
	want.Interrupted = true
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\n%+v", got, want)
	}
}

// TestFailuresInOrder: of many failures the first are kept, in order of the seeds.
func TestFailuresInOrder(t *testing.T) {
	var r Report
	for i := range uint64(3 * maxFailed) {
		r.fail(Failure{Seed: i * 7 % (3 * maxFailed)}) // 7 is coprime to 60: every seed once
	}
	if len(r.Failed) != maxFailed {
		t.Fatalf("%d failures", len(r.Failed))
	}
	for i, f := range r.Failed {
		if f.Seed != uint64(i) {
			t.Errorf("failure %d has seed %d", i, f.Seed)
		}
	}
}

func BenchmarkChaos(b *testing.B) {
	p, _ := ProfileByName("chaos")
	for seed := uint64(0); b.Loop(); seed++ {
		Run(seed, p)
	}
}
