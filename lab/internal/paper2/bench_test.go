package paper2

import (
	"testing"

	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/learn/mcmc"
)

// BenchmarkThousandRounds is a penalty walk of 1,000 rounds on Adult's 32,561 rows at ten parties, over three
// compute nodes in memory.
func BenchmarkThousandRounds(b *testing.B) {
	d, _, _, err := seven("")
	if err != nil {
		b.Fatal(err)
	}
	mode, cov, err := laplace(d)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		o := study.Options{Transport: study.Memory, Dir: b.TempDir()}
		a := adultWorld{data: d, mode: mode, cov: cov, rng: twister.New(1), to: &covered{}, own: &covered{}}
		if _, err := a.draw(b.Context(), o, adultMethod{mcmc.Penalty, 1, 1, 1000, nil}, 1); err != nil {
			b.Fatal(err)
		}
	}
}
