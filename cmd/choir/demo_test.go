package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPartiesForAFile(t *testing.T) {
	for _, tc := range []struct {
		name                string
		rows                int
		colluders, dropouts int
		want                int
	}{
		{name: "no file", rows: 0, want: 30},
		{name: "a hundred rows", rows: 100, want: 3},
		{name: "breast cancer", rows: 570, want: 5},
		{name: "room for those missing", rows: 100, colluders: 2, dropouts: 1, want: 5},
		{name: "many rows", rows: 100_000, want: 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := ""
			if tc.rows > 0 {
				path = filepath.Join(t.TempDir(), "rows.csv")
				if err := os.WriteFile(path, []byte(strings.Repeat("1,2\n", tc.rows)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := &demoFlags{}
			f.Colluders = tc.colluders
			f.Dropouts = tc.dropouts
			if got := f.partiesFor(lines(path)); got != tc.want {
				t.Errorf("%d parties, want %d", got, tc.want)
			}
		})
	}
}
