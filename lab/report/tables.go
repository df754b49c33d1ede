package report

import (
	"cmp"
	"fmt"

	"choir/session/result"
)

// maxTabled bounds the figures of a page.
const maxTabled = 500

// tables adds the figures of a session with [table] or [shuffle], one section for each table.
func (p *Page) tables(dir string) error {
	t, err := result.FolderTables(dir, 0.95)
	if err != nil {
		return err
	}
	var s *Section
	name := ""
	end := func() {
		if s != nil {
			p.add(*s)
		}
	}
	for i, r := range t.Rows {
		if i == maxTabled {
			s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d figures; choir stats DIR has all.",
				maxTabled, len(t.Rows)))
			break
		}
		if s == nil || r.Table != name {
			end()
			name = r.Table
			s = &Section{Heading: cmp.Or(name, "Records"), Table: &Table{
				Head:    []string{cmp.Or(t.By, "group"), "level", "figure", "value", "95 % interval from", "to"},
				Numeric: []bool{false, false, false, true, true, true}}}
		}
		s.Table.Rows = append(s.Table.Rows, Row{Cells: []string{r.Group, r.Level, r.Statistic, number(r.Value, 4),
			number(r.Lower, 4), number(r.Upper, 4)}})
	}
	if s != nil {
		s.Notes = append(s.Notes, "Intervals include the privacy noise. Those of counts are about the records "+
			"themselves, all others also about the population that these are a sample of.")
	}
	end()
	return nil
}
