package figure

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"choir/internal/atomicfile"
)

// Formats are the names that Write accepts, which are also the files' extensions.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// pngDPI keeps text sharp on dense screens: 1.5 image pixels to a CSS pixel.
const pngDPI = 144

// encode returns the figure in one of the Formats.
func (f *Figure) encode(format string) ([]byte, error) {
	switch format {
	case "svg":
		return f.render(func(w, h vg.Length) (vg.CanvasSizer, io.WriterTo) {
			c := &svgCanvas{Canvas: vgsvg.New(w, h)}
			return c, c
		})
	case "png":
		return f.render(func(w, h vg.Length) (vg.CanvasSizer, io.WriterTo) {
			c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
			return c, vgimg.PngCanvas{Canvas: c}
		})
	case "pdf":
		return f.render(func(w, h vg.Length) (vg.CanvasSizer, io.WriterTo) {
			c := newPDF(w, h)
			return c, c
		})
	}
	return nil, fmt.Errorf("report: figure format %q is not one of %q", format, Formats())
}

// SVG renders the figure as an SVG document.
func (f *Figure) SVG() ([]byte, error) { return f.encode("svg") }

func (f *Figure) render(canvas func(w, h vg.Length) (vg.CanvasSizer, io.WriterTo)) ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	c, out := canvas(f.size())
	if err := f.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := out.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("report: figure: %w", err)
	}
	return buf.Bytes(), nil
}

// Write renders the figure to base.svg, base.png and so on; without formats to the first two.
func (f *Figure) Write(base string, formats ...string) error {
	if len(formats) == 0 {
		formats = Formats()[:2]
	}
	files := make([][]byte, len(formats))
	for i, format := range formats {
		var err error
		if files[i], err = f.encode(format); err != nil {
			return err
		}
	}
	for i, format := range formats {
		if err := atomicfile.WriteFile(base+"."+format, files[i]); err != nil {
			return err
		}
	}
	return nil
}

// svgCanvas notes the length of every text, which vgsvg leaves out.
type svgCanvas struct {
	*vgsvg.Canvas
	lengths []vg.Length
}

// FillString implements vg.Canvas.
func (c *svgCanvas) FillString(f font.Face, at vg.Point, text string) {
	c.lengths = append(c.lengths, f.Width(text))
	c.Canvas.FillString(f, at, text)
}

// WriteTo writes the document. Where Liberation is missing, viewers use fonts of the same
// widths, or squeeze others to the texts' lengths.
func (c *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var buf bytes.Buffer
	if _, err := c.Canvas.WriteTo(&buf); err != nil {
		return 0, err
	}
	svg := strings.ReplaceAll(buf.String(), "font-family:Liberation Sans;font-variant:normal;",
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	pieces := strings.Split(svg, "<text ")
	for i := range pieces[1:] {
		pieces[i+1] = fmt.Sprintf(`textLength="%.4g" lengthAdjust="spacingAndGlyphs" %s`,
			c.lengths[i].Points(), pieces[i+1])
	}
	n, err := io.WriteString(w, strings.Join(pieces, "<text "))
	return int64(n), err
}
