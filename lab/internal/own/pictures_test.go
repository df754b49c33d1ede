package own

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"choir/lab/study"
)

// TestPictures: the kept results' figures show their rows.
func TestPictures(t *testing.T) {
	for _, s := range Studies() {
		t.Run(s.Name, func(t *testing.T) {
			r, err := study.Read(filepath.Join("../../../docs/figures/results", s.Name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pictures(r.Rows), r.Panels); diff != "" {
				t.Error(diff)
			}
		})
	}
}
