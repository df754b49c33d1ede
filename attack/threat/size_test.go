//go:build !race

package threat

// cases are how many parties sum, in how many runs, and the share of the claim that
// must be found. Three quarters of the runs judge. At epsilon 1 and 3 the best half
// line for a true claim is expected to give 0.58 and 0.59 of it with standard
// errors of 0.023 and 0.02: short of half in one of 10,000 measurements at most.
func cases() []target {
	return []target{{epsilon: 1, parties: 4, runs: 1 << 19, share: 0.5},
		{epsilon: 3, parties: 6, runs: 1 << 18, share: 0.5}}
}
