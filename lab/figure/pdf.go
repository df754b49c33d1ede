package figure

import (
	"fmt"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfCanvas draws text as outlines: vgpdf's own text has neither bold fonts nor characters
// such as the minus sign.
type pdfCanvas struct{ *vgpdf.Canvas }

// newPDF makes a canvas whose document has a fixed date.
func newPDF(w, h vg.Length) pdfCanvas {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
	return pdfCanvas{vgpdf.New(w, h)}
}

// FillString implements vg.Canvas.
func (c pdfCanvas) FillString(f font.Face, at vg.Point, text string) {
	const ppem = 1 << 10 // resolution of the outlines
	unit := f.Font.Size / (ppem << 6)
	var buf sfnt.Buffer
	for _, r := range text {
		glyph, err := f.Face.GlyphIndex(&buf, r)
		if err != nil {
			panic(fmt.Errorf("figure: glyph %q: %w", r, err)) // the font is part of the program
		}
		outline, err := f.Face.LoadGlyph(&buf, glyph, fixed.I(ppem), nil)
		if err != nil {
			panic(fmt.Errorf("figure: glyph %q: %w", r, err))
		}
		if path := glyphPath(outline, at, unit); len(path) > 0 {
			c.Fill(path)
		}
		advance, err := f.Face.GlyphAdvance(&buf, glyph, fixed.I(ppem), 0)
		if err != nil {
			panic(fmt.Errorf("figure: glyph %q: %w", r, err))
		}
		at.X += vg.Length(advance) * unit
	}
}

// glyphPath is an outline at a point, with unit the length of 1/64 of the font's pixel.
func glyphPath(outline sfnt.Segments, at vg.Point, unit vg.Length) (path vg.Path) {
	point := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X)*unit, Y: at.Y - vg.Length(p.Y)*unit}
	}
	for _, s := range outline {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if len(path) > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
	}
	return path
}
