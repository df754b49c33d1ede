// Package tomlsize bounds what a document in TOML costs before it is decoded. The decoder compares each key
// and table with all of its siblings, and looks up the line of each key that it does not know from the
// beginning: a document of 1 MiB can take an hour.
package tomlsize

import (
	"bytes"
	"fmt"
)

// Check returns an error for a document of more keys and tables than most. It counts the signs of
// equality, and the lines that begin with a bracket, outside of comments: never fewer than the decoder finds.
func Check(doc []byte, most int) error {
	n := 0
	for line := range bytes.Lines(doc) {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			n++
		}
		n += bytes.Count(line, []byte("="))
	}
	if n > most {
		return fmt.Errorf("about %d keys and tables, at most %d", n, most)
	}
	return nil
}
