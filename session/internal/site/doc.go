// Package site makes the files of a small deployment for tests: keys, cards, a
// signed plan, and each member's configuration.
package site
