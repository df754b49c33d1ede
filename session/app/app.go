package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"choir/learn/bayes"
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
	NameMCMC       = "mcmc"
)

// Names are the names of all applications.
func Names() []string {
	return []string{NamePVI, NameGlobal, NameMCMC, NameShuffle, NameStatistics, NameSum, NameTable}
}

// Spec is an application with its public parameters, as a plan carries them: what
// the plan's sums are for. A new application is a type and a
// case in Parse.
type Spec interface {
	// Name is the application's name in plans.
	Name() string
	// Marshal returns the canonical form of the parameters.
	Marshal() ([]byte, error)
	// Size returns the number of coordinates of a party's contribution and its
	// grid, 2^-fracBits.
	Size() (dim int, fracBits uint8)
	// Mechanism describes what a round releases under noise, which the plan's claim
	// must cover. The error is pvi.ErrUnbounded if nothing bounds a term.
	Mechanism() (pvi.Mechanism, error)
	// Check compares the parameters with the plan's roster and rounds. Size and
	// Mechanism are compared elsewhere.
	Check(p *protocol.Plan) error
	// Encoding returns the schema by which columns are encoded.
	Encoding() (*dataset.Schema, error)
	// Model returns the public model and how sums update it, under the plan.
	Model(p *protocol.Plan) protocol.Model
	// Join returns a party's side of the application.
	Join(c PartyConfig) (Party, error)
	// Posterior returns the posterior of the weights in a public state.
	Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error)
	// NoiseAware returns the posterior that counts the privacy noise, given all accepted
	// rounds in order. Errors: pvi.ErrUncorrected for a method without one.
	NoiseAware(p *protocol.Plan, trace []Revealed) (*bayes.Posterior, error)
}

// Party is a party's side of an application.
type Party interface {
	protocol.Application
	protocol.Proposer
}

// PartyConfig is what a party's side needs.
type PartyConfig struct {
	Plan  *protocol.Plan
	Party uint32
	Data  bayes.Data // never modified
	// Rand is the source of secret samples and local noise: crypto/rand.Reader in
	// production. It is read concurrently with the party's machine; a reader that
	// is not safe for that must not be shared with it.
	Rand io.Reader
	// Outside, if not nil, returns what computes the updates of so many shards of the data in the
	// place of the optimiser: the party's program. The data are the records that the party learns
	// from, without those held out, as they are encoded then: it is called again when rounds that
	// measure columns have moved the encoding. Only DP-PVI supports it.
	Outside func(data bayes.Data, shards int) (pvi.Outside, error)
	// Report, if not nil, receives the share of clipped terms of each round. The
	// value depends on the data without noise, and is for the party alone.
	Report func(round uint32, clipped float64)
}

func (c PartyConfig) report(round uint32, clipped float64) {
	if c.Report != nil {
		c.Report(round, clipped)
	}
}

// Parse reads the parameters of the application with the name.
func Parse(name string, parameters []byte) (Spec, error) {
	switch name {
	case NamePVI:
		return parsed[PVI](parameters)
	case NameGlobal:
		return parsed[GlobalVI](parameters)
	case NameStatistics:
		return parsed[Statistics](parameters)
	case NameMCMC:
		return parsed[MCMC](parameters)
	case NameTable:
		return parsed[Table](parameters)
	case NameShuffle:
		return parsed[Shuffle](parameters)
	}
	return nil, fmt.Errorf("no such application %q", name)
}

// parsed accepts only the canonical form of an application.
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

// Canonical is compact JSON in the order of the fields. Nothing is escaped for HTML:
// the schema inside has its own canonical form, byte for byte.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// readCanonical accepts exactly what Canonical returns.
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

// checkVersion checks the version that all parameters begin with.
func checkVersion(v int) error {
	if v != 1 {
		return fmt.Errorf("parameters: version %d isn't 1", v)
	}
	return nil
}

// Of returns a plan's application, compared with the plan: a plan whose application
// produces larger terms than its privacy claim covers must not be signed.
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

// checkSchema checks that the schema encodes as many columns as the model has.
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

// SumVariance returns the variance of all noise on a sum at full attendance, in grid
// units squared.
func SumVariance(p *protocol.Plan) float64 {
	switch p.Noise {
	case protocol.NoiseParty:
		return float64(p.Variance) * float64(p.Parties())
	case protocol.NoiseCompute:
		return float64(p.Variance) * float64(p.Computes())
	}
	return 0
}

// NewModel returns the public model of a plan's application. Under a successor plan its rounds are
// counted from the first plan's, and its initial model is not the session's: see From.
func NewModel(p *protocol.Plan) (protocol.Model, error) {
	if p.Application == NameSum {
		return Sum{Dim: int(p.Dim)}, nil
	}
	a, err := Of(p)
	if err != nil {
		return nil, err
	}
	return From(p, a.Model(p), nil)
}
