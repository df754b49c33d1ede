// Package house has only tests. They read every Go file of the module and keep its
// architecture and style: which package may import which, what a role or a member
// may need, the folders at the top, package comments, and plain English.
package house
