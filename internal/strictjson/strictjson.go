// Package strictjson refuses JSON that two readers may take for different things, or that is small as a text
// and large as a value.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Check rejects a text with a key twice in one object, also in other case, and one with an empty object or
// list as an element of a list. Package json takes the last of two keys, another program perhaps the first,
// so that the two would read different values. An element of three bytes becomes a value of more than a
// hundred where the list is one of structs. What is not JSON at all is left to the decoder.
func Check(b []byte) error {
	err := value(json.NewDecoder(bytes.NewReader(b)), false, 0)
	if errors.Is(err, errMalformed) {
		return nil
	}
	return err
}

// errMalformed ends the reading of what is not JSON.
var errMalformed = errors.New("not JSON")

// maxDepth is how deep package json lets values nest. It refuses deeper ones.
const maxDepth = 10_000

// value reads the next value, at a depth.
func value(d *json.Decoder, element bool, depth int) error {
	t, err := d.Token()
	if err != nil || depth > maxDepth {
		return errMalformed
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if element && !d.More() {
		return fmt.Errorf("a list has an empty element, %c%c", open, open+2)
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return errMalformed
			}
			key := fmt.Sprint(t)
			folded := strings.ToLower(strings.ToUpper(key)) // as json folds it: the long s is an s
			if seen[folded] {
				return fmt.Errorf("the key %q appears twice", key)
			}
			seen[folded] = true
		}
		if err := value(d, open == '[', depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errMalformed
	}
	return nil
}
