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
	d, err := seven("")
	if err != nil {
		b.Fatal(err)
	}
	mode, cov, err := laplace(d)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		o := study.Options{Transport: study.Memory, Dir: b.TempDir()}
		if _, err := adultDraw(b.Context(), o, d, mode, cov, twister.New(1), mcmc.Penalty, 1000, 1,
			&covered{}); err != nil {
			b.Fatal(err)
		}
	}
}
