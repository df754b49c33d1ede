package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
)

// Application names in plans.
const (
	AppSum        = "sum"
	AppPVI        = "dp-pvi"
	AppGlobal     = "global-vi"
	AppStatistics = "statistics"
)

// App is a way of learning from records: what a plan's sums are for, with the public
// parameters that its plans carry. To add one, write it in a file of its own and enter
// a row in parseApp.
type App interface {
	// Name is the application's name in plans.
	Name() string
	// Marshal is the parameters' canonical form.
	Marshal() ([]byte, error)
	// Size is the number of coordinates of a party's sum and its grid, 2^-fracBits.
	Size() (dim int, fracBits uint8)
	// Mechanism is what a round releases under noise: what the plan's claim must
	// cover. Its error is pvi.ErrUnbounded where nothing bounds a term.
	Mechanism() (pvi.Mechanism, error)
	// Check holds the parameters against the plan's roster; everything else is held
	// to Size and Mechanism.
	Check(p *protocol.Plan) error
	// Encoding is how columns are encoded.
	Encoding() (*dataset.Schema, error)
	// Model is the public side.
	Model() protocol.Model
	// Join is a party's side.
	Join(s Seat) (Learner, error)
	// Posterior is what a public state under the plan says of the weights.
	Posterior(p *protocol.Plan, state []int64) (*pvi.Posterior, error)
}

// Learner is a party's side of an application.
type Learner interface {
	protocol.Application
	protocol.Proposer
}

// Seat is a party's place in a plan, with everything that its side needs.
type Seat struct {
	Plan  *protocol.Plan
	Party uint32
	Data  pvi.Data // never modified
	// Rand is where secret samples and local noise come from: crypto/rand.Reader in
	// production. It is read beside the party's machine, so a reader that isn't safe for
	// that must be another one than the machine's.
	Rand io.Reader
	// Outside, if not nil, computes the shards' updates instead of the model's own
	// optimiser: a program of the party's own. Only DP-PVI takes one.
	Outside pvi.Outside
	// Report, if not nil, is told the share of clipped terms of each round. It is for the
	// party's own eyes.
	Report func(round uint32, clipped float64)
}

func (s Seat) report(round uint32, clipped float64) {
	if s.Report != nil {
		s.Report(round, clipped)
	}
}

// parseApp is the table of applications.
func parseApp(name string, parameters []byte) (App, error) {
	switch name {
	case AppPVI:
		return parsed[Learning](parameters)
	case AppGlobal:
		return parsed[GlobalVI](parameters)
	case AppStatistics:
		return parsed[Statistics](parameters)
	}
	return nil, fmt.Errorf("no such application %q", name)
}

// parsed reads the canonical form of an application and nothing else.
func parsed[T any, P interface {
	*T
	App
	validate() error
}](b []byte) (App, error) {
	a := P(new(T))
	if err := readCanonical(b, a); err != nil {
		return nil, err
	}
	return a, a.validate()
}

// canonical is compact JSON in the order of the fields. Nothing is escaped for HTML:
// the schema inside has a canonical form of its own, byte for byte.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// readCanonical accepts exactly what canonical emits.
func readCanonical(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	again, err := canonical(v)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if !bytes.Equal(again, b) {
		return fmt.Errorf("parameters: not in canonical form")
	}
	return nil
}

// checkVersion is what all parameters begin with.
func checkVersion(v int) error {
	if v != 1 {
		return fmt.Errorf("parameters: version %d isn't 1", v)
	}
	return nil
}

// AppOf reads a plan's application and holds it against the plan's own numbers: a plan
// whose application produces larger terms than its privacy claim covers must not be
// signed.
func AppOf(p *protocol.Plan) (App, error) {
	a, err := parseApp(p.Application, p.Parameters)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: %w", err)
	}
	if err := checkApp(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: parameters: %w", err)
	}
	return a, nil
}

func checkApp(p *protocol.Plan, a App) error {
	if err := a.Check(p); err != nil {
		return err
	}
	dim, bits := a.Size()
	switch {
	case dim != int(p.Dim):
		return fmt.Errorf("the model has %d numbers, the plan's dim is %d", dim, p.Dim)
	case bits != p.FracBits:
		return fmt.Errorf("frac_bits is %d, the plan's is %d", bits, p.FracBits)
	}
	m, err := a.Mechanism()
	if err != nil {
		if p.Noise == protocol.NoiseNone && errors.Is(err, pvi.ErrUnbounded) {
			return nil
		}
		return err
	}
	return checkMechanism(p, m)
}

// checkMechanism: what the application does is what the plan's claim is computed for.
func checkMechanism(p *protocol.Plan, m pvi.Mechanism) error {
	if m.PerParty > p.PerParty || m.Clip > p.Clip {
		return fmt.Errorf("one term reaches %d grid units and one party's sum %d; the plan's clip and per_party, %d and %d, don't cover that", m.Clip, m.PerParty, p.Clip, p.PerParty)
	}
	if p.Noise == protocol.NoiseNone {
		return nil
	}
	steps := uint32(0)
	if m.Local {
		steps = uint32(m.Steps)
	}
	sampling, rate := samplingOf(m)
	switch {
	case m.Local != (p.Noise == protocol.NoiseLocal):
		return fmt.Errorf("the method's noise is %s, the plan's is placed with %v", placed(m), p.Noise)
	case m.Sensitivity > p.Sensitivity:
		return fmt.Errorf("one record moves a release by %d grid units; the plan's sensitivity, %d, doesn't cover that", m.Sensitivity, p.Sensitivity)
	case m.Dim > int(p.Dim):
		return fmt.Errorf("a release has %d coordinates, the plan accounts for %d", m.Dim, p.Dim)
	case steps != p.LocalSteps:
		return fmt.Errorf("the method noises %d steps a round, the plan accounts for %d", steps, p.LocalSteps)
	case uint8(sampling) != p.Sampling || rate != p.SampleRate:
		return fmt.Errorf("the method samples records by %v at rate %v, the plan accounts for %v at %v", sampling, rate, privacy.Sampling(p.Sampling), p.SampleRate)
	}
	return nil
}

func placed(m pvi.Mechanism) string {
	if m.Local {
		return "every party's own (local)"
	}
	return "joint, on the sum"
}

// samplingOf translates between the packages' names.
func samplingOf(m pvi.Mechanism) (privacy.Sampling, float64) {
	switch m.Sampling {
	case pvi.SamplingPoisson:
		return privacy.SamplingPoisson, m.SampleRate
	case pvi.SamplingFixed:
		return privacy.SamplingFixed, m.SampleRate
	}
	return privacy.SamplingNone, 0
}

// checkSchema: the columns that the schema encodes are those that the model has.
func checkSchema(raw json.RawMessage, features int) error {
	schema, err := dataset.ParseSchema(raw)
	if err != nil {
		return err
	}
	if schema.Dim() != features {
		return fmt.Errorf("the schema encodes %d columns, the model has %d features", schema.Dim(), features)
	}
	return nil
}

// sumVariance is the variance of all noise on a sum at full attendance, in grid units
// squared.
func sumVariance(p *protocol.Plan) float64 {
	switch p.Noise {
	case protocol.NoiseParty:
		return float64(p.Variance) * float64(p.Parties())
	case protocol.NoiseCompute:
		return float64(p.Variance) * float64(p.Computes())
	}
	return 0
}

// NewModel is the model that a plan's application folds.
func NewModel(p *protocol.Plan) (protocol.Model, error) {
	if p.Application == AppSum {
		return Sum{int(p.Dim)}, nil
	}
	a, err := AppOf(p)
	if err != nil {
		return nil, err
	}
	return a.Model(), nil
}

// memoryless is a party's side without private state.
type memoryless struct{ protocol.Model }

// InitialState is empty.
func (memoryless) InitialState() []byte { return []byte{} }

// Settle keeps nothing.
func (memoryless) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }
