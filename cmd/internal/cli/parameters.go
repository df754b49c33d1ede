package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// printParameters is the parameters of a plan's application, a line each:
// "pvi.steps  5".
func printParameters(w io.Writer, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	tree, err := parseTree(json.NewDecoder(bytes.NewReader(raw)))
	if err != nil { // an application with another format
		Wrap(w, fmt.Sprintf("%-15s", "parameters"), string(raw))
		return
	}
	lines, width := tree.lines(""), 0
	for _, l := range lines {
		width = max(width, len(l.path))
	}
	fmt.Fprintf(w, "\nparameters of the application\n")
	for _, l := range lines {
		Wrap(w, fmt.Sprintf("  %-*s", width+2, l.path), l.value)
	}
}

// tree is a JSON document in its own order: a scalar, a list or an object.
type tree struct {
	scalar string
	list   bool
	keys   []string // of an object, as many as items
	items  []tree
}

func parseTree(d *json.Decoder) (t tree, err error) {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return t, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return tree{scalar: fmt.Sprint(token)}, nil
	}
	t.list = delim == '['
	for d.More() {
		if !t.list {
			key, err := d.Token()
			if err != nil {
				return t, err
			}
			t.keys = append(t.keys, fmt.Sprint(key))
		}
		item, err := parseTree(d)
		if err != nil {
			return t, err
		}
		t.items = append(t.items, item)
	}
	_, err = d.Token() // the closing one
	return t, err
}

// leaf reports whether the tree is a scalar.
func (t tree) leaf() bool { return !t.list && t.keys == nil }

// inline is the tree in one line: "lo 0, hi 4".
func (t tree) inline() string {
	if t.leaf() {
		return t.scalar
	}
	var parts []string
	for i, item := range t.items {
		text := item.inline()
		if !item.leaf() && !t.list {
			text = "(" + text + ")"
		}
		if !t.list {
			text = t.keys[i] + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

type treeLine struct{ path, value string }

// lines lists the values by path. A list of scalars is one line; a list of
// objects has a line for each.
func (t tree) lines(path string) (out []treeLine) {
	simple := t.leaf() || t.list && !slices.ContainsFunc(t.items, func(i tree) bool { return !i.leaf() })
	if simple {
		return []treeLine{{path, t.inline()}}
	}
	for i, item := range t.items {
		switch {
		case t.list:
			out = append(out, treeLine{path, item.inline()})
		case path == "":
			out = append(out, item.lines(t.keys[i])...)
		default:
			out = append(out, item.lines(path+"."+t.keys[i])...)
		}
	}
	return out
}
