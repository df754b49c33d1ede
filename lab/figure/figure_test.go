package figure

import (
	"bytes"
	"choir/internal/atomicfile"
	"encoding/csv"
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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			t.Errorf("the picture doesn't say %q: %s", want, all)
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
	for name, render := range map[string]func() ([]byte, error){"svg": f.SVG, "png": f.PNG} {
		a, errA := render()
		b, errB := render()
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two renderings differ: %v %v", name, errA, errB)
		}
	}
}

// Other shapes that experiments need: bands, gaps, a log axis, one point, many panels.
func TestFigureShapes(t *testing.T) {
	x := rounds()
	gaps := rise(1, 2)
	gaps[3], gaps[15] = math.NaN(), math.NaN()
	for name, f := range map[string]*Figure{
		"band":     {Panels: []Panel{{Curves: []Curve{{Name: "a", X: x, Y: rise(1, 2), Lo: rise(.9, 1.9), Hi: rise(1.1, 2.1)}}}}},
		"gaps":     {Panels: []Panel{{Curves: []Curve{{Name: "a", X: x, Y: gaps}}}}},
		"log":      {Panels: []Panel{{LogX: true, Curves: []Curve{{Name: "a", X: []float64{1e-3, 1, 1e6}, Y: []float64{1, 2, 3}}}}}},
		"constant": {Panels: []Panel{{Curves: []Curve{{Name: "a", X: x, Y: make([]float64, 16)}}}}},
		"point":    {Panels: []Panel{{Curves: []Curve{{Name: "a", X: []float64{5}, Y: []float64{7}}}}}},
		"fixed":    {Panels: []Panel{{YMin: 0, YMax: 1, Curves: []Curve{{Name: "beyond", X: x, Y: rise(2, 3)}}}}},
		"wide":     {Width: 900, Height: 250, Panels: []Panel{{Curves: many(9)}, {Curves: many(3)}, {Curves: many(1)}}},
	} {
		svg, err := f.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		labels := strings.Join(texts(t, svg), "|")
		if !strings.Contains(labels, f.Panels[0].Curves[0].Name) || strings.Contains(string(svg), "NaN") {
			t.Errorf("%s: %s", name, labels)
		}
		if name == "fixed" && !strings.Contains(labels, "↑ beyond: ") {
			t.Errorf("a curve outside the window goes unmentioned: %s", labels)
		}
		if _, err := f.PNG(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
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
	good := Curve{Name: "a", X: []float64{1, 2}, Y: []float64{3, 4}}
	panel := func(change func(*Panel)) *Figure {
		p := Panel{Curves: []Curve{good}}
		change(&p)
		return &Figure{Panels: []Panel{p}}
	}
	for name, f := range map[string]*Figure{
		"no panels":      {},
		"size":           {Width: -1, Panels: []Panel{{Curves: []Curve{good}}}},
		"small":          {Width: 100, Panels: []Panel{{Curves: []Curve{good}}}},
		"legend":         {Width: 150, Height: 150, Panels: []Panel{{Curves: many(20)}}},
		"no curves":      panel(func(p *Panel) { p.Curves = nil }),
		"no points":      panel(func(p *Panel) { p.Curves[0] = Curve{} }),
		"lengths":        panel(func(p *Panel) { p.Curves[0].Y = []float64{1} }),
		"only gaps":      panel(func(p *Panel) { p.Curves[0].Y = []float64{math.NaN(), math.NaN()} }),
		"infinite":       panel(func(p *Panel) { p.Curves[0].Y = []float64{1, math.Inf(1)} }),
		"x NaN":          panel(func(p *Panel) { p.Curves[0].X = []float64{1, math.NaN()} }),
		"x back":         panel(func(p *Panel) { p.Curves[0].X = []float64{2, 1} }),
		"half a band":    panel(func(p *Panel) { p.Curves[0].Lo = []float64{1, 1} }),
		"crossed band":   panel(func(p *Panel) { p.Curves[0].Lo, p.Curves[0].Hi = []float64{1, 3}, []float64{2, 2} }),
		"log of zero":    panel(func(p *Panel) { p.LogX, p.Curves[0].X = true, []float64{0, 1} }),
		"infinite level": panel(func(p *Panel) { p.Levels = []Level{{"l", math.Inf(-1)}} }),
	} {
		if _, err := f.SVG(); err == nil {
			t.Errorf("%s: svg not refused", name)
		}
		dir := t.TempDir()
		if err := f.Write(filepath.Join(dir, "f")); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%s: left %d files", name, len(entries))
		}
	}
	if _, err := (LearningCurve{}).Figure(); err == nil {
		t.Error("learning curve without series: not refused")
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
	for _, s := range styles {
		look := fmt.Sprintf("%v %v %T", s.line.Color, s.line.Dashes, s.glyph.Shape)
		if other, ok := seen[look]; ok {
			t.Errorf("%s looks like %s", s.name, other)
		}
		seen[look] = s.name
	}
}

func TestAxisTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		whole  bool
		want   string
	}{
		{-.3, 15.3, true, "0 2 4 6 8 10 12 14"},
		{-.02, 2.02, true, "0 1 2"},
		{.704, .8623, false, "0.72 0.74 0.76 0.78 0.80 0.82 0.84 0.86"},
		{-.7, .2, false, "−0.6 −0.4 −0.2 0.0 0.2"},
		{0, 4000, true, "0 500 1000 1500 2000 2500 3000 3500 4000"},
	} {
		var labels []string
		for _, tick := range (axisTicks{whole: c.whole}).Ticks(c.lo, c.hi) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
	var labels []string
	for _, tick := range (logTicks{}).Ticks(1, 1000) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "1 2 5 10 20 50 100 200 500 1000" {
		t.Errorf("log: %s", got)
	}
}

func TestWriteJSON(t *testing.T) {
	type doc struct {
		Version int     `json:"schema_version"`
		Text    string  `json:"text"`
		Value   float64 `json:"value"`
	}
	path := filepath.Join(t.TempDir(), "result.json")
	if err := atomicfile.WriteJSON(path, doc{1, "<a & b>", .5}); err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"schema_version\": 1,\n  \"text\": \"<a & b>\",\n  \"value\": 0.5\n}\n"
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
	for name, v := range map[string]any{
		"no version": map[string]int{"x": 1}, "version 0": doc{}, "array": []int{1}, "null": nil, "NaN": doc{1, "", math.NaN()},
	} {
		if err := atomicfile.WriteJSON(path, v); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("a refused document changed the file: %q, %v", b, err)
	}
}

func TestWriteCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.csv")
	rows := [][]any{{1, .1, "a,b", true}, {uint64(2), math.NaN(), "say \"x\"", nil}}
	if err := atomicfile.WriteCSV(path, []string{"round", "epsilon", "note", "ok"}, rows); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"round", "epsilon", "note", "ok"}, {"1", "0.1", "a,b", "true"}, {"2", "", "say \"x\"", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, row := range map[string][]any{
		"short": {1}, "infinite": {1, math.Inf(1), "", nil}, "type": {1, 2, struct{}{}, nil},
	} {
		if err := atomicfile.WriteCSV(path, []string{"round", "epsilon", "note", "ok"}, [][]any{row}); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if err := atomicfile.WriteCSV(path, nil, nil); err == nil {
		t.Error("no columns: not refused")
	}
}

// A write that cannot finish leaves the old file and no rubbish.
func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteFile(path, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	file := filepath.Join(dir, "f")
	for _, content := range []string{"one", "two"} {
		if err := atomicfile.WriteFile(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != content {
			t.Errorf("%q, %v", b, err)
		}
	}
}
