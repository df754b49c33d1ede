package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const smallTOML = `
missing = "zero"
[target]
died = ["no", "yes"]
[columns]
ward = ["B", "A"]
age = [17, 90]
"blood pressure" = { lo = 50, hi = 260.5, center = 130, scale = 20 }
z = {lo = -1, hi = 1}
`

// TestParseTOML: the short forms, their defaults, and the order of the file, alone and
// inside a plan's file.
func TestParseTOML(t *testing.T) {
	want := &Schema{Version: 1, Source: defaultSource, Missing: Zero, Unseen: Refuse, Target: Binary("died",
		"no", "yes"),
		Columns: []Column{Categorical("ward", "B", "A"), Standardised("age", 17, 90, 53.5, 18.25),
			Standardised("blood pressure", 50, 260.5, 130, 20), Standardised("z", -1, 1, 0, 0.5)}}
	plan := "name = 'p'\n[learning]\nrecords = 3\n[learning.schema]" +
		strings.NewReplacer("[target]", "[learning.schema.target]", "[columns]",
			"[learning.schema.columns]").Replace(smallTOML)
	dotted := `a.b = { missing = "zero", target = { died = ["no", "yes"] },
		columns = { ward = ["B", "A"], age = [17, 90],
		"blood pressure" = { lo = 50, hi = 260.5, center = 130, scale = 20 }, z = { lo = -1, hi = 1 } } }`
	for name, c := range map[string]struct {
		doc  string
		path []string
	}{
		"file":   {smallTOML, nil},
		"CRLF":   {"\ufeff" + strings.ReplaceAll(smallTOML, "\n", "\r\n"), nil},
		"plan":   {plan, []string{"learning", "schema"}},
		"inline": {strings.ReplaceAll(dotted, "\n\t\t", " "), []string{"a", "b"}},
		"tables": {strings.Replace(smallTOML, "z = {lo = -1, hi = 1}", "[columns.z]\nlo = -1\nhi = 1", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTOML([]byte(c.doc), c.path...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTOMLRoundTrip: what TOML writes, ReadSchema reads.
func TestTOMLRoundTrip(t *testing.T) {
	odd := read(t, "a b,\"c\"\"d\",é.x,y\n1,p,u v,1\n2,q,\"w,\"\"\",2\n")
	inferred, err := odd.InferSchema("y", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Schema{"generated": DefaultGenerator(false, 3).schema(),
		"odd names": inferred} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadSchema(strings.NewReader(string(s.TOML())))
			if err != nil {
				t.Fatalf("%v\n%s", err, s.TOML())
			}
			if d := cmp.Diff(s, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestParseTOMLRefuses: each error names what to mend.
func TestParseTOMLRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"unfilled":          {"[17, 90]", `"?"`, `column "age": its bounds are left to fill`},
		"unfilled list":     {"[17, 90]", `["?", "?"]`, `column "age": its bounds are left to fill`},
		"three numbers":     {"[17, 90]", "[1, 2, 3]", `column "age": want two numbers`},
		"mixed":             {"[17, 90]", `[1, "A"]`, "go in quotes"},
		"reversed":          {"[17, 90]", "[90, 17]", "lo 90 is not below hi 17"},
		"no hi":             {"{lo = -1, hi = 1}", "{lo = -1}", "both needed"},
		"unknown range key": {"{lo = -1, hi = 1}", "{min = -1, max = 1}", `column "z": max`},
		"boolean":           {"[17, 90]", "true", `column "age": want`},
		"key":               {"missing", "mising", `unknown key "mising"`},
		"policy":            {`"zero"`, `"mean"`, "not refuse, zero or drop"},
		"number policy":     {`"zero"`, "0", "text in quotes"},
		"no target":         {"[target]\ndied = [\"no\", \"yes\"]", "", "[target] is missing"},
		"two targets":       {"[target]", "[target]\nx = [0, 1]", "2 columns, want 1"},
		"three classes":     {`["no", "yes"]`, `["a", "b", "c"]`, "3 categories"},
		"syntax":            {"[17, 90]", "[17, 90", "line 8, column"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := strings.Replace(smallTOML, c.old, c.new, 1)
			if doc == smallTOML {
				t.Fatal("the case changes nothing")
			}
			_, err := ParseTOML([]byte(doc))
			if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestDraftSchema: types, usual columns and common codes are filled in; the rest is left
// open, and no value of the rows is in the text.
func TestDraftSchema(t *testing.T) {
	rec := read(t,
		"patient_id;Age;sex;marker;ward;smoker;died\n71;53;F;1234,5;Secret;1;no\n72;NA;M;17;Hidden;0;yes\n")
	d, err := rec.DraftSchema("died")
	if err != nil {
		t.Fatal(err)
	}
	text := string(d.Text)
	for _, want := range []string{`died = ["no", "yes"]`, "Age = { lo = 0, hi = 110, center = 50, scale = 20 }",
		`sex = ["F", "M"]`, `marker = "?"`, `ward = "?"`, "smoker = [0, 1]", "# patient_id is left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, private := range []string{"1234", "Secret", "Hidden", "71", "53"} {
		if strings.Contains(text, private) {
			t.Errorf("the draft has %q of a row", private)
		}
	}
	if !slices.Equal(d.Open, []string{"marker", "ward"}) || !slices.Equal(d.Left, []string{"patient_id"}) {
		t.Errorf("open %q, left %q", d.Open, d.Left)
	}
	if _, err := ParseTOML(d.Text); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), `"marker"`) {
		t.Errorf("unfilled: %v", err)
	}
	filled := strings.Replace(strings.Replace(text, `marker = "?"`, "marker = [0, 5000]", 1), `ward = "?"`,
		`ward = ["A"]`, 1)
	if _, err := ParseTOML([]byte(filled)); err != nil {
		t.Error(err)
	}
}

// TestDraftLeavesOut: dates and free text are known by their form, whatever the column's name is; they are
// no categories to list.
func TestDraftLeavesOut(t *testing.T) {
	text := "admitted;seen;story;group;died\n"
	for i := range 60 {
		text += fmt.Sprintf("2023-0%d-1%d;%d.3.2024 08:15;came in %d;1-2-%d;no\n", 1+i%9, i%10, 1+i%28, i, i%3)
	}
	d, err := read(t, text+"NA;;;;yes\n").DraftSchema("died")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Left, []string{"admitted", "seen", "story"}) || !slices.Equal(d.Open, []string{"group"}) {
		t.Errorf("left %q, open %q\n%s", d.Left, d.Open, d.Text)
	}
	for _, want := range []string{"# admitted is left out: dates or times\n",
		"# story is left out: identifiers or free text\n"} {
		if !strings.Contains(string(d.Text), want) {
			t.Errorf("no %q in\n%s", want, d.Text)
		}
	}
}

// TestDraftOfHeader: a header alone is enough.
func TestDraftOfHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.csv")
	if err := os.WriteFile(path, []byte("age,ward,died\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadRecords(path); !errors.Is(err, ErrBadData) {
		t.Errorf("no rows: %v", err)
	}
	rec, err := LoadHeader(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := rec.DraftSchema("died")
	if err != nil || !slices.Equal(d.Open, []string{"died", "ward"}) {
		t.Errorf("%q, %v", d.Open, err)
	}
}

// TestCheck counts by hand.
func TestCheck(t *testing.T) {
	s, err := ParseTOML([]byte("unseen = \"zero\"\n" + smallTOML))
	if err != nil {
		t.Fatal(err)
	}
	rec := read(t, "note,died,ward,age,blood pressure,z\n"+
		"a,no,A,20,130,0\nb,yes,C,95,NA,0.5\nc,Yes,B,,100,x\nd,no,B,12,300,y\n")
	got, err := rec.Check(s)
	if err != nil {
		t.Fatal(err)
	}
	want := &Check{Rows: 4, Ignored: []string{"note"}, Columns: []ColumnCheck{
		{Column: "died", Target: true, Refused: 1, Line: 4,
			Cause: ErrUnseen.Error() + ", which has no, yes"},
		{Column: "ward", Unseen: 1}, {Column: "age", Clipped: 2, Missing: 1},
		{Column: "blood pressure", Clipped: 1, Missing: 1},
		{Column: "z", Refused: 2, Line: 4, Cause: errNotNumber.Error()}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Usable() {
		t.Error("usable with values that the schema refuses")
	}
	if _, err := rec.Encode(s); err == nil {
		t.Error("Encode takes what Check refuses")
	}
	absent, err := read(t, "died,ward\nno,A\n").Check(s)
	if err != nil || absent.Usable() || !absent.Columns[2].Absent {
		t.Errorf("%+v, %v", absent, err)
	}
}

// TestEncodings: files as other programs write them are read, or refused with line, column
// and remedy.
func TestEncodings(t *testing.T) {
	s := &Schema{Version: 1, Source: "public", Missing: Zero, Unseen: Zero, Target: Binary("y", "no", "yes"),
		Columns: []Column{Numeric("a", -10, 10), Categorical("c", "p", "q;r")}}
	for name, text := range map[string]string{
		"plain":          "a,c,y\n1.5,p,no\n-2.25,q;r,yes\n",
		"CRLF and BOM":   "\ufeffa,c,y\r\n1.5,p,no\r\n-2.25,q;r,yes\r\n",
		"semicolons":     "a;c;y\n1,5;p;no\n-2,25;\"q;r\";yes\n",
		"three decimals": "a;c;y\n1,500;p;no\n-2,250;\"q;r\";yes\n",
		"tabs":           "a\tc\ty\n1,5\tp\tno\n-2.25\tq;r\tyes\n",
		"quotes":         "\"a\", \"c\", \"y\"\n\"1.5\", \"p\", \"no\"\n\"-2.25\", \"q;r\", \"yes\"\n",
		"blank lines":    "a,c,y\n\n1.5,p,no\n-2.25,q;r,yes\n\n",
		"another order":  "y,c,a\nno,p,1.5\nyes,q;r,-2.25\n",
		"space in cells": "a,c,y\n 1.5 ,p ,no\n-2.25, q;r,yes\n",
	} {
		t.Run(name, func(t *testing.T) {
			table, err := read(t, text).Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			if want := []float64{0.15, 1, 0, 1, -0.225, 0, 1, 1}; !slices.Equal(table.X, want) {
				t.Errorf("%v, want %v", table.X, want)
			}
		})
	}
	for _, mark := range []string{"", "?", "NA", "N/A", "NaN", "null", "NULL", "None", ".", "#N/A"} {
		table, err := read(t, "a,c,y\n"+mark+",p,no\n").Encode(s)
		if err != nil || table.Notes.Missing["a"] != 1 {
			t.Errorf("mark %q: %v", mark, err)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"decimal comma": {"a,c,y\n1,p,no\n\"1,5\",p,no\n",
			`line 3, column "a": not a finite decimal number: a comma`},
		"thousands":      {"a;c;y\n20,500;p;no\n", `line 2, column "a": not a finite decimal number: the`},
		"Latin-1":        {"a,c,y\n1,caf\xe9,no\n", `line 2, column "c": the text is not UTF-8`},
		"infinity":       {"a,c,y\n-inf,p,no\n", `line 2, column "a"`},
		"missing target": {"a,c,y\n1,p,\n", `line 2, column "y": value is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := ReadRecords(strings.NewReader(c.text), CSVOptions{Name: "f"})
			if err == nil {
				_, err = rec.Encode(s)
			}
			if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestDecimalCommasSurvive: rows with decimal commas that WriteCSV writes are read back.
func TestDecimalCommasSurvive(t *testing.T) {
	rec := read(t, "a;y\n1,5;no\n2;yes\n")
	var b strings.Builder
	if err := rec.WriteCSV(&b, nil); err != nil {
		t.Fatal(err)
	}
	again := read(t, b.String())
	if !again.DecimalCommas || again.Cells[0][0] != "1,5" {
		t.Errorf("%q", b.String())
	}
}

// TestTwins: every record fits the schema, a seed decides all, parts differ, and the target
// depends on the features.
func TestTwins(t *testing.T) {
	s, err := ParseTOML([]byte(smallTOML + "flag = [0, 1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	tw := Twins{Schema: s, Signal: 2, Seed: 9}
	a, err := tw.Records(0, 500)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := tw.Records(0, 500)
	b, _ := tw.Records(1, 500)
	if !cmp.Equal(a, again) || cmp.Equal(a.Cells, b.Cells) {
		t.Error("a seed and a part don't decide the rows")
	}
	strict := *s
	strict.Missing = Refuse
	table, err := a.Encode(&strict)
	if err != nil {
		t.Fatal(err)
	}
	if p := positive(table); p < 0.15 || p > 0.7 || len(table.Notes.Clipped) > 0 {
		t.Errorf("positive %g, clipped %v", p, table.Notes.Clipped)
	}
	tw.Joint = true
	joint, err := tw.Records(0, 500)
	if err != nil {
		t.Fatal(err)
	}
	if table, err = joint.Encode(&strict); err != nil || positive(table) < 0.15 || positive(table) > 0.7 {
		t.Errorf("joint twins: %v", err)
	}
	number := *s
	number.Target = Numeric("died", 0, 1000)
	rows, err := Twins{Schema: &number, Signal: 1, Seed: 2}.Records(0, 50)
	if err != nil {
		t.Fatal(err)
	}
	if table, err := rows.Encode(&number); err != nil || table.Notes.Clipped["died"] > 2 {
		t.Errorf("a number: %v", err)
	}
	number.Target = Standardised("died", 0, 1000, 100, 20)
	if rows, err = (Twins{Schema: &number, Signal: 1, Seed: 2}).Records(0, 500); err != nil {
		t.Fatal(err)
	}
	if table, err = rows.Encode(&number); err != nil {
		t.Fatal(err)
	}
	sum, square := 0.0, 0.0
	for _, y := range table.Y {
		sum += y / 500
		square += y * y / 500
	}
	if noise := (Twins{Schema: &number, Signal: 1}).Noise(); math.Abs(noise-math.Sqrt(0.5)) > 1e-12 {
		t.Errorf("noise of %g in a target of variance 1, half of it noise", noise)
	}
	if math.Abs(sum) > 0.3 || math.Abs(square-1) > 0.3 { // 6 standard errors
		t.Errorf("a number with a centre and a scale: mean %g, mean square %g", sum, square)
	}
	for _, bad := range []Twins{{Schema: s, Signal: -1}, {Schema: s, Signal: 1000},
		{Schema: s, Shift: math.NaN()}} {
		if _, err := bad.Records(0, 5); err == nil {
			t.Errorf("signal %g", bad.Signal)
		}
	}
	if _, err := tw.Records(0, 0); err == nil {
		t.Error("no rows")
	}
}

func TestLongTOML(t *testing.T) {
	for _, doc := range [][]byte{make([]byte, maxSchemaTOML+1),
		bytes.Repeat([]byte("[[a]]\n"), maxSchemaKeys+1)} {
		if _, err := ParseTOML(doc); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%.300v", err)
		}
	}
}
