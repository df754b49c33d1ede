//go:build unix

package bench

import "syscall"

// cpuSeconds is the processor time of this process so far, in user and system.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec) + float64(u.Stime.Sec) + (float64(u.Utime.Usec)+float64(u.Stime.Usec))/1e6
}
