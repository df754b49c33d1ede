package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// rise is a typical session: 16 points that rise from the first value to the second.
func rise(from, to float64) []float64 {
	y := make([]float64, 16)
	for i := range y {
		y[i] = to + (from-to)*math.Exp(-float64(i)/3)
	}
	return y
}

func rounds() []float64 {
	x := make([]float64, 16)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

func typical() LearningCurve {
	return LearningCurve{
		Title: "10 parties & 3 nodes",
		Series: []Series{
			{"secure <sum>", rounds(), rise(.76, .845), rise(-.69, -.338)},
			{"trusted", rounds(), rise(.77, .846), rise(-.69, -.335)},
		},
		References: []Reference{
			{"non-private", .853, -.315},
			{"local noise", .71, -4.2},
			{"single party", .83, math.NaN()},
		},
	}
}

// texts returns the character data of an SVG document, which must be well-formed.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				out = append(out, string(token))
			}
		}
	}
}

func TestLearningCurveFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := typical().Write(dir); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "curve.svg"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(texts(t, svg), "|") + "|"
	for _, want := range []string{
		"10 parties & 3 nodes", "Test accuracy", "Mean test log-likelihood (nats)", "Round",
		"secure <sum>", "trusted", "non-private", "local noise", "single party",
		"↓ local noise: −4.200", "0.80", "−0.5",
	} {
		if !strings.Contains(all, want+"|") {
			t.Errorf("the picture lacks %q: %s", want, all)
		}
	}
	if n := strings.Count(all, "secure <sum>|"); n != 1 {
		t.Errorf("the legend names the first curve %d times", n)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "curve.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size != (image.Point{X: 1800, Y: 750}) {
		t.Errorf("the image is %v", size)
	}
	// Every style leaves its colour behind: curves on both halves, levels where shown.
	for i, c := range palette()[:5] {
		left, right := count(img, c, 0, 900), count(img, c, 900, 1800)
		offScale := i == 3 // "local noise" is outside the right panel
		absent := i == 4   // "single party" has no log-likelihood
		if left < 300 || (right < 300 && !offScale && !absent) {
			t.Errorf("colour %d: %d and %d pixels", i, left, right)
		}
	}
}

// count returns the pixels of the image that have the colour, above the legend.
func count(img image.Image, c color.NRGBA, x0, x1 int) (n int) {
	for y := range img.Bounds().Dy() - 80 {
		for x := x0; x < x1; x++ {
			if color.NRGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

func TestSameInputSameBytes(t *testing.T) {
	f, err := typical().Figure()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			a, err := f.encode(format)
			if err != nil {
				t.Fatal(err)
			}
			b, err := f.encode(format)
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("two renderings differ: %v", err)
			}
		})
	}
	if _, err := f.encode("gif"); err == nil {
		t.Error("an unknown format was rendered")
	}
}

// Shapes that experiments need: bands, gaps, logarithmic axes, dots, one point, many panels.
type shape struct {
	name   string
	figure *Figure
	want   []string // texts in the picture
}

func shapes() []shape {
	one := func(p Panel, curves ...Curve) *Figure {
		p.Curves = append(p.Curves, curves...)
		return &Figure{Panels: []Panel{p}}
	}
	x := rounds()
	gaps := rise(1, 2)
	gaps[3], gaps[15] = math.NaN(), math.NaN()
	band := Curve{Name: "a", X: x, Y: rise(1, 2), Lo: rise(.9, 1.9), Hi: rise(1.1, 2.1)}
	bars := band
	bars.Dots = true
	wide := Curve{Name: "a", X: []float64{1e-3, 1, 1e6}, Y: []float64{1e-7, 2, 3e4}}
	return []shape{
		{"band", one(Panel{}, band), nil},
		{"error bars", one(Panel{}, bars), nil},
		{"gaps", one(Panel{}, Curve{Name: "a", X: x, Y: gaps}), nil},
		{"log-log", one(Panel{LogX: true, LogY: true}, wide), []string{"10⁻⁶", "0.01", "100", "10⁶"}},
		{"constant", one(Panel{}, Curve{Name: "a", X: x, Y: make([]float64, 16)}), nil},
		{"point", one(Panel{}, Curve{Name: "a", X: []float64{5}, Y: []float64{7}}), nil},
		{"fixed", one(Panel{YMin: 0, YMax: 1}, Curve{Name: "a", X: x, Y: rise(2, 3)}),
			[]string{"↑ a: 2.993"}},
		{"categories", one(Panel{Categories: []string{"even", "odd"}},
			Curve{Name: "a", X: []float64{0.1, 1.1, 0.1}, Y: []float64{3, 4, 5}}), []string{"even", "odd"}},
		{"panels", &Figure{Width: 900, Height: 250,
			Panels: []Panel{{Curves: many(9)}, {Curves: many(3)}, {Curves: many(1)}}}, nil},
	}
}

func TestFigureShapes(t *testing.T) {
	for _, test := range shapes() {
		t.Run(test.name, func(t *testing.T) {
			svg, err := test.figure.SVG()
			if err != nil {
				t.Fatal(err)
			}
			all := texts(t, svg)
			for _, want := range append(test.want, test.figure.Panels[0].Curves[0].Name) {
				if !slices.Contains(all, want) {
					t.Errorf("the picture lacks %q: %q", want, all)
				}
			}
			if bytes.Contains(svg, []byte("NaN")) {
				t.Error("the picture has a NaN")
			}
			for _, format := range Formats()[1:] {
				if _, err := test.figure.encode(format); err != nil {
					t.Errorf("%s: %v", format, err)
				}
			}
		})
	}
}

// Every point is inside the window, or it is drawn at the edge and named.
func TestAllPointsAreVisible(t *testing.T) {
	far := []float64{-1e3, 1, 1e6, 1e7}
	for _, test := range []struct {
		name  string
		panel Panel
		y     []float64
		want  []string
	}{
		{"logarithmic", Panel{LogY: true}, []float64{1e-5, 1, 1e6, 1e7}, nil},
		{"dots", Panel{}, far, []string{"↓ b: −1000.000", "↑ b (2 dots): 10000000.000"}},
		{"categories", Panel{Categories: []string{"0", "1", "2", "3", "4"}}, far,
			[]string{"↓ b: −1000.000", "↑ b (2 dots): 10000000.000"}},
		{"fixed window", Panel{YMin: 0.5, YMax: 3}, []float64{2, 2, 2, 4}, []string{"↑ b: 4.000"}},
		{"at its edge", Panel{YMin: 0, YMax: 1}, []float64{0, 1, 1 + 1e-15, 1}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, x := test.panel, []float64{1, 2, 3, 4}
			p.Curves = []Curve{{Name: "a", X: x[:2], Y: []float64{0.8, 0.9}}, {Name: "b", X: x, Y: test.y,
				Dots: !p.LogY}}
			if notes := p.outside(p.yWindow()); !slices.Equal(notes, test.want) {
				t.Errorf("%q, want %q", notes, test.want)
			}
			svg, err := (&Figure{Panels: []Panel{p}}).SVG()
			if err != nil {
				t.Fatal(err)
			}
			only, err := (&Figure{Panels: []Panel{{Curves: p.Curves[:1], YMin: p.YMin, YMax: p.YMax, LogY: p.LogY,
				Categories: p.Categories}}}).SVG()
			if err != nil {
				t.Fatal(err)
			}
			marks := func(b []byte) int { return bytes.Count(b, []byte("<path")) }
			if n := marks(svg) - marks(only); n < len(test.y) {
				t.Errorf("%d paths more for %d points", n, len(test.y))
			}
		})
	}
}

// Every text carries its length.
func TestTextLength(t *testing.T) {
	f, err := typical().Figure()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Count(svg, []byte("<text "))
	if with := bytes.Count(svg, []byte(`<text textLength="`)); with != all || with < 20 {
		t.Errorf("%d of %d texts have a length", with, all)
	}
}

func many(n int) []Curve {
	var out []Curve
	for i := range n {
		out = append(out, Curve{Name: "curve " + string(rune('a'+i)), X: rounds(), Y: rise(float64(i), 2)})
	}
	return out
}

func TestFigureRefuses(t *testing.T) {
	panel := func(change func(*Panel, *Curve)) *Figure {
		p := Panel{Curves: []Curve{{Name: "a", X: []float64{1, 2}, Y: []float64{3, 4}}}}
		change(&p, &p.Curves[0])
		return &Figure{Panels: []Panel{p}}
	}
	nan := math.NaN()
	tests := []struct {
		name   string
		figure *Figure
	}{
		{"no panels", &Figure{}},
		{"size", &Figure{Width: -1, Panels: []Panel{{Curves: many(1)}}}},
		{"small", &Figure{Width: 100, Panels: []Panel{{Curves: many(1)}}}},
		{"legend", &Figure{Width: 150, Height: 150, Panels: []Panel{{Curves: many(20)}}}},
		{"no curves", panel(func(p *Panel, _ *Curve) { p.Curves = nil })},
		{"no points", panel(func(_ *Panel, c *Curve) { *c = Curve{} })},
		{"lengths", panel(func(_ *Panel, c *Curve) { c.Y = []float64{1} })},
		{"only gaps", panel(func(_ *Panel, c *Curve) { c.Y = []float64{nan, nan} })},
		{"infinite", panel(func(_ *Panel, c *Curve) { c.Y = []float64{1, math.Inf(1)} })},
		{"x NaN", panel(func(_ *Panel, c *Curve) { c.X = []float64{1, nan} })},
		{"x back", panel(func(_ *Panel, c *Curve) { c.X = []float64{2, 1} })},
		{"half a band", panel(func(_ *Panel, c *Curve) { c.Lo = []float64{1, 1} })},
		{"crossed band", panel(func(_ *Panel, c *Curve) { c.Lo, c.Hi = []float64{1, 3}, []float64{2, 2} })},
		{"log of zero", panel(func(p *Panel, c *Curve) { p.LogX, c.X = true, []float64{0, 1} })},
		{"log of zero y", panel(func(p *Panel, c *Curve) { p.LogY, c.Y = true, []float64{0, 1} })},
		{"log of a bound", panel(func(p *Panel, c *Curve) {
			p.LogY = true
			c.Lo, c.Hi = []float64{0, 1}, []float64{4, 5}
		})},
		{"log window", panel(func(p *Panel, _ *Curve) { p.LogY, p.YMax = true, 5 })},
		{"infinite level", panel(func(p *Panel, _ *Curve) { p.Levels = []Level{{"l", math.Inf(-1)}} })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := test.figure.SVG(); err == nil {
				t.Error("not refused")
			}
			dir := t.TempDir()
			if err := test.figure.Write(filepath.Join(dir, "f")); err == nil {
				t.Error("written")
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("left %d files", len(entries))
			}
		})
	}
}

func TestLearningCurveRefuses(t *testing.T) {
	if _, err := (LearningCurve{}).Figure(); err == nil {
		t.Error("a learning curve without series was not refused")
	}
}

// No two of 40 names look alike.
func TestStylesDiffer(t *testing.T) {
	f := &Figure{Panels: []Panel{{Curves: many(20)}}}
	for i := range 20 {
		f.Panels[0].Levels = append(f.Panels[0].Levels, Level{Name: "level " + string(rune('a'+i))})
	}
	seen := map[string]string{}
	styles := f.styles()
	if len(styles) != 40 {
		t.Fatalf("%d styles", len(styles))
	}
	for _, s := range inOrder(styles) {
		look := fmt.Sprintf("%v %v %T", s.line.Color, s.line.Dashes, s.glyph.Shape)
		if other, ok := seen[look]; ok {
			t.Errorf("%s looks like %s", s.name, other)
		}
		seen[look] = s.name
	}
}

func TestTicks(t *testing.T) {
	tests := []struct {
		name   string
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{"whole", axisTicks{whole: true}, -.3, 15.3, "0 2 4 6 8 10 12 14"},
		{"whole, few", axisTicks{whole: true}, -.02, 2.02, "0 1 2"},
		{"hundredths", axisTicks{}, .704, .8623, "0.72 0.74 0.76 0.78 0.80 0.82 0.84 0.86"},
		{"around zero", axisTicks{}, -.7, .2, "−0.6 −0.4 −0.2 0.0 0.2"},
		{"thousands", axisTicks{}, 0, 4000, "0 500 1000 1500 2000 2500 3000 3500 4000"},
		{"below two decades", logTicks{}, 1, 60, "1 2 5 10 20 50"},
		{"three decades", logTicks{}, 1, 1000, "1 10 100 1000"},
		{"small", logTicks{}, 1e-6, 1e-3, "10⁻⁶ 10⁻⁵ 10⁻⁴ 0.001"},
		{"many decades", logTicks{}, 1e-2, 1e9, "0.01 1 100 10000 10⁶ 10⁸"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var labels []string
			for _, tick := range test.ticker.Ticks(test.lo, test.hi) {
				if !tick.IsMinor() {
					labels = append(labels, tick.Label)
				}
			}
			if got := strings.Join(labels, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
