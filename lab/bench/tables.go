package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"choir/lab/figure"
)

// origin names the command and the machine of a document.
func (h Header) origin() string {
	m := h.Machine
	return fmt.Sprintf("`%s` on %s, %d cores, %.0f GiB, %s, as %.1f other processes competed (load "+
		"average)\n\n",
		h.Command, m.CPU, m.Cores, float64(m.MemoryBytes)/(1<<30), h.Go, m.Load)
}

// Markdown is the table with the paper's column and ours.
func (t *Table1) Markdown() string {
	var b strings.Builder
	b.WriteString(t.origin())
	fmt.Fprintf(&b, "M = %d; a party's noise has sigma %d. The set-up depends on the suite, the round "+
		"does not. "+
		"Coordinates are 8 bytes each, or two in 8 bytes. The last column is the load average as the "+
		"cell began.\n\n",
		t.Computes, t.Sigma)
	b.WriteString("| N | d | coordinates in 8 bytes | suite | paper, s | round, s | paper / round | " +
		"round if the cores were ours alone, s | noise, s | set-up, s | in all, s | paper / all | " +
		"upload, bytes | " +
		"node peak, MiB | of the limit | competing |\n" + strings.Repeat("|---", 16) + "|\n")
	for _, c := range t.Cells {
		r := c.Result
		cores := float64(r.Limits.Cores)
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %.2f | %.3g | %s | %.3g | %.3g | %.3g | %.3g | %s | %d | "+
			"%.1f | %.0f %% | %.0f |\n",
			c.Parties, c.Dim, r.perElement(), kem(r.Suite), c.PaperSeconds, r.SecondsRound,
			times(c.RoundRatio),
			r.CPURound/cores, r.SecondsNoise, r.SecondsSetup, r.SecondsTotal, times(c.TotalRatio),
			r.UploadBytesPerParty, float64(r.NodePeakBytes)/(1<<20), 100*r.LimitRound*cores/r.CPURound,
			r.Machine.Load)
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
	title := fmt.Sprintf("One round of the DCA over %d compute nodes", t.Computes)
	f := &figure.Figure{Title: title, Width: 1300, Height: 420}
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
			f.Panels = append(f.Panels, figure.Panel{Title: fmt.Sprintf("d = %d", d), XLabel: "parties N",
				YLabel: "seconds a round", LogX: true, LogY: true, Curves: []figure.Curve{ours, paper}})
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

// Markdown is the table of points and of exponents.
func (s *Scale) Markdown() string {
	var b strings.Builder
	b.WriteString(s.origin())
	b.WriteString("| over | N | d | M | round, cpu s | one party, cpu ms | one node for one " +
		"contribution, cpu ms | " +
		"upload, bytes | node holds, MiB |\n" + strings.Repeat("|---", 9) + "|\n")
	for _, p := range s.Points {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.3g | %.3g | %.3g | %d | %.2f |\n", p.Over, p.Parties,
			p.Dim, p.Compute,
			p.CPURound, 1e3*p.CPUParty, 1e3*p.CPUNode, p.UploadBytes, float64(p.NodeBytes)/(1<<20))
	}
	b.WriteString("\nExponents, fitted to the upper half of each sweep:\n\n| cost | N | d | M " +
		"|\n|---|---|---|---|\n")
	for _, c := range sweepCosts {
		fmt.Fprintf(&b, "| %s |", c.name)
		for _, over := range []string{"parties", "dim", "compute_nodes"} {
			text := "-"
			for _, f := range s.Fits {
				if f.Over == over && f.Of == c.name {
					text = fmt.Sprintf("%.2f", f.Exponent)
				}
			}
			fmt.Fprintf(&b, " %s |", text)
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
			if e := s.exponent(sweep.over, cost.name); !math.IsNaN(e) {
				slopes = append(slopes, fmt.Sprintf("%s %.2f", name, e))
			}
		}
		if len(slopes) > 0 {
			p.Title = "exponent: " + strings.Join(slopes, ", ")
		}
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

// Markdown is the table of one building block.
func (p *Part) Markdown() string {
	var b strings.Builder
	b.WriteString(p.origin())
	fmt.Fprintf(&b, "Processor time of one operation on one core, median of %d.\n\n", p.Repeats)
	b.WriteString("| operation | size | time | spread | objects |\n|---|---|---|---|---|\n")
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %.0f %% | %.3g |\n", r.Case, r.Size, unitOf(r.Seconds),
			100*r.Spread, r.Allocs)
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
	return &figure.Figure{Title: "The exact discrete Gaussian", Width: 700, Height: 420,
		Panels: []figure.Panel{panel}}
}

// setupTimes prints how the set-up compares with its channels' KEM operations; nothing if that was not
// measured.
func (r *Result) setupTimes() string {
	if r.SetupRatio == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.4g cpu s, %.2f times its encapsulations and decapsulations alone)", r.CPUSetup,
		r.SetupRatio)
}

// trafficTable is what one member of each role sends and receives, "" where it was not counted.
func (r *Result) trafficTable() string {
	if len(r.Traffic) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| role | members | part | messages sent | bytes | messages received | bytes |\n" +
		strings.Repeat("|---", 7) + "|\n")
	for _, t := range r.Traffic {
		for _, part := range []struct {
			name string
			Flow
		}{{"set-up", t.Setup}, {"a round", t.Round}} {
			fmt.Fprintf(&b, "| %s | %d | %s | %d | %d | %d | %d |\n", t.Role, t.Members, part.name,
				part.MessagesSent, part.BytesSent, part.MessagesReceived, part.BytesReceived)
		}
	}
	return b.String() + "\n"
}

// markdown is one cell: its figures and where the time goes.
func (r *Result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### N = %d, d = %d, M = %d over %s\n\n", r.Parties, r.Dim, r.Computes, r.Transport)
	b.WriteString(r.origin())
	fmt.Fprintf(&b, "Round %.4g s (%.4g cpu s; limit %.4g s), set-up %.4g s%s, noise %.4g s (%s), in all "+
		"%.4g s; %s; ",
		r.SecondsRound, r.CPURound, r.LimitRound, r.SecondsSetup, r.setupTimes(), r.SecondsNoise,
		noiseWhere(r.NoiseIn),
		r.SecondsTotal,
		r.pairing())
	fmt.Fprintf(&b, "a party uploads %d bytes a round and %d once; a node peaks below %.1f MiB; "+
		"keystream and addition %.3g, AES-GCM %.3g GB a core and second. Checked: %s.",
		r.UploadBytesPerParty, r.UploadSetupBytes, float64(r.NodePeakBytes)/(1<<20),
		r.Limits.KeystreamAdd/1e9, r.Limits.GCM/1e9, r.Checked)
	if r.Bare != nil {
		fmt.Fprintf(&b, " The bare transfer of the same %d bytes takes %.4g s (%.4g cpu s, the broker's "+
			"included).",
			r.Bare.Bytes, r.Bare.Seconds, r.Bare.CPUSeconds)
	}
	fmt.Fprintf(&b, " Limit ratio %.2f: %s.\n\n", r.LimitRatio, r.LimitOf)
	b.WriteString(r.trafficTable())
	b.WriteString("| role | phase | in the round | s | cpu s | share of the round's cpu | objects | of " +
		"its limit |\n" +
		strings.Repeat("|---", 8) + "|\n")
	for _, p := range r.Phases {
		in := ""
		share := ""
		limit := ""
		if p.InRound {
			in, share = "yes", fmt.Sprintf("%.0f %%", 100*p.CPUSeconds/r.CPURound)
		}
		if p.LimitRatio > 0 {
			limit = fmt.Sprintf("%.0f %%", 100*p.LimitRatio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.3g | %.3g | %s | %d | %s |\n",
			p.Role, p.Phase, in, p.Seconds, p.CPUSeconds, share, p.Allocs, limit)
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
