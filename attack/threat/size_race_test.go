//go:build race

package threat

// cases under the race detector: the same code on fewer runs, so weaker evidence.
func cases() []target {
	return []target{{epsilon: 1, parties: 4, runs: 1 << 17, share: 0.3},
		{epsilon: 3, parties: 6, runs: 1 << 16, share: 0.35}}
}
