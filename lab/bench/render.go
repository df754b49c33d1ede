package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"choir/internal/atomicfile"
	"choir/lab/figure"
	"choir/protocol"
)

// A folder of results holds JSON documents, as the verbs print them:
//
//	table1.json scale.json noise.json channel.json verify.json audit.json
//	cell-*.json (choir bench dca) peers.json peers.md (bench/peers) baseline.json
//
// and a README.md with marked places, which Render fills from them:
//
//	<!-- NAME --> ... <!-- /NAME -->

// Render returns the files that a folder's documents lead to: README.md with its
// marked places filled in, and the figures. Documents that aren't there leave their
// place as it is.
func Render(dir string) (map[string][]byte, error) {
	files, sections := map[string][]byte{}, map[string]string{}
	for _, f := range []func(string, map[string][]byte, map[string]string) error{renderTable1, renderScale, renderParts, renderCells, renderPeers, renderBaseline} {
		if err := f(dir, files, sections); err != nil {
			return nil, err
		}
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "dir: %w", err)
	}
	text := string(readme)
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if text, err = fill(text, name, sections[name]); err != nil {
			return nil, err
		}
	}
	files["README.md"] = []byte(text)
	return files, nil
}

// WriteRendered renders a folder and replaces what changed.
func WriteRendered(dir string) (changed []string, err error) {
	files, err := Render(dir)
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

// fill replaces what stands between a name's marks.
func fill(text, name, content string) (string, error) {
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(text, open)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", protocol.Fail(protocol.ClassInput, "dir: README.md has no place %q", name)
	}
	return before + open + "\n" + strings.TrimRight(content, "\n") + "\n\n" + end + after, nil
}

// readDocument reads a document into v; ok is false when it isn't there.
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

// origin says where a document comes from.
func (h Header) origin() string {
	return fmt.Sprintf("`%s` on %s, %d cores, %.0f GiB, %s, as %.1f other processes competed (load average)\n\n",
		h.Command, h.Machine.CPU, h.Machine.Cores, float64(h.Machine.MemoryBytes)/(1<<30), h.Go, h.Machine.Load)
}

func renderTable1(dir string, files map[string][]byte, sections map[string]string) error {
	var t Table1
	if ok, err := readDocument(dir, "table1.json", &t); !ok {
		return err
	}
	sections["table1"] = t.Markdown()
	f, err := t.figure().SVG()
	files["table1.svg"] = f
	return err
}

// Markdown is the table with our column beside the paper's.
func (t *Table1) Markdown() string {
	var b strings.Builder
	b.WriteString(t.origin())
	fmt.Fprintf(&b, "M = %d; a party's noise has sigma %d. The set-up depends on the suite, the round doesn't. Coordinates are 8 bytes each, or two in 8 bytes. The last column is the load average as the cell began.\n\n", t.Computes, t.Sigma)
	b.WriteString("| N | d | coordinates in 8 bytes | suite | paper, s | round, s | paper / round | round if the cores were ours alone, s | noise, s | set-up, s | in all, s | paper / all | upload, bytes | node peak, MiB | of the limit | competing |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range t.Cells {
		r := c.Result
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %.2f | %.3g | %s | %.3g | %.3g | %.3g | %.3g | %s | %d | %.1f | %.0f %% | %.0f |\n", c.Parties, c.Dim, r.perElement(), kem(r.Suite), c.PaperSeconds, r.SecondsRound, times(c.RoundRatio),
			r.CPURound/float64(r.Limits.Cores), r.SecondsNoise, r.SecondsSetup, r.SecondsTotal, times(c.TotalRatio), r.UploadBytesPerParty, float64(r.NodePeakBytes)/(1<<20),
			100*r.LimitRound*float64(r.Limits.Cores)/r.CPURound, r.Machine.Load)
	}
	return b.String()
}

// kem is the part of a suite's name that suites differ in.
func kem(suite string) string {
	name, _, _ := strings.Cut(suite, "-")
	return name
}

func times(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3gx", v)
	}
	return fmt.Sprintf("%.0fx", v)
}

// figure shows seconds against N, the paper's and ours, in a panel for each dimension.
func (t *Table1) figure() *figure.Figure {
	f := &figure.Figure{Title: fmt.Sprintf("One round of the DCA over %d compute nodes", t.Computes), Width: 1300, Height: 420}
	for _, d := range []int{10, 100, 1000, 10000} {
		ours := figure.Curve{Name: "Choir (sealed, signed, verified; one machine)"}
		paper := figure.Curve{Name: "[DCA], Table 1 (Spark, no encryption)"}
		for _, c := range t.Cells {
			if c.Dim == d {
				ours.X, ours.Y = append(ours.X, float64(c.Parties)), append(ours.Y, c.Result.SecondsRound)
				paper.X, paper.Y = append(paper.X, float64(c.Parties)), append(paper.Y, c.PaperSeconds)
			}
		}
		if len(ours.X) > 0 {
			f.Panels = append(f.Panels, figure.Panel{Title: fmt.Sprintf("d = %d", d), XLabel: "parties N", YLabel: "seconds a round",
				LogX: true, LogY: true, Curves: []figure.Curve{ours, paper}})
		}
	}
	sharedWindow(f)
	return f
}

// sharedWindow gives the panels, whose axes are logarithmic, one window of Y with all points.
func sharedWindow(f *figure.Figure) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range f.Panels {
		for _, c := range p.Curves {
			lo, hi = min(lo, slices.Min(c.Y)), max(hi, slices.Max(c.Y))
		}
	}
	for i := range f.Panels {
		f.Panels[i].YMin, f.Panels[i].YMax = lo/1.5, hi*1.5
	}
}
