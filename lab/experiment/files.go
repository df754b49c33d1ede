package experiment

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"choir/internal/atomicfile"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// saved is what demo.json keeps of a demonstration whose members run in
// processes of their own, so that another process can carry on with it. It is
// written last: a folder that has it is complete.
type saved struct {
	SchemaVersion int              `json:"schema_version"`
	Began         time.Time        `json:"began"`
	Parties       int              `json:"parties"`
	Computes      int              `json:"compute_nodes"`
	Rounds        int              `json:"rounds"`
	Colluders     int              `json:"colluders"`
	Dropouts      int              `json:"dropouts"`
	Epsilon       float64          `json:"epsilon"`
	Delta         float64          `json:"delta"`
	Clip          float64          `json:"clip"`
	Model         bayes.Model      `json:"model"`
	Strategy      pvi.StrategyName `json:"strategy"`
	Method        Method           `json:"method,omitempty"`
	Shards        int              `json:"shards"`
	Data          savedSource      `json:"data"`
	Broker        string           `json:"broker"` // HOST:PORT
}

// savedSource is a Source; the path is absolute.
type savedSource struct {
	Path    string           `json:"path"`
	Target  string           `json:"target"`
	Schema  json.RawMessage  `json:"schema,omitempty"`
	Columns []dataset.Column `json:"columns,omitempty"`
	Rows    int              `json:"rows"`
	Seed    uint64           `json:"seed"`
	Rho     float64          `json:"rho"`
	Kappa   float64          `json:"kappa"`
	Train   float64          `json:"train"`
}

const (
	sessionFile = "demo.json" // session.json is the aggregator's
	planFile    = "plan.choir"
)

func (r *demoRun) save(broker string) error {
	s := r.Data
	v := saved{
		SchemaVersion: 1,
		Began:         r.began,
		Parties:       r.Parties,
		Computes:      r.Computes,
		Rounds:        r.Rounds,
		Colluders:     r.Colluders,
		Dropouts:      r.Dropouts,
		Epsilon:       r.Epsilon,
		Delta:         r.Delta,
		Clip:          r.Clip,
		Model:         r.Model,
		Strategy:      r.Strategy,
		Method:        r.Method,
		Shards:        r.Shards,
		Broker:        broker,
		Data: savedSource{
			Target:  s.Target,
			Columns: s.Columns,
			Rows:    s.Rows,
			Seed:    s.Seed,
			Rho:     s.Rho,
			Kappa:   s.Kappa,
			Train:   s.Train,
		},
	}
	var err error
	if s.Path != "" {
		if v.Data.Path, err = filepath.Abs(s.Path); err != nil {
			return err
		}
	}
	if s.Schema != nil {
		if v.Data.Schema, err = s.Schema.Canonical(); err != nil {
			return err
		}
	}
	return atomicfile.WriteJSON(filepath.Join(r.Out, sessionFile), v)
}

// load reads what save wrote into a fresh run, with the data as it was: a plan
// for other data than is there now is refused.
func (r *demoRun) load() (broker string, err error) {
	b, err := os.ReadFile(filepath.Join(r.Out, sessionFile))
	if err != nil {
		return "", protocol.Fail(protocol.ClassInput,
			"resume: %s holds no session of choir demo --processes that can be carried on: %w", r.Out, err)
	}
	var v saved
	if err := json.Unmarshal(b, &v); err != nil || v.SchemaVersion != 1 {
		return "", protocol.Fail(protocol.ClassInput, "resume: %s isn't a session file of version 1: %v",
			sessionFile, err)
	}
	r.restore(v)
	if len(v.Data.Schema) > 0 {
		if r.Data.Schema, err = dataset.ReadSchema(bytes.NewReader(v.Data.Schema)); err != nil {
			return "", protocol.Fail(protocol.ClassInput, "resume: %w", err)
		}
	}
	return v.Broker, r.reload()
}

// restore sets what the saved session has of the run, without the data's schema.
func (r *demoRun) restore(v saved) {
	r.began = v.Began
	r.Parties = v.Parties
	r.Computes = v.Computes
	r.Rounds = v.Rounds
	r.Colluders = v.Colluders
	r.Dropouts = v.Dropouts
	r.Epsilon = v.Epsilon
	r.Delta = v.Delta
	r.Clip = v.Clip
	r.Model = v.Model
	r.Strategy = v.Strategy
	r.Method = v.Method
	r.Shards = v.Shards
	r.Data = Source{
		Path:    v.Data.Path,
		Target:  v.Data.Target,
		Columns: v.Data.Columns,
		Rows:    v.Data.Rows,
		Seed:    v.Data.Seed,
		Rho:     v.Data.Rho,
		Kappa:   v.Data.Kappa,
		Train:   v.Data.Train,
	}
}

// reload reads the plan and the data that it was made for.
func (r *demoRun) reload() (err error) {
	if r.signed, err = terms.ReadPlan(filepath.Join(r.Out, planFile)); err != nil {
		return err
	}
	if err := r.signed.Complete(time.Now()); err != nil {
		return err
	}
	r.plan = r.signed.Plan
	r.s = protocol.Bind(r.plan)
	if r.app, err = app.Of(r.plan); err != nil {
		return err
	}
	if err := r.loadData(); err != nil {
		return err
	}
	schema, err := r.data.Schema.Canonical()
	if err != nil {
		return err
	}
	planned, err := r.app.Encoding()
	if err != nil {
		return err
	}
	want, err := planned.Canonical()
	if err != nil {
		return err
	}
	l, weighted := r.app.(*app.PVI)
	if string(schema) != string(want) || (weighted && !slices.Equal(r.data.Weights(), l.Weights)) {
		return protocol.Fail(protocol.ClassIntegrity, "resume: the data isn't what the plan was made for")
	}
	return nil
}
