package report

import (
	"regexp"
	"strings"
)

var (
	link     = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis = strings.NewReplacer("**", "", "`", "")
)

// plain is a paragraph of Markdown without links and emphasis.
func plain(markdown string) string {
	return emphasis.Replace(link.ReplaceAllString(strings.ReplaceAll(markdown, "\n", " "), "$1"))
}

// tableOf reads a table in Markdown, as packages study and bench write them. A column is
// numeric if its cells begin like numbers.
func tableOf(markdown string) *Table {
	t := &Table{}
	for _, line := range strings.Split(strings.TrimSpace(markdown), "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = plain(strings.TrimSpace(cells[i]))
		}
		switch {
		case t.Head == nil:
			t.Head = cells
		case strings.HasPrefix(cells[0], "---"):
		default:
			for len(cells) < len(t.Head) {
				cells = append(cells, "")
			}
			t.Rows = append(t.Rows, Row{Cells: cells[:len(t.Head)]})
		}
	}
	t.Numeric = make([]bool, len(t.Head))
	for i := range t.Head {
		t.Numeric[i] = len(t.Rows) > 0
		for _, r := range t.Rows {
			c := r.Cells[i]
			t.Numeric[i] = t.Numeric[i] && (c == "" || strings.ContainsAny(c[:1], "0123456789.-+"))
		}
	}
	return t
}

// sectionsOf reads a document in Markdown of headings, paragraphs and tables. What comes
// before the first heading has the given one.
func sectionsOf(heading, markdown string) (all []Section) {
	s := Section{Heading: heading}
	flush := func() {
		if s.Table != nil || len(s.Text) > 0 {
			all = append(all, s)
		}
		s = Section{}
	}
	for _, block := range strings.Split(markdown, "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case block == "":
		case strings.HasPrefix(block, "#"):
			flush()
			s.Heading = plain(strings.TrimLeft(block, "# "))
		case strings.HasPrefix(block, "|"):
			if s.Table != nil {
				flush()
			}
			s.Table = tableOf(block)
		default:
			if s.Table != nil {
				flush()
			}
			s.Text = append(s.Text, plain(block))
		}
	}
	flush()
	return all
}
