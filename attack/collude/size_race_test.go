//go:build race

package collude

// full is false under the race detector: the same code on fewer runs.
const full = false
