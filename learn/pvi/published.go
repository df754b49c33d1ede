package pvi

// The published scheme of [DP-PVI] with a trusted aggregator, and Algorithm 3 of [Thesis],
// let a party fold its share of the joint noise into its private factor. FactorsNoisy
// without local noise is that scheme, for study in memory: Run implements it, Mechanism
// rejects it, and so no plan can claim an epsilon for it. docs/noisy-factors.md describes
// its error, by derivation and by measurement.

// addNoise adds a party's joint noise to what its factors will include, spread evenly
// over its shards; the first ones get the remainder of a division.
func (l *Learner) addNoise(memo []byte, noise []int64) ([]byte, error) {
	m, err := l.cfg.decode(kindMemo, memo)
	if err != nil {
		return nil, err
	}
	n := int64(len(m.rows))
	for i, z := range noise {
		for k, row := range m.rows {
			part := z / n
			if rest := z % n; int64(k) < max(rest, -rest) {
				part += max(-1, min(1, rest))
			}
			row[i] += part
		}
	}
	return l.cfg.encode(m), nil
}
