package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
)

// Application names in plans.
const (
	NameSum        = "sum"
	NamePVI        = "dp-pvi"
	NameGlobal     = "global-vi"
	NameStatistics = "statistics"
)

// App is a way of learning from records: what a plan's sums are for, with the public
// parameters that its plans carry. To add one, write it in a file of its own and enter
// a row in parseApp.
type Spec interface {
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
	Join(s PartyConfig) (Party, error)
	// Posterior is what a public state under the plan says of the weights.
	Posterior(p *protocol.Plan, state []int64) (*pvi.Posterior, error)
}

// Learner is a party's side of an application.
type Party interface {
	protocol.Application
	protocol.Proposer
}

// Seat is a party's place in a plan, with everything that its side needs.
type PartyConfig struct {
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

func (s PartyConfig) report(round uint32, clipped float64) {
	if s.Report != nil {
		s.Report(round, clipped)
	}
}

// parseApp is the table of applications.
func Parse(name string, parameters []byte) (Spec, error) {
	switch name {
	case NamePVI:
		return parsed[PVI](parameters)
	case NameGlobal:
		return parsed[GlobalVI](parameters)
	case NameStatistics:
		return parsed[Statistics](parameters)
	}
	return nil, fmt.Errorf("no such application %q", name)
}

// parsed reads the canonical form of an application and nothing else.
func parsed[T any, P interface {
	*T
	Spec
	validate() error
}](b []byte) (Spec, error) {
	a := P(new(T))
	if err := readCanonical(b, a); err != nil {
		return nil, err
	}
	return a, a.validate()
}

// canonical is compact JSON in the order of the fields. Nothing is escaped for HTML:
// the schema inside has a canonical form of its own, byte for byte.
func Canonical(v any) ([]byte, error) {
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
	again, err := Canonical(v)
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
func Of(p *protocol.Plan) (Spec, error) {
	a, err := Parse(p.Application, p.Parameters)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: %w", err)
	}
	if err := CheckClaim(p, a); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: parameters: %w", err)
	}
	return a, nil
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

// SumVariance is the variance of all noise on a sum at full attendance, in grid units
// squared.
func SumVariance(p *protocol.Plan) float64 {
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
	if p.Application == NameSum {
		return Sum{int(p.Dim)}, nil
	}
	a, err := Of(p)
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
