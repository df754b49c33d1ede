package member

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"choir/learn/dataset"
)

// alteration is what the encoding did to a column of a party's data, or to whole rows. It depends
// on the data: it is for the party itself.
type alteration struct {
	Column                            string // empty: rows
	Rows                              int    // of the file
	Clipped, Unseen, Missing, Dropped int    // values; Dropped: rows
	Ignored                           bool   // the schema has no such column
}

// alterations lists what the encoding did, by column.
func alterations(t *dataset.Table) (list []alteration) {
	rows, n := t.Rows()+t.Notes.Dropped, t.Notes
	columns := map[string]bool{}
	for _, counts := range []map[string]int{n.Clipped, n.Unseen, n.Missing} {
		for c := range counts {
			columns[c] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(columns)) {
		list = append(list, alteration{Column: c, Rows: rows, Clipped: n.Clipped[c], Unseen: n.Unseen[c],
			Missing: n.Missing[c]})
	}
	if n.Dropped > 0 {
		list = append(list, alteration{Rows: rows, Dropped: n.Dropped})
	}
	for _, c := range n.Ignored {
		list = append(list, alteration{Column: c, Rows: rows, Ignored: true})
	}
	return list
}

// share returns the part of the column's values, or of the rows, that was changed or left out.
func (a alteration) share() float64 {
	return float64(a.Clipped+a.Unseen+a.Missing+a.Dropped) / float64(max(a.Rows, 1))
}

// String tells what happened and where to look.
func (a alteration) String() string {
	if a.Ignored {
		return fmt.Sprintf("column %q is not in the plan's schema and is ignored", a.Column)
	}
	if a.Column == "" {
		return fmt.Sprintf("%d of %d rows are left out for a missing value", a.Dropped, a.Rows)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{a.Clipped, "outside the schema's bounds and clipped"}, {a.Unseen, "of categories that the schema lacks"},
		{a.Missing, "missing"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return fmt.Sprintf("column %q: of %d values %s", a.Column, a.Rows, strings.Join(parts, ", "))
}

// notable is the share from which an alteration is logged as a warning.
const notable = 0.05

func (a alteration) level() slog.Level {
	if a.share() >= notable {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// tooMany is the error for the alterations above a share of the values; 0 allows all.
func tooMany(list []alteration, most float64) error {
	if most == 0 {
		return nil
	}
	var over []string
	for _, a := range list {
		if a.share() > most {
			over = append(over, a.String())
		}
	}
	if len(over) == 0 {
		return nil
	}
	return fmt.Errorf("more than max_altered = %g of the values would be changed: %s; compare the file's units "+
		"and spellings with the schema, or raise max_altered", most, strings.Join(over, "; "))
}
