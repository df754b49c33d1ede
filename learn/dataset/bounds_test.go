package dataset

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseColumn(t *testing.T) {
	for text, want := range map[string]Column{
		"age=17:90":           Standardised("age", 17, 90, 53.5, 18.25),
		" age = -1.5 : 2e3 ":  Standardised("age", -1.5, 2000, 999.25, 500.375),
		"age=17:90:40:14":     Standardised("age", 17, 90, 40, 14),
		"code=0:1":            Numeric("code", 0, 1),
		"income=<=50K|>50K":   Binary("income", "<=50K", ">50K"),
		"ward=A & E | B | 12": Categorical("ward", "A & E", "B", "12"),
	} {
		got, err := ParseColumn(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"", "age", "=1:2", "age=", "age=1", "age=1:2:3", "age=1:2:3:4:5", "age=2:1", "age=1:2:0:0",
		"age=a:b", "age=nan:1", "ward=A|A", "ward=A|", "age=1:inf",
	} {
		if c, err := ParseColumn(text); !errors.Is(err, ErrSchema) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// TestColumnErrors: an error says what is wanted and which columns there are.
func TestColumnErrors(t *testing.T) {
	for _, text := range []string{"ward=A", "ward=A,B", "age=18-95"} {
		if _, err := ParseColumn(text); err == nil || !strings.Contains(err.Error(), "A|B with two or more") {
			t.Errorf("%q: %v", text, err)
		}
	}
	s := &Schema{Columns: []Column{Numeric("age", 0, 100)}, Target: Binary("ill", "no", "yes")}
	if _, err := s.Override(Numeric("Age", 0, 90)); err == nil ||
		!strings.Contains(err.Error(), "its columns are age, ill") {
		t.Errorf("another column: %v", err)
	}
	many := make([]string, 25)
	if got := List(many); !strings.HasSuffix(got, " and 5 more") {
		t.Errorf("25 columns are %q", got)
	}
}

// TestRangeAlone: a range alone is a feature in quarters of the range, and a target in halves; files keep it
// as it was written.
func TestRangeAlone(t *testing.T) {
	text := "source = \"public: book\"\nmissing = \"zero\"\nunseen = \"zero\"\n\n" +
		"[target]\ny = [-4, 4]\n\n[columns]\nx = [10, 30]\ncode = [0, 1]\n" +
		"z = { lo = 0, hi = 8, center = 4, scale = 4 }\n"
	s, err := ParseTOML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(s.TOML()) != text {
		t.Errorf("written as\n%s", s.TOML())
	}
	rec, err := ReadRecords(strings.NewReader("x,code,z,y\n10,0,0,-4\n30,1,8,4\n"), CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(s *Schema) {
		table, err := rec.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(table.X, table.Y); got != "[-2 -1 -1 1 2 1 1 1] [-1 1]" {
			t.Errorf("encoded as %s", got)
		}
	}
	check(s)
	var public []Column
	for _, text := range []string{"x=10:30", "code=0:1", "y=-4:4"} {
		c, err := ParseColumn(text)
		if err != nil {
			t.Fatal(err)
		}
		public = append(public, c)
	}
	if s, err = s.Override(public...); err != nil {
		t.Fatal(err)
	}
	check(s)
	for i, c := range s.Columns {
		if !c.RangeAlone() {
			t.Errorf("column %d has more than its range", i)
		}
	}
}

func TestOverride(t *testing.T) {
	rec, err := ReadRecords(strings.NewReader("a,b,y\n1,u,no\n2,v,yes\n"), CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inferred, err := rec.InferSchema("y", true)
	if err != nil {
		t.Fatal(err)
	}
	some, err := inferred.Override(Numeric("a", 0, 9))
	if err != nil {
		t.Fatal(err)
	}
	if some.Public() || some.Columns[0].Numeric.Hi != 9 || inferred.Columns[0].Numeric.Hi != 2 {
		t.Errorf("%+v from %+v", some, inferred)
	}
	all, err := inferred.Override(Numeric("a", 0, 9), Categorical("b", "u", "v", "w"),
		Binary("y", "no", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	if !all.Public() || all.Dim() != 5 {
		t.Errorf("%+v", all)
	}
	if same, err := small().Override(Numeric("age", 0, 120)); err != nil || !same.Public() {
		t.Errorf("a public schema lost its claim: %v", err)
	}
	for name, cols := range map[string][]Column{
		"unknown": {Numeric("z", 0, 1)},
		"twice":   {Numeric("a", 0, 1), Numeric("a", 0, 2)},
		"target":  {Categorical("y", "a", "b", "c")},
		"invalid": {Numeric("a", 1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := inferred.Override(cols...); !errors.Is(err, ErrSchema) {
				t.Errorf("%v", err)
			}
		})
	}
}
