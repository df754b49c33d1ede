package member

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"choir/crypto/fixedpoint"
	"choir/host"
	"choir/internal/atomicfile"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
)

// application is a party's side: its data, read by the plan's public schema.
func (m *Member) application() (protocol.Application, protocol.Proposer, error) {
	if m.Session.Plan.Application == app.NameSum {
		if m.Config.Exec != "" {
			return nil, nil, protocol.Fail(protocol.ClassInput, "config: exec: a plan of application %q leaves nothing for a program to compute", app.NameSum)
		}
		v, err := m.vector()
		return app.Sum{Dim: int(m.Session.Plan.Dim)}, v, err
	}
	a, err := app.Of(m.Session.Plan)
	if err != nil {
		return nil, nil, err
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, nil, err
	}
	data, err := readData(m.Config.DataFile, schema)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	own, err := m.outside(a, data, schema)
	if err != nil {
		return nil, nil, err
	}
	l, err := a.Join(app.PartyConfig{Plan: m.Session.Plan, Party: m.Index, Data: data, Rand: rand.Reader, Outside: own, Report: m.keepPrivate})
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	return l, l, nil
}

func readData(path string, schema *dataset.Schema) (pvi.Data, error) {
	records, err := dataset.LoadRecords(path)
	if err != nil {
		return pvi.Data{}, err
	}
	t, err := records.Encode(schema)
	if err != nil {
		return pvi.Data{}, err
	}
	return pvi.Data{X: t.X, Y: t.Y}, nil
}

// vector is a party's one row under a plan of sums.
func (m *Member) vector() (app.Fixed, error) {
	p := m.Session.Plan
	x, err := dataset.LoadMatrix(m.Config.DataFile)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if x.Rows != 1 || x.Cols != int(p.Dim) {
		return nil, protocol.Fail(protocol.ClassInput, "data: %s has %d rows of %d columns, the plan wants 1 of %d", m.Config.DataFile, x.Rows, x.Cols, p.Dim)
	}
	v := make(app.Fixed, p.Dim)
	if err := (fixedpoint.Grid{FracBits: p.FracBits}).Round(v, x.Row(0)); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if !fixedpoint.NormSquaredAtMost(v, p.PerParty) {
		return nil, protocol.Fail(protocol.ClassInput, "data: the row is larger than the plan allows one party: %d units of 2^-%d", p.PerParty, p.FracBits)
	}
	return v, nil
}

// privateFile is for the party's own eyes: what it says comes from its data
// without noise. It lies beside the store.
const privateFile = "private.jsonl"

// keepPrivate records the share of clipped updates. A failure to do so doesn't
// stop the session; the log says so, without the number.
func (m *Member) keepPrivate(round uint32, clipped float64) {
	line, err := json.Marshal(struct {
		Round   uint32  `json:"round"`
		Clipped float64 `json:"clipped_fraction"`
	}{round, clipped})
	if err == nil {
		err = appendLine(filepath.Join(filepath.Dir(m.Config.StoreFile), privateFile), line)
	}
	if err != nil {
		m.Log.Warn("private record", "event", "private", "error", err.Error())
	}
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// writeOutputs leaves the signed plan, the transcript and the model in OutDir.
func (m *Member) writeOutputs(store host.Store) error {
	text, err := m.Signed.MarshalText()
	if err != nil {
		return err
	}
	dir := filepath.Join(m.Config.OutDir, "transcript")
	if err := atomicfile.WriteFile(filepath.Join(dir, "plan.choir"), text); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, "transcript.bin"), protocol.MarshalTranscript(run.Transcript(store))); err != nil {
		return err
	}
	state, ok := protocol.UnpackInts(store.Get("model"))
	if !ok || len(state) == 0 {
		return fmt.Errorf("the store has no model")
	}
	final, err := result.NewModelFile(m.Session, state)
	if err != nil {
		return err
	}
	return final.Write(m.Config.OutDir)
}
