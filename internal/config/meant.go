package config

import (
	"fmt"
	"reflect"
)

// meant is ": did you mean X?" for a key that isn't there and differs from one that is by a letter or
// two, else empty.
func meant(typ reflect.Type, key []string) string {
	for i, name := range key {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return ""
		}
		best, found := 3, ""
		var next reflect.Type
		for j := range typ.NumField() {
			known := typ.Field(j).Tag.Get("toml")
			if known == name {
				next = typ.Field(j).Type
			}
			if d := distance(name, known); known != "" && d < best && d < len(name) {
				best, found = d, known
			}
		}
		if next == nil || i == len(key)-1 {
			if found == "" {
				return ""
			}
			return fmt.Sprintf(": did you mean %q?", found)
		}
		typ = next
	}
	return ""
}

// distance is the number of letters to change, insert or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := left
			if a[i] != b[j] {
				d++
			}
			left = row[j+1]
			row[j+1] = min(d, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
