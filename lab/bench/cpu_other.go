//go:build !unix

package bench

// cpuSeconds is unknown on this system; callers use wall time.
func cpuSeconds() float64 { return 0 }
