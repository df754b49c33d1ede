package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"choir/lab/figure"
)

func renderScale(dir string, files map[string][]byte, sections map[string]string) error {
	var s Scale
	if ok, err := readDocument(dir, "scale.json", &s); !ok {
		return err
	}
	sections["scale"] = s.Markdown()
	f, err := s.figure().SVG()
	files["scale.svg"] = f
	return err
}

// Markdown is the table of points and of exponents.
func (s *Scale) Markdown() string {
	var b strings.Builder
	b.WriteString(s.origin())
	b.WriteString("| over | N | d | M | round, cpu s | one party, cpu ms | one node for one contribution, cpu ms | upload, bytes | node holds, MiB |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range s.Points {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.3g | %.3g | %.3g | %d | %.2f |\n", p.Over, p.Parties, p.Dim, p.Compute, p.CPURound, 1e3*p.CPUParty, 1e3*p.CPUNode, p.UploadBytes, float64(p.NodeBytes)/(1<<20))
	}
	b.WriteString("\nExponents, fitted to the upper half of each sweep:\n\n| cost | N | d | M |\n|---|---|---|---|\n")
	for _, c := range sweepCosts {
		fmt.Fprintf(&b, "| %s |", c.name)
		for _, over := range []string{"parties", "dim", "compute_nodes"} {
			for _, f := range s.Fits {
				if f.Over == over && f.Of == c.name {
					fmt.Fprintf(&b, " %.2f |", f.Exponent)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// figure shows what one party and one node spend against N, d and M.
func (s *Scale) figure() *figure.Figure {
	f := &figure.Figure{Title: "Processor time of one contribution", Width: 1300, Height: 460}
	for _, sweep := range []struct{ over, label string }{
		{"parties", "parties N"}, {"dim", "coordinates d"}, {"compute_nodes", "compute nodes M"},
	} {
		p := figure.Panel{XLabel: sweep.label, YLabel: "processor seconds", LogX: true, LogY: true}
		var slopes []string
		for i, name := range []string{"one party", "one node"} {
			c, cost := figure.Curve{Name: name}, sweepCosts[1+i]
			for _, point := range s.Points {
				if point.Over == sweep.over && cost.of(point) > 0 {
					c.X, c.Y = append(c.X, float64(point.X)), append(c.Y, cost.of(point))
				}
			}
			p.Curves = append(p.Curves, c)
			slopes = append(slopes, fmt.Sprintf("%s %.2f", name, s.exponent(sweep.over, cost.name)))
		}
		p.Title = "exponent: " + strings.Join(slopes, ", ")
		f.Panels = append(f.Panels, p)
	}
	sharedWindow(f)
	return f
}

// exponent is the fitted one of a cost.
func (s *Scale) exponent(over, of string) float64 {
	for _, f := range s.Fits {
		if f.Over == over && f.Of == of {
			return f.Exponent
		}
	}
	return math.NaN()
}

func renderParts(dir string, files map[string][]byte, sections map[string]string) error {
	for _, name := range Parts() {
		var p Part
		ok, err := readDocument(dir, name+".json", &p)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		sections[name] = p.Markdown()
		if name != "noise" {
			continue
		}
		if files["noise.svg"], err = p.noiseFigure().SVG(); err != nil {
			return err
		}
	}
	return nil
}

// Markdown is the table of one building block.
func (p *Part) Markdown() string {
	var b strings.Builder
	b.WriteString(p.origin())
	fmt.Fprintf(&b, "Processor time of one operation on one core, median of %d.\n\n| operation | size | time | spread | objects |\n|---|---|---|---|---|\n", p.Repeats)
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %.0f %% | %.3g |\n", r.Case, r.Size, unitOf(r.Seconds), 100*r.Spread, r.Allocs)
	}
	return b.String()
}

// unitOf writes seconds in the unit in which they read best.
func unitOf(seconds float64) string {
	switch {
	case seconds < 1e-6:
		return fmt.Sprintf("%.3g ns", 1e9*seconds)
	case seconds < 1e-3:
		return fmt.Sprintf("%.3g us", 1e6*seconds)
	case seconds < 1:
		return fmt.Sprintf("%.3g ms", 1e3*seconds)
	}
	return fmt.Sprintf("%.3g s", seconds)
}

// noiseFigure shows the time of a sample against sigma, for both samplers.
func (p *Part) noiseFigure() *figure.Figure {
	panel := figure.Panel{XLabel: "sigma, grid units", YLabel: "ns a sample, one core", LogX: true}
	for _, sampler := range []struct{ name, rows string }{
		{"sampler", "a sample, sigma"}, {"reference sampler", "a sample of the reference sampler, sigma"},
	} {
		c := figure.Curve{Name: sampler.name}
		for _, r := range p.Rows {
			if r.Case == sampler.rows {
				c.X, c.Y = append(c.X, float64(r.Size)), append(c.Y, 1e9*r.Seconds)
				panel.YMax = max(panel.YMax, 1.1e9*r.Seconds)
			}
		}
		panel.Curves = append(panel.Curves, c)
	}
	return &figure.Figure{Title: "The exact discrete Gaussian", Width: 700, Height: 420, Panels: []figure.Panel{panel}}
}

func renderCells(dir string, _ map[string][]byte, sections map[string]string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "cell-*.json"))
	if err != nil || len(paths) == 0 {
		return err
	}
	slices.Sort(paths)
	var b strings.Builder
	for _, path := range paths {
		var r Result
		if _, err := readDocument(dir, filepath.Base(path), &r); err != nil {
			return err
		}
		b.WriteString(r.Markdown())
	}
	sections["cells"] = b.String()
	return nil
}

// Markdown is one cell: its figures and where the time goes.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### N = %d, d = %d, M = %d over %s\n\n", r.Parties, r.Dim, r.Computes, r.Transport)
	b.WriteString(r.origin())
	fmt.Fprintf(&b, "Round %.4g s (%.4g cpu s; limit %.4g s), set-up %.4g s, noise %.4g s (%s), in all %.4g s; %s; a party uploads %d bytes a round and %d once; a node peaks below %.1f MiB; keystream and addition %.3g, AES-GCM %.3g GB a core and second. Checked: %s.",
		r.SecondsRound, r.CPURound, r.LimitRound, r.SecondsSetup, r.SecondsNoise, noiseWhere(r.NoiseIn), r.SecondsTotal, r.pairing(), r.UploadBytesPerParty, r.UploadSetupBytes,
		float64(r.NodePeakBytes)/(1<<20), r.Limits.KeystreamAdd/1e9, r.Limits.GCM/1e9, r.Checked)
	if r.Bare != nil {
		fmt.Fprintf(&b, " The bare transfer of the same %d bytes takes %.4g s (%.4g cpu s, the broker's included).", r.Bare.Bytes, r.Bare.Seconds, r.Bare.CPUSeconds)
	}
	fmt.Fprintf(&b, " Limit ratio %.2f: %s.\n\n", r.LimitRatio, r.LimitOf)
	b.WriteString("| role | phase | in the round | s | cpu s | share of the round's cpu | objects | of its limit |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.Phases {
		in, share, limit := "", "", ""
		if p.InRound {
			in, share = "yes", fmt.Sprintf("%.0f %%", 100*p.CPUSeconds/r.CPURound)
		}
		if p.LimitRatio > 0 {
			limit = fmt.Sprintf("%.0f %%", 100*p.LimitRatio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.3g | %.3g | %s | %d | %s |\n", p.Role, p.Phase, in, p.Seconds, p.CPUSeconds, share, p.Allocs, limit)
	}
	b.WriteString("\n")
	return b.String()
}

func noiseWhere(where string) string {
	switch where {
	case "":
		return "none"
	case "apart":
		return "beside both"
	}
	return "part of the " + map[string]string{"seconds_setup": "set-up", "seconds_round": "round"}[where]
}

// renderPeers takes the table as bench/peers wrote it.
func renderPeers(dir string, _ map[string][]byte, sections map[string]string) error {
	var h Header
	if ok, err := readDocument(dir, "peers.json", &h); !ok {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "peers.md"))
	sections["peers"] = h.origin() + string(text)
	return err
}

func renderBaseline(dir string, _ map[string][]byte, sections map[string]string) error {
	var base Baseline
	if ok, err := readDocument(dir, "baseline.json", &base); !ok {
		return err
	}
	var b strings.Builder
	b.WriteString(base.origin())
	b.WriteString("| case | cost, median | spread |\n|---|---|---|\n")
	for _, c := range base.Costs {
		fmt.Fprintf(&b, "| %s | %.3g | %.0f %% |\n", c.Name, medianOf(c.Values), 100*spreadOf(c.Values))
	}
	sections["baseline"] = b.String()
	return nil
}
