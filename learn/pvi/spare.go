package pvi

import (
	"math"

	"choir/learn/bayes"
)

// spare is the last factor of a party that has a shard for every ShardRows records. It has no records, and
// stands for shards that the party lacks to carry its share of StartPrecision: clips would keep the factors
// of few records from giving a large share back, which would stay in the public posterior as if it were
// data.
type spare struct {
	kept   bool   // the party's state has such a factor
	shards int    // that it stands for
	clips  uint64 // bound on its update
}

// spareFor returns the spare factor of a party with this number of shards and this share. With it a shard's
// part of the start is at most half a clip long, or as small as that of a party with as many records as the
// plan counts on. It follows from public numbers and the number of records, which neighbours by a record
// share, and all factors together have at most Shards clips.
func (c Config) spareFor(own int, weight float64) spare {
	p := c.params()
	if p.ShardRows == 0 || p.Local || c.scores() || c.kind().External || c.Clip == 0 || c.StartPrecision == 0 {
		return spare{}
	}
	length := weight * c.StartPrecision * math.Sqrt(float64(c.Weights())) * math.Hypot(0.5, c.StartSpread)
	needed := int(math.Ceil(min(length/(c.Clip/2), weight*float64(p.Shards))))
	s := spare{kept: true, shards: max(0, needed-own)}
	s.clips = uint64(min(max(1, s.shards), p.Shards-own))
	return s
}

// withSpare gives the learner the spare factor.
func (l *Learner) withSpare(s spare) {
	l.cfg.spare = s
	if s.kept {
		l.sites = append(l.sites, l.cfg.site(bayes.Data{}))
	}
}

// isSpare reports whether the k-th factor is the spare one.
func (l *Learner) isSpare(k int) bool { return l.cfg.spare.kept && k == len(l.sites)-1 }

// Shards returns the number of shards whose updates an Outside computes.
func (l *Learner) Shards() int {
	if l.cfg.spare.kept {
		return len(l.sites) - 1
	}
	return len(l.sites)
}

// of are the shares of n factors together.
func (s shares) of(n int) shares {
	s.start *= float64(n)
	s.tied *= float64(n)
	return s
}
