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
		t.Run(name, func(t *testing.T) {
			l := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {})
			model, err := app.NewModel(l.Session.Plan)
			if err != nil {
				t.Fatal(err)
			}
			f, err := result.NewModelFile(l.Session, model.Initial(), nil)
			if err != nil {
				t.Fatalf("%v", err)
			}
			dir := t.TempDir()
			if err := f.Write(dir); err != nil {
				t.Fatal(err)
			}
			fromJSON, err := result.ReadModel(filepath.Join(dir, "model.json"))
			if err != nil {
				t.Fatalf("%v", err)
			}
			fromArrays, err := result.ReadModel(filepath.Join(dir, "model.npz"))
			if err != nil {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(f, fromJSON); diff != "" {
				t.Errorf("from JSON: %s", diff)
			}
			if diff := cmp.Diff(f, fromArrays); diff != "" {
				t.Errorf("from .npz: %s", diff)
			}
			csv, err := os.ReadFile(filepath.Join(dir, "model.csv"))
			if lines := bytes.Count(csv, []byte("\n")); err != nil || lines != len(f.Mean)+1 {
				t.Errorf("%d lines of CSV for %d weights, %v", lines, len(f.Mean), err)
			}
		})
	}
}
