// Package cli has what Choir's programs share: running a command line, its
// output and errors, and the verbs of a member.
package cli
