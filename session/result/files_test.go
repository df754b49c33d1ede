package result_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// What a session leaves reads back the same from JSON and from .npz, for every
// application, and predicts alike.
func TestModelFilesOfEveryApp(t *testing.T) {
	for name, c := range rig.AppCases(t) {
		l := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {})
		model, err := app.NewModel(l.Session.Plan)
		if err != nil {
			t.Fatal(err)
		}
		f, err := result.NewModelFile(l.Session, model.Initial(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		dir := t.TempDir()
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		fromJSON, err := result.ReadModel(filepath.Join(dir, "model.json"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fromArrays, err := result.ReadModel(filepath.Join(dir, "model.npz"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(f, fromJSON); diff != "" {
			t.Errorf("%s: from JSON: %s", name, diff)
		}
		if diff := cmp.Diff(f, fromArrays); diff != "" {
			t.Errorf("%s: from .npz: %s", name, diff)
		}
		csv, err := os.ReadFile(filepath.Join(dir, "model.csv"))
		if lines := bytes.Count(csv, []byte("\n")); err != nil || lines != len(f.Mean)+1 {
			t.Errorf("%s: %d lines of CSV for %d weights, %v", name, lines, len(f.Mean), err)
		}
	}
}
