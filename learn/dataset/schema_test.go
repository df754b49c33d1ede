package dataset

import (
	"crypto/sha256"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func small() *Schema {
	return &Schema{
		Version: 1, Source: "public: test", Missing: Refuse, Unseen: Refuse,
		Target: Binary("sick", "<=no", ">yes"),
		Columns: []Column{
			Numeric("age", 0, 100),
			Categorical("ward", "A & E", "B"),
			Standardised("dose", -1, 1e9, 0, 2.5),
		},
	}
}

func regression() *Schema {
	s := small()
	s.Target = Numeric("stay", 0, 30)
	s.Missing, s.Unseen = Drop, Zero
	return s
}

const smallCanonical = `{"version":1,"source":"public: test",` +
	`"target":{"name":"sick","categories":["<=no",">yes"]},` +
	`"columns":[{"name":"age","numeric":{"lo":0,"hi":100,"center":50,"scale":50}},` +
	`{"name":"ward","categories":["A & E","B"]},` +
	`{"name":"dose","numeric":{"lo":-1,"hi":1000000000,"center":0,"scale":2.5}}],` +
	`"missing":"refuse","unseen":"refuse"}`

// The bytes go into signed plans: they may not change.
func TestCanonicalForm(t *testing.T) {
	b, err := small().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(smallCanonical, string(b)); diff != "" {
		t.Error(diff)
	}
	back, err := ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small(), back); diff != "" {
		t.Error(diff)
	}
}

func TestHashDependsOnEverything(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*Schema){
		"nothing":  func(*Schema) {},
		"source":   func(s *Schema) { s.Source += "." },
		"target":   func(s *Schema) { s.Target.Name = "ill" },
		"positive": func(s *Schema) { s.Target = Binary("sick", ">yes", "<=no") },
		"bounds":   func(s *Schema) { s.Columns[0].Numeric.Hi = math.Nextafter(100, 101) },
		"order":    func(s *Schema) { s.Columns[0], s.Columns[1] = s.Columns[1], s.Columns[0] },
		"category": func(s *Schema) { s.Columns[1].Categories[1] = "C" },
		"missing":  func(s *Schema) { s.Missing = Drop },
		"unseen":   func(s *Schema) { s.Unseen = Zero },
	} {
		t.Run(name, func(t *testing.T) {
			s := small()
			change(s)
			h, err := s.hash()
			if err != nil {
				t.Fatalf("%v", err)
			}
			if other, ok := seen[h]; ok {
				t.Errorf("%s and %s have one hash", name, other)
			}
			seen[h] = name
		})
	}
}

func TestParseSchemaIsStrict(t *testing.T) {
	for name, text := range map[string]string{
		"space":         " " + smallCanonical,
		"newline":       smallCanonical + "\n",
		"trailing":      smallCanonical + "{}",
		"unknown field": strings.Replace(smallCanonical, `"version":1`, `"version":1,"x":2`, 1),
		"key's case":    strings.Replace(smallCanonical, `"version"`, `"Version"`, 1),
		"key twice":     strings.Replace(smallCanonical, `"version":1`, `"version":1,"version":1`, 1),
		"number form":   strings.Replace(smallCanonical, `"hi":100,`, `"hi":1e2,`, 1),
		"escape":        strings.Replace(smallCanonical, `<=no`, `\u003c=no`, 1),
		"null":          "null",
		"empty":         "",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSchema([]byte(text)); !errors.Is(err, ErrSchema) {
				t.Errorf("%v", err)
			}
		})
	}
	s, err := ReadSchema(strings.NewReader("\n" + strings.ReplaceAll(smallCanonical, ",", ",\n ")))
	if err != nil || s.Dim() != 5 {
		t.Errorf("a schema laid out by hand: %v", err)
	}
	if _, err := ReadSchema(strings.NewReader(smallCanonical + "x")); !errors.Is(err, ErrSchema) {
		t.Errorf("trailing text: %v", err)
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, change := range map[string]func(*Schema){
		"version":           func(s *Schema) { s.Version = 2 },
		"no source":         func(s *Schema) { s.Source = "" },
		"missing policy":    func(s *Schema) { s.Missing = "" },
		"unseen drop":       func(s *Schema) { s.Unseen = Drop },
		"no columns":        func(s *Schema) { s.Columns = nil },
		"three labels":      func(s *Schema) { s.Target.Categories = []string{"a", "b", "c"} },
		"target as feature": func(s *Schema) { s.Columns[0].Name = "sick" },
		"name twice":        func(s *Schema) { s.Columns[0].Name = "ward" },
		"bias":              func(s *Schema) { s.Columns[0].Name = Bias },
		"encoded clash":     func(s *Schema) { s.Columns[0].Name = "ward=B" },
		"empty name":        func(s *Schema) { s.Columns[0].Name = "" },
		"space":             func(s *Schema) { s.Columns[0].Name = "age " },
		"control":           func(s *Schema) { s.Columns[0].Name = "a\x00ge" },
		"not UTF-8":         func(s *Schema) { s.Columns[0].Name = "\xff" },
		"both kinds":        func(s *Schema) { s.Columns[0].Categories = []string{"x"} },
		"neither kind":      func(s *Schema) { s.Columns[0].Numeric = nil },
		"no categories":     func(s *Schema) { s.Columns[1].Categories = []string{} },
		"category twice":    func(s *Schema) { s.Columns[1].Categories = []string{"B", "B"} },
		"lo = hi":           func(s *Schema) { s.Columns[0].Numeric.Lo = 100 },
		"NaN":               func(s *Schema) { s.Columns[0].Numeric.Center = math.NaN() },
		"infinite":          func(s *Schema) { s.Columns[0].Numeric.Hi = math.Inf(1) },
		"scale 0":           func(s *Schema) { s.Columns[0].Numeric.Scale = 0 },
		"scale overflows":   func(s *Schema) { s.Columns[0].Numeric.Scale = 5e-324 },
		"too wide": func(s *Schema) {
			s.Columns = nil
			for i := range 17 {
				c := Column{Name: string(rune('a' + i))}
				for j := range 4000 {
					c.Categories = append(c.Categories, string(rune(0x4e00+j)))
				}
				s.Columns = append(s.Columns, c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := small()
			change(s)
			if err := s.Validate(); !errors.Is(err, ErrSchema) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A row at the corner of the public box reaches the promised norm.
func TestRowNorm(t *testing.T) {
	s := small()
	table, err := loadCSV(strings.NewReader("age,ward,dose,sick\n100,B,1e9,>yes\n"), "corner", s)
	if err != nil {
		t.Fatal(err)
	}
	square := 0.0
	for _, v := range table.Row(0) {
		square += v * v
	}
	if got := rowNorm(s); math.Abs(got-math.Sqrt(square)) > 1e-6 {
		t.Errorf("bound %g, corner %g", got, math.Sqrt(square))
	}
}

func FuzzParseSchema(f *testing.F) {
	for _, s := range []*Schema{small(), regression()} {
		b, err := s.Canonical()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(strings.Replace(smallCanonical, `"lo":0`, `"lo":-0`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSchema(b)
		if err != nil {
			return
		}
		again, err := s.Canonical()
		if err != nil || string(again) != string(b) {
			t.Fatalf("accepted %q, emits %q (%v)", b, again, err)
		}
	})
}

// schemaLabel separates schema hashes from every other hash.
const schemaLabel = "choir/learn/dataset/schema/v1\x00"

// hash is SHA-256 over a label and the canonical form.
func (s *Schema) hash() ([32]byte, error) {
	b, err := s.Canonical()
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(append([]byte(schemaLabel), b...)), nil
}

// TestSchemaOfTwoReaders: a key that is there twice, which another program may read differently, is refused.
func TestSchemaOfTwoReaders(t *testing.T) {
	text, err := small().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	twice := strings.Replace(string(text), "{", `{"Version": 1, `, 1)
	if _, err := ReadSchema(strings.NewReader(twice)); !errors.Is(err, ErrSchema) ||
		!strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}
