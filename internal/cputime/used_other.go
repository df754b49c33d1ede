//go:build !unix

// Package cputime tells how much processor time this process has used.
package cputime

import "time"

var began = time.Now()

// Used is the processor time of this process so far, user and system, of all threads; where the system does
// not tell it, the wall time since the program started.
func Used() time.Duration { return time.Since(began) }
