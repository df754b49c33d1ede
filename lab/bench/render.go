package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"choir/internal/atomicfile"
	"choir/lab/figure"
	"choir/protocol"
)

// Document is what a folder of results has on one subject: a table in Markdown and perhaps
// a figure.
type Document struct {
	Name     string // of the JSON file, without extension; "cells" for all cell-*.json
	Title    string
	Markdown string
	Command  string // that made the results
	Figure   *figure.Figure
}

// Documents reads a folder's results: the JSON documents that the verbs of choir bench
// print, as table1, scale, noise, channel, verify and audit, cell-* (choir bench dca), and
// peers with peers.md (lab/bench/peers). Those that are absent are left out.
func Documents(dir string) (all []Document, err error) {
	cells, err := cellsIn(dir)
	if err != nil {
		return nil, err
	}
	table1, scale := new(Table1), new(Scale)
	if ok, err := readDocument(dir, "table1.json", table1); err != nil {
		return nil, err
	} else if ok {
		all = append(all, Document{"table1", "The paper's table", table1.Markdown(), table1.Command,
			table1.figure()})
	}
	if len(cells) > 0 {
		d := Document{Name: "cells", Title: "Where the time goes"}
		for _, c := range cells {
			d.Markdown += c.markdown()
		}
		all = append(all, d)
	}
	if ok, err := readDocument(dir, "scale.json", scale); err != nil {
		return nil, err
	} else if ok {
		all = append(all, Document{"scale", "Cost against N, d and M", scale.Markdown(), scale.Command,
			scale.figure()})
	}
	parts, err := partDocuments(dir)
	if err != nil {
		return nil, err
	}
	peers, err := peerDocuments(dir)
	return append(append(all, parts...), peers...), err
}

func cellsIn(dir string) (cells []*Result, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "cell-*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	for _, path := range paths {
		r := new(Result)
		if _, err := readDocument(dir, filepath.Base(path), r); err != nil {
			return nil, err
		}
		cells = append(cells, r)
	}
	return cells, nil
}

func partDocuments(dir string) (all []Document, err error) {
	for _, part := range []struct{ name, title string }{
		{"noise", "Noise"}, {"channel", "Channels"}, {"verify", "Signatures"},
		{"audit", "Commitments (audit mode)"},
	} {
		p := new(Part)
		ok, err := readDocument(dir, part.name+".json", p)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		d := Document{part.name, part.title, p.Markdown(), p.Command, nil}
		if part.name == "noise" {
			d.Figure = p.noiseFigure()
		}
		all = append(all, d)
	}
	return all, nil
}

// peerDocuments takes the table as lab/bench/peers wrote it.
func peerDocuments(dir string) ([]Document, error) {
	var h Header
	if ok, err := readDocument(dir, "peers.json", &h); !ok {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "peers.md"))
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "dir: %w", err)
	}
	return []Document{{"peers", "Other protocols", h.origin() + string(text), h.Command, nil}}, nil
}

// render returns the files that a folder's documents lead to: tables.md with all tables, the
// figures, and README.md, if there is one, with the summary in its marked place
//
//	<!-- summary --> ... <!-- /summary -->
func render(dir string) (map[string][]byte, error) {
	all, err := Documents(dir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "dir: %s has none of the documents that choir bench prints "+
			"with --format json, such as cell-NAME.json of choir bench dca", dir)
	}
	files := map[string][]byte{}
	var b strings.Builder
	b.WriteString("# Benchmarks: all tables\n\nWritten by `choir bench docs` from the JSON files in this " +
		"folder; " +
		"[method.md](method.md) explains them.\n")
	for _, d := range all {
		fmt.Fprintf(&b, "\n## %s\n\n", d.Title)
		if d.Figure != nil {
			if files[d.Name+".svg"], err = d.Figure.SVG(); err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "![%s](%s.svg)\n\n", d.Figure.Title, d.Name)
		}
		b.WriteString(strings.TrimRight(d.Markdown, "\n") + "\n")
	}
	files["tables.md"] = []byte(b.String())
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "dir: %w", err)
	}
	table, err := summary(dir)
	if err != nil {
		return nil, err
	}
	text, err := fill(string(readme), "summary", table)
	files["README.md"] = []byte(text)
	return files, err
}

// summary is the table of the README: the cells, and the largest of the paper's.
func summary(dir string) (string, error) {
	cells, err := cellsIn(dir)
	if err != nil {
		return "", err
	}
	paper := map[*Result]float64{}
	t := new(Table1)
	if _, err := readDocument(dir, "table1.json", t); err != nil {
		return "", err
	}
	for _, c := range t.Cells {
		if c.Parties >= 10000 && c.Dim >= 10000 {
			cells = append(cells, c.Result)
			paper[c.Result] = c.PaperSeconds
		}
	}
	var b strings.Builder
	b.WriteString("| parties N | coordinates d | nodes M | transport | a round, s | in all, s | " +
		"a party uploads | limit reached | [DCA], s | of the round | of all |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range cells {
		theirs := "- | - | -"
		if s := paper[r]; s > 0 {
			theirs = fmt.Sprintf("%.0f | %s | %s", s, times(s/r.SecondsRound), times(s/r.SecondsTotal))
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %.3g | %.3g | %s | %.0f %% | %s |\n", r.Parties, r.Dim, r.Computes,
			r.Transport, r.SecondsRound, r.SecondsTotal, bytesText(r.UploadBytesPerParty), 100*r.LimitRatio, theirs)
	}
	return b.String(), nil
}

func bytesText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3g MB", float64(n)/1e6)
}

// WriteRendered renders a folder and replaces what changed.
func WriteRendered(dir string) (changed []string, err error) {
	files, err := render(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, files[name]) {
			continue
		}
		if err := atomicfile.WriteFile(path, files[name]); err != nil {
			return nil, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}

// fill replaces what is between a name's marks.
func fill(text, name, content string) (string, error) {
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(text, open)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", protocol.Fail(protocol.ClassInput, "dir: README.md has no marked place %q", name)
	}
	return before + open + "\n" + strings.TrimRight(content, "\n") + "\n\n" + end + after, nil
}

// readDocument reads a document into v; ok is false where there is none.
func readDocument(dir, name string, v any) (ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, protocol.Fail(protocol.ClassInput, "dir: %s: %w", name, err)
	}
	return true, nil
}
