//go:build !race

package collude

// full allows the long cases.
const full = true
