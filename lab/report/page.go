package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"choir/lab/figure"
)

// maxFigures bounds the figures of a report, in bytes.
const maxFigures = 110 << 10

// Page is a report.
type Page struct {
	Title    string
	Kind     string // what the report is about, such as "Session"
	Verdict  string // one sentence; may be empty
	Bad      bool   // the verdict is a failure
	Facts    []Fact
	Sections []Section
	Fault    error // what does not verify; the report is about it

	figures int // bytes
}

// Fact is a number or a name that the reader looks for first.
type Fact struct{ Name, Value string }

// Section is one part of a report: paragraphs, then a figure, a table, a list, commands.
// What is empty is left out.
type Section struct {
	ID       string // for links; may be empty
	Heading  string
	Text     []string
	Warning  bool // the text is one
	Figure   template.HTML
	Table    *Table
	List     []string
	Steps    []string // a numbered list
	Commands []string
	Notes    []string // small print after the rest
}

// Table has a header and rows. Numeric columns are aligned on the right.
type Table struct {
	Head    []string
	Numeric []bool
	Rows    []Row
}

// Row is a line of a table.
type Row struct {
	Cells  []string
	Link   string // the ID of a section that the first cell links to; may be empty
	Strong bool
	Muted  bool
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// HTML renders the page.
func (p *Page) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

func (p *Page) fact(name, format string, args ...any) {
	p.Facts = append(p.Facts, Fact{name, fmt.Sprintf(format, args...)})
}

func (p *Page) add(s Section) { p.Sections = append(p.Sections, s) }

// figure adds a figure to a section, or a note if the report would become too large.
func (p *Page) figure(s *Section, f *figure.Figure) error {
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	inline := inlineSVG(svg, f.Title)
	if p.figures+len(inline) > maxFigures {
		s.Notes = append(s.Notes, fmt.Sprintf("The figure %q is left out to keep the report small.", f.Title))
		return nil
	}
	p.figures += len(inline)
	s.Figure += template.HTML(inline)
	return nil
}

// inlineSVG is an SVG document as an element of HTML: without declarations, namespaces and a
// size, and without what the style sheet has.
func inlineSVG(svg []byte, title string) string {
	text := string(svg)
	start := strings.Index(text, "<svg")
	head := strings.Index(text[start:], ">") + start + 1
	box := ""
	if _, rest, ok := strings.Cut(text[start:head], `viewBox="`); ok {
		box, _, _ = strings.Cut(rest, `"`)
	}
	short := strings.NewReplacer(
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;font-weight:normal;font-style:normal;", "",
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;font-weight:bold;font-style:normal;",
		"font-weight:bold;",
		"\n\t", " ", "\n", "")
	return fmt.Sprintf(`<svg viewBox="%s" role="img" aria-label="%s">%s`,
		box, template.HTMLEscapeString(title), short.Replace(text[head:]))
}

// number writes a number with at most the given number of significant digits and a real minus sign.
func number(v float64, digits int) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'g', digits, 64), "-", "−")
}

// fixed writes a number with the given number of decimals and a real minus sign.
func fixed(v float64, decimals int) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−")
}
