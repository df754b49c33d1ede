package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"choir/learn/internal/absent"
)

const goodCSV = "\ufeffage,ward,dose,id,sick\n" +
	"50, A & E ,5,p1,<=no\n" +
	"\n" +
	"75,\"B\",-3,p2,>yes\n"

func TestLoadCSV(t *testing.T) {
	want := &Table{
		Name:           "t.csv",
		Columns:        []string{"age", "ward=A & E", "ward=B", "dose", "bias"},
		X:              []float64{0, 1, 0, 2, 1, .5, 0, 1, -.4, 1},
		Y:              []float64{0, 1},
		Classification: true,
		Notes:          Notes{Clipped: map[string]int{"dose": 1}, Ignored: []string{"id"}},
	}
	for name, text := range map[string]string{
		"comma":     goodCSV,
		"semicolon": strings.ReplaceAll(goodCSV, ",", ";"),
		"tab":       strings.ReplaceAll(goodCSV, ",", "\t"),
		"CRLF":      strings.ReplaceAll(goodCSV, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := loadCSV(strings.NewReader(text), "t.csv", small())
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
}

func TestRegressionTarget(t *testing.T) {
	table, err := loadCSV(strings.NewReader("age,ward,dose,stay\n1,B,1,30\n1,B,1,0\n1,B,1,60\n"), "",
		regression())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, -1, 1}, table.Y); diff != "" || table.Classification {
		t.Error(diff)
	}
	if table.Notes.Clipped["stay"] != 1 {
		t.Errorf("%+v", table.Notes)
	}
}

// Every error names line and column and never contains the cell.
func TestBadLinesAreNamed(t *testing.T) {
	const head = "age,ward,dose,sick\n1,B,1,>yes\n"
	for name, c := range map[string]struct {
		text   string
		line   int
		column string
		cause  error
	}{
		"not a number":     {head + "SECRET,B,1,>yes\n", 3, "age", errNotNumber},
		"infinite":         {head + "inf,B,1,>yes\n", 3, "age", errNotNumber},
		"overflow":         {head + "1,B,1e999,>yes\n", 3, "dose", errNotNumber},
		"hexadecimal":      {head + "0x1p3,B,1,>yes\n", 3, "age", errNotNumber},
		"unseen category":  {head + "1,SECRET,1,>yes\n", 3, "ward", ErrUnseen},
		"unseen label":     {head + "1,B,1,SECRET\n", 3, "sick", ErrUnseen},
		"missing number":   {head + "1,B,?,>yes\n", 3, "dose", ErrMissing},
		"missing category": {head + "1,,1,>yes\n", 3, "ward", ErrMissing},
		"missing label":    {head + "1,B,1,\n", 3, "sick", ErrMissing},
		"short line":       {head + "1,B\n", 3, "dose", nil},
		"long line":        {head + "1,B,1,>yes,SECRET\n", 3, "sick", nil},
		"bare quote":       {head + "1,SEC\"RET,1,>yes\n", 3, "ward", nil},
		"open quote":       {head + "\n1,\"SECRET\n", 4, "ward", nil},
		"quote never shut": {head + "1,\"SECRET,1,>yes\n" + strings.Repeat("1,B,1,>yes\n", 9), 3, "ward", nil},
		"after blank":      {head + "\n\nSECRET,B,1,>yes\n", 5, "age", errNotNumber},
		"no column":        {"age,ward,sick\n1,B,>yes\n", 1, "dose", nil},
		"name twice":       {"age,ward,age,sick\n1,B,1,>yes\n", 1, "age", nil},
		"nameless":         {"age,,dose,sick\n1,B,1,>yes\n", 1, "#2", nil},
		"no header":        {"1,2,3,4\n5,6,7,8\n", 1, "", nil},
		"empty":            {"", 0, "", nil},
		"header only":      {"age,ward,dose,sick\n", 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadCSV(strings.NewReader(c.text), "ward7.csv", small())
			var le *LineError
			if !errors.As(err, &le) || !errors.Is(err, ErrBadData) {
				t.Errorf("%v", err)
				return
			}
			if le.Line != c.line || le.Column != c.column || le.File != "ward7.csv" {
				t.Errorf("%v, want line %d, column %q", err, c.line, c.column)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%v, want %v", err, c.cause)
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the message shows the cell: %v", err)
			}
		})
	}
}

func TestErrorMessage(t *testing.T) {
	_, err := loadCSV(strings.NewReader("age,ward,dose,sick\nx,B,1,>yes\n"), "ward7.csv", small())
	const want = `ward7.csv, line 2, column "age": not a finite decimal number; ` +
		`leave the cell empty if the value is missing`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPolicies(t *testing.T) {
	const text = "age,ward,dose,sick\n?,B,1,>yes\n1,C,1,<=no\n1,?,1,<=no\n50,B,0,>yes\n"
	s := small()
	s.Missing, s.Unseen = Zero, Zero
	table, err := loadCSV(strings.NewReader(text), "", s)
	if err != nil {
		t.Fatal(err)
	}
	if table.Rows() != 4 || table.Row(0)[0] != 0 || table.Row(1)[1]+table.Row(1)[2] != 0 {
		t.Errorf("%v", table.X)
	}
	for i := range 4 { // the age is the middle of its range in row 3, and missing in row 0
		if x := table.Row(i)[0]; absent.Is(x) != (i == 0) || (x == 0) != (i == 0 || i == 3) {
			t.Errorf("row %d: age %v, missing %v", i, x, absent.Is(x))
		}
	}
	n := table.Notes
	if n.Missing["age"] != 1 || n.Missing["ward"] != 1 || n.Unseen["ward"] != 1 {
		t.Errorf("%+v", n)
	}
	s.Missing = Drop
	if table, err = loadCSV(strings.NewReader(text), "", s); err != nil {
		t.Fatal(err)
	}
	// Rows 1 and 3 were dropped, without any effect on the rows after them.
	want := []float64{-.98, 0, 0, .4, 1, 0, 0, 1, 0, 1}
	if diff := cmp.Diff(want, table.X, cmpopts.EquateApprox(0, 1e-15)); diff != "" ||
		table.Notes.Dropped != 2 {
		t.Errorf("dropped %d, %s", table.Notes.Dropped, diff)
	}
	if _, err := loadCSV(strings.NewReader("age,ward,dose,sick\n1,B,1,?\n"), "", s); !errors.Is(err,
		ErrBadData) {
		t.Errorf("nothing left: %v", err)
	}
}

func TestInferSchema(t *testing.T) {
	const text = "n,c,k,y\n1,b,7,no\n3,?,7,yes\n?,a,7,no\n5,b,7,no\n"
	rec, err := ReadRecords(strings.NewReader(text), CSVOptions{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := rec.InferSchema("y", true)
	if err != nil {
		t.Fatal(err)
	}
	want := []Column{
		Standardised("n", 1, 5, 3, math.Sqrt(8./3)),
		Categorical("c", "?", "a", "b"),
	}
	if diff := cmp.Diff(want, s.Columns, cmpopts.EquateApprox(0, 1e-15)); diff != "" {
		t.Error(diff)
	}
	if s.Public() || s.Source != sourceInferred || s.Target.Categories[1] != "yes" {
		t.Errorf("%+v", s)
	}
	if table, err := rec.Encode(s); err != nil || table.Rows() != 4 {
		t.Errorf("its own rows: %v", err)
	}
	for target, classification := range map[string]bool{"nowhere": true, "n": true, "c": false, "y": false} {
		if _, err := rec.InferSchema(target, classification); !errors.Is(err, ErrBadData) {
			t.Errorf("target %s: %v", target, err)
		}
	}
}

// TestInferLeavesOut: identifiers, by their name or their form, dates, and more texts than categories may be
// are left out, but for what is kept by name; a file of nothing else has no schema.
func TestInferLeavesOut(t *testing.T) {
	// A column that numbers the rows, of two files in a row as well; counts of something are none.
	var numbered strings.Builder
	numbered.WriteString("row,visits,at,y\n")
	for n := range 200 {
		fmt.Fprintf(&numbered, "%d,%d,%02d:%02d,%d\n", n%100+1, n/3, n%24, n%60, n%2)
	}
	rows := read(t, numbered.String())
	s, err := rows.InferSchema("y", true)
	if err != nil || strings.Join(s.LeftOut(rows.Header), " ") != "row at" {
		t.Errorf("%+v, %v", s, err)
	}
	var b strings.Builder
	b.WriteString("pid,code,seen,story,n,y\n")
	for n := range maxCategories + 1 {
		fmt.Fprintf(&b, "%d,c%d,2024-01-%02d,words %d,%d,%d\n", n, n/2*2, 1+n%28, n, n%7, n%2)
	}
	rec := read(t, b.String())
	for _, c := range []struct{ keep, left string }{
		{"", "pid code seen story"}, {"pid", "code seen story"}, {"seen", "pid code story"},
	} {
		s, err := rec.InferSchema("y", true, c.keep)
		if err != nil {
			t.Fatal(err)
		}
		if left := strings.Join(s.LeftOut(rec.Header), " "); left != c.left {
			t.Errorf("kept %q: left out %q, want %q", c.keep, left, c.left)
		}
	}
	if _, err := rec.InferSchema("y", true, "story"); !errors.Is(err, ErrBadData) {
		t.Errorf("%d kept texts: %v", maxCategories+1, err)
	}
	if _, err := read(t, "id,y\n1,0\n2,1\n").InferSchema("y", true); err == nil ||
		!strings.Contains(err.Error(), "no other column") {
		t.Errorf("no columns: %v", err)
	}
}

// TestInferRefusesAlmostNumbers: one word among numbers doesn't make categories of
// them, and a target that is always the same is none.
func TestInferRefusesAlmostNumbers(t *testing.T) {
	for column, line := range map[string]string{
		"1 2 NaN 4 NaN": "", "1 2 3 1e400 5": "line 5", "NA 2 ? 4 5": "",
		"1 -inf 3 4 5": "line 3", "1 2 3 4,5 5": "", "1 2 3 4,500 5": "line 5",
		"1 2 3 4 5": "", "A12 2 NaN 4 5": "", "250 V27 250 ? 8": "", "NA NA ? NA NA": "no other column",
	} {
		text := "x;y\n"
		for i, cell := range strings.Fields(column) {
			text += fmt.Sprintf("%s;%d\n", cell, i%2)
		}
		_, err := read(t, text).InferSchema("y", true)
		if (err == nil) != (line == "") || err != nil && (!errors.Is(err, ErrBadData) ||
			!strings.Contains(err.Error(), line)) {
			t.Errorf("%s: %v, want %q", column, err, line)
		}
	}
	if _, err := read(t, "x,y\n1,5\n2,5\n").InferSchema("y", false); !errors.Is(err, ErrBadData) {
		t.Errorf("constant target: %v", err)
	}
}

// TestInferLeavesOutEmptyColumns: a column without any value teaches nothing, as a constant; a file without
// rows is named as such.
func TestInferLeavesOutEmptyColumns(t *testing.T) {
	rec := read(t, "note,x,code,y\n,1,NA,0\n,2,?,1\n,3,NA,0\n")
	s, err := rec.InferSchema("y", true)
	if err != nil || strings.Join(s.LeftOut(rec.Header), " ") != "note code" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := rec.InferSchema("y", true, "note"); err == nil ||
		!strings.Contains(err.Error(), `column "note": all values are missing`) {
		t.Errorf("kept: %v", err)
	}
	rec, err = ReadRecords(strings.NewReader("x,y\n"), CSVOptions{Name: "f", HeaderOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.InferSchema("y", true); !errors.Is(err, errNoRows) {
		t.Errorf("no rows: %v", err)
	}
}

// TestInferCommas: a comma that may separate thousands is a decimal one where another number of the file can
// have no other; else a schema's draft has a column of numbers, and inferring one names both meanings.
func TestInferCommas(t *testing.T) {
	for text, want := range map[string]string{
		"x;z;y\n5,082;1;0\n1,250;2;1\n0,500;3;0\n":   "", // in the column
		"x;z;y\n5,082;1,5;0\n1,250;2;1\n2,500;3;0\n": "", // in another
		"x;z;y\n5,082;1;0\n1,250;2;1\n2,500;3;0\n":   "line 2",
		"x;z;y\n5;1;0\n1,250;2;1\n2,500;3;0\n":       "line 3",
	} {
		rec := read(t, text)
		s, err := rec.InferSchema("y", true)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if table, err := rec.Encode(s); err != nil || s.Columns[0].Numeric.Hi != 5.082 || table.X[0] <= 0 ||
				table.X[table.Cols()] >= 0 {
				t.Errorf("%q: %+v, %v", text, s.Columns[0].Numeric, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "1,250") ||
			!strings.Contains(err.Error(), "write 1.5 or 1500") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		d, err := rec.DraftSchema("y")
		if err != nil || !strings.Contains(string(d.Text), "x = \"?\"    # a number: ") {
			t.Errorf("%q: %s, %v", text, d.Text, err)
		}
	}
	if _, err := read(t, "x;y\n1,250;0\nB12;1\n").InferSchema("y", true); err != nil {
		t.Errorf("categories: %v", err)
	}
}

// TestWrongEncoding is named as such.
func TestWrongEncoding(t *testing.T) {
	for _, text := range []string{"\xff\xfea\x00,\x00b\x00\n\x00", "\xfe\xff\x00a\x00\n"} {
		_, err := ReadRecords(strings.NewReader(text), CSVOptions{Name: "t"})
		_, err2 := loadCSVMatrix(strings.NewReader(text), "t")
		for _, err := range []error{err, err2} {
			if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), "UTF-16") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

// TestNoText: what is no text is named as such, and a path that can't be opened has a remedy.
func TestNoText(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"garbage.csv": {"\x07\x91\xff,\x00\n\x02", "not text: byte 1 is 0x07; name the CSV file"},
		"mac.csv":     {"a,b\r1,2\r3,4\r", "carriage return alone"},
		"late.csv":    {"a,b\n1,2\n3,\x00\n", "not text: byte 11 is 0x00"},
		"table.csv":   {"PK\x03\x04\x14\x00", "spreadsheet or another archive"},
		"folder.csv":  {"", "is a folder: name the file in it"},
		"nowhere.csv": {"", "look at the path"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			var err error
			if c.text != "" {
				err = os.WriteFile(path, []byte(c.text), 0o600)
			} else if name == "folder.csv" {
				err = os.Mkdir(path, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = LoadRecords(path)
			_, err2 := LoadMatrix(path)
			for _, err := range []error{err, err2} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
		})
	}
}

// What WriteCSV writes, ReadRecords reads: also separators, quotes and line breaks.
func TestWriteCSVRoundTrip(t *testing.T) {
	rec := &Records{
		Header: []string{"a", "b;c", "d,e"},
		Cells:  [][]string{{"1", `say "x"`, "two\nlines"}, {"", "?", ";;"}, {"0", "#", "é"}},
	}
	var buf bytes.Buffer
	if err := rec.WriteCSV(&buf, []int{2, 0, 1}); err != nil {
		t.Fatal(err)
	}
	back, err := ReadRecords(&buf, CSVOptions{Comma: ','})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{rec.Cells[2], rec.Cells[0], rec.Cells[1]}, back.Cells); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(rec.Header, back.Header); diff != "" {
		t.Error(diff)
	}
	if err := rec.WriteCSV(&buf, []int{3}); err == nil {
		t.Error("row 3 of 3 was written")
	}
}

// Arbitrary text gives a table within the contract or an error of the package.
func FuzzLoadCSV(f *testing.F) {
	f.Add(goodCSV)
	f.Add("age;ward;dose;sick\n1;B;1;>yes\n")
	f.Add("age,ward,dose,sick\n1,\"B\n")
	f.Add("age\tward\tdose\tsick\n\t\t\t\n")
	s := small()
	s.Missing, s.Unseen = Zero, Zero
	bound := rowNorm(s)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := loadCSV(strings.NewReader(text), "fuzz", s)
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for i := range table.Rows() {
			square := 0.0
			for _, v := range table.Row(i) {
				square += v * v
			}
			if !(math.Sqrt(square) <= bound) || table.Row(i)[table.Cols()-1] != 1 ||
				(table.Y[i] != 0 && table.Y[i] != 1) {
				t.Fatalf("row %v, target %v", table.Row(i), table.Y[i])
			}
		}
	})
}
