// Package house has no code: its tests keep the module's architecture. They
// read every Go file of the module and fail when an import runs against the
// arrows that the README's tree draws, when a pure role reaches for the
// outside world, or when a package says nothing about itself.
package house
