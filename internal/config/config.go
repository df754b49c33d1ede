package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"choir/internal/tomlsize"
	"choir/protocol"
)

// Duration is a time.Duration in Go's notation, such as "15s". It is a struct because
// TOML's 15 would otherwise be 15 nanoseconds.
type Duration struct {
	time.Duration
	zero bool
}

// NamedZero reports whether 0 was named, which is not the same as none.
func (d Duration) NamedZero() bool { return d.zero }

// UnmarshalText accepts what time.ParseDuration accepts, except negative values.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		v = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			err = strconv.ErrRange
		}
	}
	if err != nil || v < 0 {
		return fmt.Errorf("%q isn't a duration such as \"15s\", \"24h\" or \"90d\"", text)
	}
	d.Duration, d.zero = v, v == 0
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Count is a positive whole number; 0 means that it is not set.
type Count int

// UnmarshalText accepts 1 to 1000.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1000 {
		return fmt.Errorf("%q isn't a whole number in 1..1000", text)
	}
	*c = Count(n)
	return nil
}

// Switch is a yes-or-no setting; false means that it is not set.
type Switch bool

// UnmarshalText accepts true and false.
func (s *Switch) UnmarshalText(text []byte) error {
	if t := string(text); t != "true" && t != "false" {
		return fmt.Errorf("%q isn't true or false", t)
	}
	*s = string(text) == "true"
	return nil
}

// Share is a part of a whole, in (0, 1]; 0 means that it is not set.
type Share float64

// UnmarshalText accepts a number in (0, 1].
func (s *Share) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v > 0 && v <= 1) {
		return fmt.Errorf("%q isn't a share in (0, 1], such as 0.05", text)
	}
	*s = Share(v)
	return nil
}

// maxTOML bounds a file of settings or terms: its decoder takes up to a hundred times the file's size.
const maxTOML = 1 << 20

// maxKeys bounds the keys and tables of such a file.
const maxKeys = 1 << 12

// readFile reads a file of at most maxTOML bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	defer f.Close() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxTOML+1))
	if err == nil && len(b) > maxTOML {
		err = fmt.Errorf("%s has more than %d bytes, which no file of settings needs: is it the right file?",
			path, maxTOML)
	}
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	return b, nil
}

// ReadTOML decodes a file strictly: an unknown key is an error that names it.
func ReadTOML(path string, into any) error {
	b, err := readFile(path)
	if err != nil {
		return err
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // some editors on Windows write it
	if err := tomlsize.Check(b, maxKeys); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: %s has %w: is it the right file? A schema of many "+
			"columns goes into another file", path, err)
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		line, _ := strict.Errors[0].Position()
		key := strict.Errors[0].Key()
		return protocol.Fail(protocol.ClassInput, "config: %s:%d: unknown key %q%s", path, line,
			strings.Join(key, "."), meant(reflect.TypeOf(into), key))
	case errors.As(err, &bad):
		line, _ := bad.Position()
		return protocol.Fail(protocol.ClassInput, "config: %s:%d: %s", path, line, explain(bad))
	case err != nil:
		return protocol.Fail(protocol.ClassInput, "config: %s: %w", path, err)
	}
	return nil
}

// mismatch is the decoder's text about a value of the wrong type.
var mismatch = regexp.MustCompile(`^toml: cannot decode TOML (\w+) into (?:.*\.(\w+))? ?of type (.+)$`)

// explain is a decoder's error without the names of Go's types.
func explain(err *toml.DecodeError) string {
	text := strings.TrimPrefix(err.Error(), "toml: ")
	m := mismatch.FindStringSubmatch(err.Error())
	if m == nil {
		return text
	}
	key, want := strings.Join(err.Key(), "."), m[3]
	if key == "" {
		key = strings.ToLower(m[2])
	}
	if key == "" {
		return text
	}
	switch {
	case strings.HasPrefix(want, "map["), strings.Contains(want, "."): // a struct
		want = "table"
	case strings.HasPrefix(want, "[]"):
		want = "list"
	case strings.HasPrefix(want, "["): // an array, such as [2]string
		n, _, _ := strings.Cut(want[1:], "]")
		want = "list of " + n
	case strings.HasPrefix(want, "float"):
		want = "number"
	case strings.HasPrefix(want, "int"), strings.HasPrefix(want, "uint"):
		want = "whole number"
	}
	article := "a"
	if m[1] == "integer" || m[1] == "array" {
		article = "an"
	}
	return fmt.Sprintf("%s is %s %s, want a %s", key, article, m[1], want)
}

func InDir(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
