package dataset

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func unlabelledSchema() *Schema {
	return &Schema{Version: SchemaVersion, Source: "a test", Target: Binary("ill", "no", "yes"),
		Missing: Zero, Unseen: Zero,
		Columns: []Column{Numeric("age", 0, 100), Categorical("ward", "A", "B")}}
}

func read(t *testing.T, csv string) *Records {
	t.Helper()
	rec, err := ReadRecords(strings.NewReader(csv), CSVOptions{Name: "new.csv"})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// Rows for prediction are encoded like the rows of the training, with a remark wherever the
// schema changed a value.
func TestEncodeUnlabelled(t *testing.T) {
	rec := read(t, "ward,age,room\nA,50,1\nC,200,2\nB,,3\n")
	u, err := rec.EncodeUnlabelled(unlabelledSchema())
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1}
	if u.Rows() != 3 || !slices.Equal(u.X, want) || !slices.Equal(u.Ignored, []string{"room"}) ||
		slices.Contains(u.Labelled, true) {
		t.Errorf("%+v, want rows %v", u, want)
	}
	if remarks := []string{"", "unseen category: ward; clipped: age",
		"missing: age"}; !slices.Equal(u.Remarks, remarks) {
		t.Errorf("remarks %q, want %q", u.Remarks, remarks)
	}
	table, err := read(t, "ward,age,room,ill\nA,50,1,no\nC,200,2,yes\nB,,3,yes\n").Encode(unlabelledSchema())
	if err != nil || !slices.Equal(table.X, u.X) {
		t.Errorf("with targets the rows are %v, %v", table, err)
	}
}

func TestEncodeUnlabelledTargets(t *testing.T) {
	rec := read(t, "ward,age,ill\nA,50,yes\nB,1,\nB,2,perhaps\nB,3,no\n")
	u, err := rec.EncodeUnlabelled(unlabelledSchema())
	if err != nil || !slices.Equal(u.Labelled, []bool{true, false, false, true}) || u.Y[0] != 1 ||
		u.Y[3] != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	var line *LineError
	if u.Unread != 1 || !errors.As(u.Unfit, &line) || line.Line != 4 || line.Column != "ill" {
		t.Errorf("%d unread, the first by %v", u.Unread, u.Unfit)
	}
	s := unlabelledSchema()
	s.Target = Numeric("stay", 0, 60)
	u, err = read(t, "ward,age,stay\nA,50,4\nB,1,500\nB,2,many\nB,3,NA\n").EncodeUnlabelled(s)
	if err != nil || u.ClippedTargets != 1 || u.Unread != 1 ||
		!slices.Equal(u.Labelled, []bool{true, true, false, false}) {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestEncodeUnlabelledPolicies(t *testing.T) {
	s := unlabelledSchema()
	s.Missing = Drop
	u, err := read(t, "ward,age\nA,50\nB,\nB,7\n").EncodeUnlabelled(s)
	if err != nil || !slices.Equal(u.Usable, []bool{true, false, true}) || u.Remarks[1] == "" ||
		u.Row(1)[1] != 0 {
		t.Errorf("dropping: %+v, %v", u, err)
	}
	s.Missing, s.Unseen = Refuse, Refuse
	var at *LineError
	if _, err := read(t, "ward,age\nA,50\nB,\n").EncodeUnlabelled(s); !errors.Is(err, ErrMissing) ||
		!errors.As(err, &at) || at.Line != 3 || at.Column != "age" {
		t.Errorf("a missing value: %v", err)
	}
	if _, err := read(t, "ward,age\nC,50\n").EncodeUnlabelled(s); !errors.Is(err, ErrUnseen) {
		t.Errorf("an unseen category: %v", err)
	}
	if _, err := read(t, "ward,ill\nA,yes\n").EncodeUnlabelled(s); !errors.Is(err, ErrBadData) {
		t.Errorf("a column that isn't there: %v", err)
	}
}
