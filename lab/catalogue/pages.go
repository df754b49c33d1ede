package catalogue

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"choir/lab/study"
)

// pages has results.md, the summary, and a page for each study, as templates. Their prose is
// written by hand; numbers and tables come from the results.
//
//go:embed pages/*.md
var pages embed.FS

// Pages are the documents of all results, by path below the folder docs: results.md and
// results/STUDY.md. figures is the path from there to the folder with the results.
func Pages(all []*study.Result, figures string) (map[string][]byte, error) {
	b := &book{all: map[string]*study.Result{}, figures: figures}
	files := map[string][]byte{}
	for _, r := range all {
		b.all[r.Name] = r
		page, err := b.execute(r.Name, r)
		if err != nil {
			return nil, err
		}
		files[path.Join("results", r.Name+".md")] = page
	}
	summary, err := b.execute("results", nil)
	files["results.md"] = summary
	return files, err
}

// book renders pages.
type book struct {
	all     map[string]*study.Result
	figures string
}

func (b *book) execute(name string, r *study.Result) ([]byte, error) {
	text, err := pages.ReadFile("pages/" + name + ".md")
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	t, err := template.New(name).Funcs(template.FuncMap{
		"row": b.row, "table": table, "ours": b.ours, "picture": b.picture,
		"results": func(r *study.Result) string { return r.Results("../" + b.figures) },
		"details": func(r *study.Result) string { return r.Details("../" + b.figures) },
	}).Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return out.Bytes(), nil
}

// table puts rows under the summary's header.
func table(rows ...string) string {
	return "| study | figures | reproduced | better | worse | uninformative | for example | ours | " +
		"published |\n" +
		strings.Repeat("|---", 9) + "|\n" + strings.Join(rows, "\n")
}

// row is a study's line in the summary, with one of its figures as an example.
func (b *book) row(name, where, method, measure string) (string, error) {
	r, e, err := b.find(name, where, method, measure)
	if err != nil {
		return "", err
	}
	cells := []string{fmt.Sprintf("[%s](results/%s.md)", name, name)}
	for _, n := range r.Counts() {
		cells = append(cells, fmt.Sprint(n))
	}
	cells = append(cells, fmt.Sprintf("%s, %s: %s", method, where, measure), e.OursText(), e.PaperText())
	return "| " + strings.Join(cells, " | ") + " |", nil
}

// ours is one of our figures.
func (b *book) ours(name, where, method, measure string) (string, error) {
	_, e, err := b.find(name, where, method, measure)
	return e.OursText(), err
}

func (b *book) find(name, where, method, measure string) (*study.Result, study.Row, error) {
	r := b.all[name]
	if r == nil {
		return nil, study.Row{}, fmt.Errorf("there is no result of %s", name)
	}
	for _, e := range r.Rows {
		if e.Case == where && e.Method == method && string(e.Measure) == measure {
			return r, e, nil
		}
	}
	return nil, study.Row{}, fmt.Errorf("%s has no row %q, %q, %q", name, where, method, measure)
}

func (b *book) picture(name string) (string, error) {
	r := b.all[name]
	if r == nil {
		return "", fmt.Errorf("there is no result of %s", name)
	}
	return fmt.Sprintf("![%s](%s.svg)", r.Title, r.FigureBase(b.figures, 0)), nil
}
