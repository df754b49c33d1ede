package terms

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"choir/crypto/channel"
	"choir/crypto/fixedpoint"
	"choir/internal/config"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
)

// PlanConfig is the file from which a plan is made. Paths are relative to its folder.
type PlanConfig struct {
	Name       string          `toml:"name"`
	Lifetime   config.Duration `toml:"lifetime"` // from the creation of the plan
	Suite      string          `toml:"suite"`    // hybrid (default) or x25519
	Parties    []string        `toml:"parties"`  // card files
	Computes   []string        `toml:"computes"`
	Aggregator string          `toml:"aggregator"`

	Rounds        int             `toml:"rounds"`
	SpareAttempts int             `toml:"spare_attempts"`
	Dropouts      int             `toml:"dropouts"`
	Colluders     *int            `toml:"colluders"`
	Deadline      config.Duration `toml:"deadline"` // default 10m
	Grace         config.Duration `toml:"grace"`    // default a tenth of the deadline
	Paired        bool            `toml:"paired"`   // two coordinates share a field element
	Audit         *bool           `toml:"audit"`    // sums are opened against parties' commitments

	Privacy PrivacyConfig `toml:"privacy"`

	// Exactly one of these describes the application.
	Learning   *LearningConfig   `toml:"learning"`
	Global     *GlobalConfig     `toml:"global"`
	Statistics *StatisticsConfig `toml:"statistics"`
	MCMC       *MCMCConfig       `toml:"mcmc"`
	Table      *TableConfig      `toml:"table"`
	Shuffle    *ShuffleConfig    `toml:"shuffle"`
	Sum        *SumConfig        `toml:"sum"`

	// Evaluation adds rounds that evaluate the model.
	Evaluation *EvaluationConfig `toml:"evaluation"`
}

// PrivacyConfig is the budget over all rounds and spare attempts.
type PrivacyConfig struct {
	// Noise is party, compute, local, shuffle or none. The default is local, or shuffle, for
	// methods with no other placement, else party.
	Noise   string  `toml:"noise"`
	Epsilon float64 `toml:"epsilon"`
	Delta   float64 `toml:"delta"`
	// NoisePerClip asks for the largest number of rounds for which the noise on a
	// coordinate of a sum is at most this many clips; rounds must not be set.
	NoisePerClip float64 `toml:"noise_per_clip"`
	// UnsafeDifferences allows several rounds without noise though parties may drop out.
	UnsafeDifferences bool `toml:"unsafe_differences"`
}

// SumConfig describes a plan for one secure sum.
type SumConfig struct {
	Columns  int     `toml:"columns"`
	FracBits *uint8  `toml:"frac_bits"` // default: as fine as the bound and the parties allow
	Bound    float64 `toml:"bound"`     // on one party's L2 norm, in the inputs' unit
	Sigma    float64 `toml:"sigma"`
}

// readConfig reads a plan's file. It refuses numbers of records that are named and below 1: in a
// PlanConfig a 0 is a number that is not given.
func readConfig(path string) (*PlanConfig, error) {
	c := new(PlanConfig)
	if err := config.ReadTOML(path, c); err != nil {
		return nil, err
	}
	var raw map[string]any
	if err := config.ReadTOML(path, &raw); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		keys, _ := raw[name].(map[string]any)
		if n, ok := keys["records"].(int64); ok && n < 1 {
			return nil, protocol.Fail(protocol.ClassInput, "%s: [%s] records is %d, want 1 or more; leave it out "+
				"where nobody knows the number", path, name, n)
		}
	}
	return c, nil
}

// NewPlan reads a PlanConfig and the cards that it names, and returns the plan,
// unsigned.
func NewPlan(path string, now time.Time) (*protocol.Plan, error) {
	c, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	members, err := c.members(filepath.Dir(path), now)
	if err != nil {
		return nil, &fileError{path, c, err}
	}
	p, err := c.plan(schemaReader(path), now, members)
	if err != nil {
		return nil, &fileError{path, c, err}
	}
	return p, nil
}

// Plan returns the plan of the terms among the members, unsigned. The cards that the
// terms name and their schema's file are not read.
func (c *PlanConfig) Plan(schema *dataset.Schema, members []protocol.Member, now time.Time) (*protocol.Plan,
	error) {
	return c.plan(func(string, section) (*dataset.Schema, error) { return schema, nil }, now, members)
}

func (c *PlanConfig) plan(schema func(string, section) (*dataset.Schema, error), now time.Time,
	members []protocol.Member) (*protocol.Plan, error) {
	t, err := c.terms(now)
	if err != nil {
		return nil, err
	}
	t.Members = members
	make, err := c.maker(schema)
	if err != nil {
		return nil, err
	}
	build := func(rounds int) (*protocol.Plan, error) {
		t := t
		t.Rounds = rounds
		return make(t)
	}
	switch {
	case c.Privacy.NoisePerClip == 0:
		return build(c.Rounds)
	case c.Shuffle != nil:
		return nil, protocol.Fail(protocol.ClassInput,
			"config: privacy.noise_per_clip: shuffled reports have no noise; leave it out")
	case c.Rounds != 0:
		return nil, protocol.Fail(protocol.ClassInput,
			"config: rounds, privacy.noise_per_clip: one follows from the other; leave one out")
	}
	return solveRounds(c.Privacy.NoisePerClip, build)
}

// section is a table that describes an application.
type section interface {
	// spec is the application that the table describes, with defaults for what the table
	// doesn't name, and the number of rounds: the terms', or the method's default.
	spec(t Terms, schema *dataset.Schema) (app.Spec, int, error)
	// schema is the schema's file, and the schema itself if it is in the plan's file.
	schema() (file string, inside map[string]any)
}

// readSchema reads the schema of a section, from the plan's file or from its own.
func readSchema(path, name string, s section) (*dataset.Schema, error) {
	file, inside := s.schema()
	switch {
	case file == "" && inside == nil:
		return nil, protocol.Fail(protocol.ClassInput, "config: %s.schema_file is missing: it names the file that "+
			"choir schema new writes; [%s.schema] may have the schema in its place", name, name)
	case file != "" && inside != nil:
		return nil, protocol.Fail(protocol.ClassInput,
			"config: %s.schema_file, %s.schema: one schema is enough; leave one out", name, name)
	case file != "":
		return ReadSchema(config.InDir(filepath.Dir(path), file))
	}
	text, err := os.ReadFile(path) // once more: its columns keep their order
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	schema, err := dataset.ParseTOML(text, name, "schema")
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %s.schema: %w", name, err)
	}
	return schema, nil
}

// SchemaOf returns the schema that a plan's file names or has, which the cards need not be there for;
// nil where there is none, as in a plan of sums.
func SchemaOf(path string) (found *dataset.Schema, err error) {
	c := new(PlanConfig)
	if err := config.ReadTOML(path, c); err != nil {
		return nil, err
	}
	_, err = c.maker(func(name string, s section) (*dataset.Schema, error) {
		if file, inside := s.schema(); file == "" && inside == nil {
			return nil, nil
		}
		found, err = readSchema(path, name, s)
		return found, err
	})
	return found, err
}

// schemaReader reads the schema of a section of the plan's file.
func schemaReader(path string) func(string, section) (*dataset.Schema, error) {
	return func(name string, s section) (*dataset.Schema, error) { return readSchema(path, name, s) }
}

// maker finds the table and reads its files; the function makes the plan.
func (c *PlanConfig) maker(read func(string, section) (*dataset.Schema, error)) (
	func(Terms) (*protocol.Plan, error), error) {
	var found []section
	name := ""
	if c.Learning != nil {
		name, found = "learning", append(found, c.Learning)
	}
	if c.Global != nil {
		name, found = "global", append(found, c.Global)
	}
	if c.Statistics != nil {
		name, found = "statistics", append(found, c.Statistics)
	}
	if c.MCMC != nil {
		name, found = "mcmc", append(found, c.MCMC)
	}
	if c.Table != nil {
		name, found = "table", append(found, c.Table)
	}
	if c.Shuffle != nil {
		name, found = "shuffle", append(found, c.Shuffle)
	}
	switch {
	case c.Sum != nil && len(found) == 0:
		return c.Sum.plan, errors.Join(c.Evaluation.onlyLearning(), c.onlySum())
	case c.Sum != nil || len(found) != 1:
		return nil, protocol.Fail(protocol.ClassInput,
			"config: exactly one of [learning], [global], [statistics], [mcmc], [table], [shuffle] and [sum] must be "+
				"there")
	}
	schema, err := read(name, found[0])
	if err != nil {
		return nil, err
	}
	return func(t Terms) (*protocol.Plan, error) {
		a, rounds, err := c.Evaluation.with(found[0], t, schema)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
		}
		t.Rounds = rounds
		if m, err := a.Mechanism(); err == nil && m.Local && c.Privacy.Noise == "" {
			t.Noise = protocol.NoiseLocal
		}
		if c.Shuffle != nil && c.Privacy.Noise == "" {
			t.Noise = protocol.NoiseShuffle
		}
		return t.Plan(a)
	}, nil
}

func (c *PlanConfig) terms(now time.Time) (t Terms, err error) {
	t = Terms{Name: c.Name, Created: now, Lifetime: c.Lifetime.Duration, Rounds: c.Rounds,
		SpareAttempts: c.SpareAttempts,
		Dropouts:      c.Dropouts, Deadline: c.Deadline.Duration, Grace: c.Grace.Duration,
		Paired: c.Paired, Audit: c.Audit != nil && *c.Audit, UnsafeDifferences: c.Privacy.UnsafeDifferences,
		Epsilon: c.Privacy.Epsilon, Delta: c.Privacy.Delta}
	if c.Colluders != nil {
		t.Colluders = *c.Colluders
	}
	if c.Deadline.NamedZero() {
		return t, protocol.Fail(protocol.ClassInput, "config: deadline is 0, want more: it is how long nodes wait "+
			"for parties; leave it out for 10m")
	}
	if t.Deadline == 0 {
		t.Deadline = 10 * time.Minute
	}
	if t.Grace == 0 {
		t.Grace = t.Deadline / 10
	}
	if t.Rounds < 0 || t.Rounds > protocol.MaxRounds { // 0 takes the default
		return t, protocol.Fail(protocol.ClassInput, "config: rounds: %d isn't in 1..%d", t.Rounds,
			protocol.MaxRounds)
	}
	if t.Lifetime <= 0 {
		return t, protocol.Fail(protocol.ClassInput, "config: lifetime is missing")
	}
	var ok bool
	if t.Suite, ok = map[string]channel.Suite{"": channel.SuiteHybrid, "hybrid": channel.SuiteHybrid,
		"x25519": channel.SuiteX25519}[c.Suite]; !ok {
		return t, protocol.Fail(protocol.ClassInput, "config: suite: %q isn't hybrid or x25519", c.Suite)
	}
	if t.Noise, ok = map[string]protocol.Placement{"": protocol.NoiseParty, "party": protocol.NoiseParty,
		"compute": protocol.NoiseCompute, "local": protocol.NoiseLocal, "shuffle": protocol.NoiseShuffle,
		"none": protocol.NoiseNone}[c.Privacy.Noise]; !ok {
		return t, protocol.Fail(protocol.ClassInput,
			"config: privacy.noise: %q isn't party, compute, local, shuffle or none", c.Privacy.Noise)
	}
	if t.Noise == protocol.NoiseNone && (t.Epsilon != 0 || t.Delta != 0) {
		return t, protocol.Fail(protocol.ClassInput,
			"config: privacy.epsilon, privacy.delta: "+
				"a plan whose privacy.noise is none claims nothing; leave them out")
	}
	return t, nil
}

// members reads the cards. Validate checks that none expires before the plan.
func (c *PlanConfig) members(dir string, now time.Time) (members []protocol.Member, err error) {
	if c.Aggregator == "" {
		return nil, protocol.Fail(protocol.ClassInput, "config: aggregator is missing")
	}
	for _, group := range []struct {
		role  protocol.Role
		cards []string
	}{{protocol.RoleParty, c.Parties}, {protocol.RoleCompute, c.Computes}, {protocol.RoleAggregator,
		[]string{c.Aggregator}}} {
		for _, path := range group.cards {
			card, err := ReadCard(config.InDir(dir, path), now)
			if err != nil {
				return nil, err
			}
			m := NewMember(card.Name, group.role, card.Key)
			m.NotAfter = card.NotAfter
			members = append(members, m)
		}
	}
	return members, nil
}

// orElse returns a setting, or its default if the setting is zero.
func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// onlySum refuses settings that a plan for one sum cannot have, rather than ignore
// them.
func (c *PlanConfig) onlySum() error {
	noise, sigma := c.Privacy.Noise, c.Sum.Sigma != 0
	switch {
	case c.Rounds != 0 && c.Rounds != 1:
		return protocol.Fail(protocol.ClassInput,
			"config: rounds: %d, but a plan with [sum] has one round; make a plan for each sum", c.Rounds)
	case c.SpareAttempts != 0:
		return protocol.Fail(protocol.ClassInput, "config: spare_attempts: %d, but a plan with [sum] has none",
			c.SpareAttempts)
	case c.Privacy.Epsilon != 0 || c.Privacy.Delta != 0 || c.Privacy.NoisePerClip != 0:
		return protocol.Fail(protocol.ClassInput,
			"config: privacy.epsilon, privacy.delta, privacy.noise_per_clip: a plan with [sum] claims no epsilon; "+
				"sum.sigma says how much noise there is")
	case noise != "" && noise != "none" && noise != "party":
		return protocol.Fail(protocol.ClassInput,
			"config: privacy.noise: %s, but the noise of a plan with [sum] is none, or the parties'", noise)
	case noise == "party" && !sigma:
		return protocol.Fail(protocol.ClassInput, "config: sum.sigma is missing: privacy.noise is party")
	case noise == "none" && sigma:
		return protocol.Fail(protocol.ClassInput, "config: sum.sigma: %v, but privacy.noise is none", c.Sum.Sigma)
	}
	return nil
}

// maxSumBits is the finest grid that is chosen for a sum.
const maxSumBits = 40

func (s *SumConfig) plan(t Terms) (*protocol.Plan, error) {
	if s.FracBits != nil {
		return s.onGrid(t, *s.FracBits)
	}
	bits := uint8(maxSumBits)
	if s.Sigma > 0 {
		bits = GridFor(s.Sigma)
	}
	for ; ; bits-- {
		p, err := s.onGrid(t, bits)
		if err == nil || bits == 0 {
			return p, err
		}
	}
}

// onGrid returns the plan with the resolution 2^-bits.
func (s *SumConfig) onGrid(t Terms, bits uint8) (*protocol.Plan, error) {
	bound, err := (fixedpoint.Grid{FracBits: bits}).IntBound(s.Bound)
	if err != nil || bound < 1 {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: sum.bound: %v isn't a positive bound that the grid 2^-%d can carry", s.Bound, bits)
	}
	if s.Columns < 1 || s.Columns > math.MaxInt32 {
		return nil, protocol.Fail(protocol.ClassInput, "config: sum.columns: %d isn't a number of columns",
			s.Columns)
	}
	return t.Sum(SumTerms{Dim: s.Columns, FracBits: bits, PerParty: bound, Sigma: s.Sigma})
}
