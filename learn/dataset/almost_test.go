package dataset

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestAlmostNumbers: numbers with a unit, with a code for missing values, with decimal commas between commas
// or with points that may separate thousands are named with the line and the remedy, not left out as free
// text and not read as other numbers. Codes of diagnoses, wards and houses are texts.
func TestAlmostNumbers(t *testing.T) {
	every := func(n, i int, text, other string) string {
		if i%n == 0 {
			return text
		}
		return other
	}
	for name, c := range map[string]struct {
		comma string
		cell  func(i int) string
		want  string
	}{
		"unit": {",", func(i int) string { return fmt.Sprintf("%d.5 mg/l", i) }, "as a unit, in line 2"},
		"some units": {",", func(i int) string {
			return every(2, i, fmt.Sprintf("%dcm", i), fmt.Sprint(i))
		}, "as a unit, in line 2"},
		"units": {",", func(i int) string { return fmt.Sprintf("%d %c", i, 'a'+i%5) }, ""},
		"code":  {",", func(i int) string { return every(7, i, "k.A.", fmt.Sprint(i)) }, "a text in line 2"},
		"codes": {";", func(i int) string {
			return every(9, i, "/", every(7, i, "unknown", fmt.Sprintf("%d,5", i)))
		}, "a text in line 2"},
		"many texts": {",", func(i int) string {
			return every(3, i, strings.Repeat("a", 1+i%11), fmt.Sprint(i))
		}, ""},
		"diagnoses": {",", func(i int) string { return every(3, i, "V45", fmt.Sprint(200+i)) }, ""},
		"wards":     {",", func(i int) string { return every(7, i, "surgery", fmt.Sprint(i%20)) }, ""},
		"quoted": {",", func(i int) string { return fmt.Sprintf("\"%d,5\"", i) },
			"line 2 of a column of numbers"},
		"thousands": {";", func(i int) string { return fmt.Sprintf("%d.%03d", i+1, 7*i) }, "line 2 has a point"},
		"points":    {";", func(i int) string { return fmt.Sprintf("%d.%d", i+1, i%7) }, ""},
		"below 1":   {";", func(i int) string { return fmt.Sprintf("0.%03d", i) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll("x;z;y\n", ";", c.comma)
			for i := range 100 {
				z := fmt.Sprint(i % 7)
				if c.comma == ";" {
					z += ",25"
				}
				text += strings.Join([]string{c.cell(i), z, fmt.Sprint(i % 2)}, c.comma) + "\n"
			}
			_, err := read(t, text).InferSchema("y", true)
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrBadData) ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "write ")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	// Without a decimal comma anywhere a point is a decimal one.
	if _, err := read(t, "x;y\n1.500;0\n2.250;1\n").InferSchema("y", true); err != nil {
		t.Error(err)
	}
}

// TestTargetCodes: a target's common code has its positive value second, whichever comes first in byte order,
// and a draft's target of two numbers is one of two categories.
func TestTargetCodes(t *testing.T) {
	for _, pair := range [][2]string{{"Nein", "Ja"}, {"no", "yes"}, {"Non", "Oui"}, {"untreated", "treated"},
		{"0", "1"}, {"1", "2"}, {"gesund", "krank"}} {
		rec := read(t, fmt.Sprintf("x,y\n1,%s\n2,%s\n", pair[1], pair[0]))
		s, err := rec.InferSchema("y", true)
		if err != nil || s.Target.Categories[0] != pair[0] || s.Target.Categories[1] != pair[1] {
			t.Errorf("%q: %+v, %v", pair, s, err)
		}
	}
	for values, want := range map[string]string{"1 2 1": "two categories", "0.0 1.0 0.0": "two categories",
		"1 2 3": "a number: [LO, HI]"} {
		v := strings.Fields(values)
		d, err := read(t, fmt.Sprintf("x,y\n1,%s\n2,%s\n2,%s\n", v[0], v[1], v[2])).DraftSchema("y")
		if err != nil || !strings.Contains(string(d.Text), "y = \"?\"    # "+want) {
			t.Errorf("%s: %s, %v", values, d.Text, err)
		}
	}
}

// TestLabelRemedies: a target that is none of two classes has the remedy of its own kind.
func TestLabelRemedies(t *testing.T) {
	var many strings.Builder
	for i := range maxCategories + 1 {
		fmt.Fprintf(&many, " %d", i)
	}
	for values, want := range map[string]string{"0 1 2 3": "learn a linear model", "1 1 1": "nothing to learn",
		"a b c": "merge categories", many.String(): "learn a linear model"} {
		text := "x,y\n"
		for i, v := range strings.Fields(values) {
			text += fmt.Sprintf("%d,%s\n", i%7, v)
		}
		if _, err := read(t, text).InferSchema("y", true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", values, err, want)
		}
	}
}
