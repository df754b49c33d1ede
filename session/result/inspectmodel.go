package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"choir/internal/atomicfile"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/protocol/verify"
)

// modelForms are the files of a published model.
var modelForms = []struct {
	name  string
	check func(path string, want *ModelFile) error
}{{"model.json", sameModel}, {"model.npz", sameArrays}, {"model.csv", sameTable}, {drawsFile, sameDraws},
	{evaluationFile, sameEvaluation}}

// mostPacked is how many numbers more than a byte each a file may have, as package dataset reads archives. A
// model that is not made yet, since the record has no sum, is not made for less.
const mostPacked = 1 << 22

// checkModelFiles compares the published model with the transcript, in each of the
// forms that exist.
func checkModelFiles(dir string, p *protocol.Plan, r *verify.Report) error {
	var want *ModelFile
	for _, form := range modelForms {
		path := filepath.Join(dir, form.name)
		info, err := os.Stat(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "%w", err)
		}
		if r.Models[0] == nil && info.Size() < int64(p.Dim)-mostPacked {
			return protocol.Fail(protocol.ClassIntegrity, "%w", notTheModel(path, fmt.Sprintf(
				"it has %d bytes, and the model %d numbers", info.Size(), p.Dim)))
		}
		if want == nil {
			var err error
			if want, err = NewModelFile(protocol.Bind(p), r.Model(), verifiedTrace(p, r)); err != nil {
				return err
			}
		}
		if err := want.checkSize(path, info); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "%w", err)
		}
		if err := form.check(path, want); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "%w", err)
		}
	}
	return nil
}

// checkSize refuses a file that is much longer than the model in JSON, the longest of its forms, before it is
// read. As JSON or a table it would become up to a hundred times as long in memory.
func (f *ModelFile) checkSize(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() { // a device or a pipe never ends
		return notTheModel(path, "it is no regular file")
	}
	text, err := atomicfile.EncodeJSON(f)
	if err != nil {
		return err
	}
	if most := 4*int64(len(text)) + 1<<16; info.Size() > most { // it may have been indented anew
		return notTheModel(path, fmt.Sprintf("it has %d bytes, and would have at most %d", info.Size(), most))
	}
	return nil
}

// Unchecked returns the names of the files of a folder that VerifyFolder does not look at, such as scores on
// data that the transcript does not have. Folders in it are left out.
func Unchecked(dir string) (names []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	own := filesOf(dir) == dir
	for _, f := range files {
		checked := own && (f.Name() == PlanFile || f.Name() == TranscriptFile)
		for _, form := range modelForms {
			checked = checked || f.Name() == form.name
		}
		if !checked && !f.IsDir() {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

func notTheModel(path, what string) error {
	return fmt.Errorf("%s: %w: it isn't the model that the transcript leads to: %s", path, protocol.ErrMismatch,
		what)
}

// sameModel compares the contents of a model file. Numbers that were computed from the
// integers may differ by the rounding of another machine.
func sameModel(path string, want *ModelFile) error {
	m, err := ReadModel(path)
	if err != nil {
		return err
	}
	switch {
	case m.Plan != want.Plan || m.Application != want.Application || m.Rounds != want.Rounds ||
		m.FracBits != want.FracBits:
		return notTheModel(path, "another plan's terms")
	case !slices.Equal(m.State, want.State):
		return notTheModel(path, "state")
	case !m.sameDraws(want):
		return notTheModel(path, "draws")
	case !m.predictsLike(want):
		return notTheModel(path, "predictive")
	case m.Noise != want.Noise || m.NoiseIncluded != want.NoiseIncluded || !samePlain(m.Plain, want.Plain):
		return notTheModel(path, "noise or plain")
	case !samePoints(m.Evaluation, want.Evaluation):
		return notTheModel(path, "evaluation")
	case !slices.Equal(m.Warnings, want.Warnings):
		return notTheModel(path, "warnings")
	case !slices.Equal(m.Columns, want.Columns):
		return notTheModel(path, "columns")
	case !want.near(m.Mean, want.Mean):
		return notTheModel(path, "mean")
	case !want.near(m.SD, want.SD):
		return notTheModel(path, "sd")
	case !slices.EqualFunc(m.Covariance, want.Covariance, want.near):
		return notTheModel(path, "covariance")
	}
	return nil
}

func samePlain(got, want *Plain) bool {
	if got == nil || want == nil {
		return got == want
	}
	return got.Note == want.Note && got.Family == want.Family && within(got.Natural, want.Natural, 1e-9) &&
		within(got.Mean, want.Mean, 1e-6) && within(got.SD, want.SD, 1e-6)
}

// predictsLike compares what predictions depend on.
func (f *ModelFile) predictsLike(want *ModelFile) bool {
	if f.Predictive == nil || want.Predictive == nil {
		return f.Predictive == want.Predictive
	}
	return f.Predictive.sameNoise(want.Predictive) && bytes.Equal(f.Schema, want.Schema) &&
		within(f.Centres, want.Centres, 1e-9) && within(f.Units, want.Units, 1e-9) &&
		within(f.Missing, want.Missing, 1e-9) &&
		within(f.Predictive.Natural, want.Predictive.Natural, 1e-9)
}

// near compares numbers that were computed from the state: exactly for sums, whose
// numbers are its integers in another unit.
func (f *ModelFile) near(got, want []float64) bool {
	if f.Predictive == nil {
		return slices.Equal(got, want)
	}
	return within(got, want, 1e-6)
}

func within(got, want []float64, relative float64) bool {
	return slices.EqualFunc(got, want, func(a,
		b float64) bool {
		return math.Abs(a-b) <= relative*(1+math.Abs(b))
	})
}

// sameArrays compares as sameModel does, and also the arrays that ReadModel ignores.
func sameArrays(path string, want *ModelFile) error {
	if err := sameModel(path, want); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := dataset.ReadNPZ(bytes.NewReader(b))
	if err != nil {
		return err
	}
	expected, err := want.arrays()
	if err != nil {
		return err
	}
	for name, a := range expected {
		if g := got[name]; g == nil || g.Text != a.Text || !a.Text && (!slices.Equal(g.Shape, a.Shape) ||
			!want.near(g.Data, a.Data)) {
			return notTheModel(path, "the array "+name)
		}
	}
	if len(got) != len(expected) {
		return notTheModel(path, "arrays that no session leaves")
	}
	return nil
}

// sameTable compares the table of weights, sameDraws that of draws.
func sameTable(path string, want *ModelFile) error {
	header, rows := want.table()
	return want.sameCells(path, header, rows)
}

func sameDraws(path string, want *ModelFile) error {
	if want.Draws == nil {
		return notTheModel(path, "draws of a plan without a sampler")
	}
	header, rows := want.drawTable()
	return want.sameCells(path, header, rows)
}

// sameCells compares a table cell by cell.
func (f *ModelFile) sameCells(path string, header []string, rows [][]any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return notTheModel(path, fmt.Sprintf("it is no table: %v; take the file again from who sent it, or "+
			"remove it to check the others", err))
	}
	if len(got) != len(rows)+1 || !slices.Equal(got[0], header) {
		return notTheModel(path, "its header, or how many lines it has")
	}
	for i, row := range rows {
		for j, cell := range row {
			same := got[i+1][j] == fmt.Sprint(cell)
			if number, ok := cell.(float64); ok {
				v, err := strconv.ParseFloat(got[i+1][j], 64)
				same = err == nil && f.near([]float64{v}, []float64{number})
			}
			if !same {
				return notTheModel(path, fmt.Sprintf("line %d, column %s", i+2, header[j]))
			}
		}
	}
	return nil
}
