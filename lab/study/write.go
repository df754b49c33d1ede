package study

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"choir/internal/atomicfile"
	"choir/lab/figure"
)

// Write leaves the result in a folder as name.json, .csv, .md, and, if it has curves, its
// figures in the given formats; without formats .svg and .png.
func (r *Result) Write(dir string, formats ...string) error {
	if err := r.Check(); err != nil {
		return err
	}
	base := filepath.Join(dir, r.Name)
	if err := atomicfile.WriteJSON(base+".json", r); err != nil {
		return err
	}
	header, rows := r.cells()
	if err := atomicfile.WriteCSV(base+".csv", header, rows); err != nil {
		return err
	}
	text := r.Table()
	if len(r.Calibration) > 0 {
		text += "\n" + r.CalibrationTable()
	}
	if err := atomicfile.WriteFile(base+".md", []byte(text)); err != nil {
		return err
	}
	for i, f := range r.Figures() {
		if err := f.Write(r.FigureBase(dir, i), formats...); err != nil {
			return fmt.Errorf("study: %s: %w", r.Name, err)
		}
	}
	return nil
}

// panelsAFigure is how many panels are side by side.
const panelsAFigure = 3

// Figures are the result's panels and its reliability curves, some to a figure.
func (r *Result) Figures() (all []*figure.Figure) {
	panels := slices.Concat(r.Panels, r.reliability())
	for i := 0; i < len(panels); i += panelsAFigure {
		all = append(all, r.figure(panels[i:min(len(panels), i+panelsAFigure)]))
	}
	return all
}

// FigureBase is the path of a picture without its extension.
func (r *Result) FigureBase(dir string, i int) string {
	if i == 0 {
		return filepath.Join(dir, r.Name)
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d", r.Name, i+1))
}

func (r *Result) figure(panels []Panel) *figure.Figure {
	f := &figure.Figure{Title: r.Title, Width: 1500, Height: 560}
	for _, p := range panels {
		q := figure.Panel{Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel, LogX: p.LogX, LogY: p.LogY,
			YMin: p.YMin, YMax: p.YMax, Categories: p.Categories}
		for _, c := range p.Curves {
			q.Curves = append(q.Curves, c.drawn())
		}
		for _, l := range p.Levels {
			q.Levels = append(q.Levels, figure.Level{Name: l.Name, Y: l.Y})
		}
		f.Panels = append(f.Panels, q)
	}
	return f
}

func (c Curve) drawn() figure.Curve {
	d := figure.Curve{Name: c.Name, X: c.X, Y: c.Y}
	for i, se := range c.SE {
		d.Lo, d.Hi = append(d.Lo, c.Y[i]-se), append(d.Hi, c.Y[i]+se)
	}
	return d
}

// cells has a line for each row and seed.
func (r *Result) cells() (header []string, rows [][]any) {
	header = []string{"experiment", "case", "method", "measure", "seed", "value", "statistic", "ours",
		"standard_error", "paper", "bar", "verdict"}
	all := slices.Clone(r.Rows)
	for _, c := range r.Calibration {
		for _, row := range c.rows() {
			if row != nil {
				all = append(all, *row)
			}
		}
	}
	for _, row := range all {
		var paper, bar any
		if row.Paper != nil {
			paper = row.Paper.Value
		}
		if row.Bar != 0 {
			bar = row.Bar
		}
		for i, v := range row.Values {
			rows = append(rows, []any{r.Name, row.Case, row.Method, string(row.Measure), i + 1, v,
				row.Statistic, row.Ours, row.SE, paper, bar, string(row.Verdict)})
		}
	}
	return header, rows
}

// Read reads a result that Write left.
func Read(path string) (*Result, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Parse reads a result's JSON document and checks it.
func Parse(b []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	return r, r.Check()
}

// ReadAll reads every result in a folder, by name. Files of other kinds are no
// results and are left alone.
func ReadAll(dir string) ([]*Result, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var all []*Result
	for _, p := range paths {
		r, err := Read(p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("study: no results in %s", dir)
	}
	return all, nil
}
