package trial

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"choir/internal/atomicfile"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/terms"
)

// maxMembers bounds the parties, and the compute nodes, of a trial: each is a process.
const maxMembers = 512

// Options describe a trial.
type Options struct {
	Dir            string
	Parties, Nodes int
	Epsilon, Delta float64
	Rounds         int      // 0: the plan's default
	Data           []string // a CSV file a party; none: example data
	Schema         string   // schema file for Data; "": Config's, else inferred, which is not private
	Target         string   // column to predict; "": the schema's
	// Config is a plan file with the terms, in the place of Epsilon, Delta and Rounds; its
	// cards are not read.
	Config string
}

// Made is what Write leaves.
type Made struct {
	SchemaVersion int      `json:"schema_version"`
	Dir           string   `json:"dir"`
	Plan          string   `json:"plan"`
	Parties       int      `json:"parties"`
	ComputeNodes  int      `json:"compute_nodes"`
	Records       []int    `json:"records"` // of each party
	Warnings      []string `json:"warnings"`
	Run           string   `json:"run"` // the script that runs the session
}

// consortium is a trial under construction.
type consortium struct {
	Options
	now      time.Time
	members  []site
	schema   *dataset.Schema
	rows     []*dataset.Records // of each party
	test     *dataset.Records   // of records that are drawn only
	fallback bool               // the schema is the example's
	warnings []string
	own      terms.PlanConfig // by Config
	epsilon  float64          // the plan's, 0 without privacy noise
}

// Write makes the folder. It must be empty or not exist.
func Write(o Options) (*Made, error) {
	c := &consortium{Options: o, now: time.Now(), warnings: []string{}}
	if err := c.check(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{c.read, c.counts, c.folders, c.common, c.keys, c.plan, c.configure,
		c.scripts} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	sp, err := terms.ReadPlan(c.path("plan.choir"))
	if err != nil {
		return nil, err
	}
	m := &Made{1, c.Dir, sp.Plan.ID().String(), c.Parties, c.Nodes, nil, c.warnings, c.path("run.sh")}
	for _, r := range c.rows {
		m.Records = append(m.Records, len(r.Cells))
	}
	for i, r := range c.rows {
		if few := terms.TooFew(sp.Plan, i, len(r.Cells)); few != "" {
			m.Warnings = append(m.Warnings, sp.Plan.Members[i].Name+": "+few)
		}
	}
	warnings, err := terms.Warnings(sp.Plan)
	m.Warnings = append(m.Warnings, warnings...)
	return m, err
}

func (c *consortium) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func (c *consortium) check() error {
	switch {
	case c.Dir == "":
		return protocol.Fail(protocol.ClassInput, "name a folder for the trial")
	case c.Parties < 2 || c.Parties > maxMembers:
		return protocol.Fail(protocol.ClassInput, "parties: %d isn't in 2..%d", c.Parties, maxMembers)
	case c.Nodes < 2 || c.Nodes > maxMembers:
		return protocol.Fail(protocol.ClassInput, "nodes: %d isn't in 2..%d; one node alone would see every "+
			"contribution", c.Nodes, maxMembers)
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 0):
		return protocol.Fail(protocol.ClassInput, "epsilon: %v isn't positive and finite", c.Epsilon)
	case !(c.Delta > 0 && c.Delta < 1):
		return protocol.Fail(protocol.ClassInput, "delta: %v isn't in (0, 1)", c.Delta)
	case c.Rounds < 0 || c.Rounds > 10_000:
		return protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 0..10000", c.Rounds)
	case len(c.Data) == 0 && (c.Schema != "" || c.Target != ""):
		return protocol.Fail(protocol.ClassInput,
			"schema, target: they are for files of yours; name these with --data")
	case len(c.Data) > 0 && len(c.Data) != c.Parties:
		return protocol.Fail(protocol.ClassInput, "data: %d files for %d parties; name one a party", len(c.Data),
			c.Parties)
	}
	entries, err := os.ReadDir(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return protocol.Fail(protocol.ClassInput, "%w", err)
	case len(entries) > 0:
		return protocol.Fail(protocol.ClassInput, "%s isn't empty; name another folder", c.Dir)
	}
	return nil
}

func (c *consortium) folders() error {
	c.roster()
	all := []string{c.Dir, c.path("cards"), c.path("broker"), c.path("result"), c.path("sites")}
	for _, m := range c.members {
		all = append(all, c.site(m, ""))
	}
	for i, dir := range all {
		mode := os.FileMode(0o700)
		if i < 2 {
			mode = 0o755
		}
		if err := os.MkdirAll(dir, mode); err != nil {
			return protocol.Fail(protocol.ClassInput, "%w", err)
		}
	}
	return nil
}

// common writes the schema and the plan's configuration.
func (c *consortium) common() error {
	text, err := c.terms()
	if err != nil {
		return err
	}
	if c.own.Table != nil && c.fallback {
		c.schema.Missing = dataset.Drop // tables don't take the centre for a missing number
	}
	if c.own.Shuffle != nil && c.fallback {
		c.schema.Missing, c.schema.Unseen = dataset.Refuse, dataset.Refuse // every record reports
	}
	if err := atomicfile.WriteFile(c.path("schema.toml"), c.schema.TOML()); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(c.path("plan.toml"), text); err != nil {
		return err
	}
	if c.test == nil {
		return nil
	}
	return writeRows(c.path("test.csv"), c.test)
}

// terms is the plan's configuration: the template's, or that of Config with the trial's
// cards.
func (c *consortium) terms() ([]byte, error) {
	if c.Config == "" {
		return c.expand("plan.toml")
	}
	own := &c.own
	own.Parties, own.Computes = nil, nil
	for _, m := range c.members {
		card := "cards/" + m.Name + ".card"
		switch m.Role {
		case "party":
			own.Parties = append(own.Parties, card)
		case "compute":
			own.Computes = append(own.Computes, card)
		default:
			own.Aggregator = card
		}
	}
	own.Lifetime.Duration = cmp.Or(own.Lifetime.Duration, lifetime)
	return own.WithSchema("schema.toml").Text()
}

func writeRows(path string, rows *dataset.Records) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(rows.WriteCSV(f, nil), f.Close())
}

// plan makes the plan, has every member sign it, and gives every site its copy.
func (c *consortium) plan() error {
	p, err := terms.NewPlan(c.path("plan.toml"), c.now)
	if err != nil {
		return err
	}
	c.epsilon = p.Epsilon
	signed := &protocol.SignedPlan{Plan: p}
	for _, m := range c.members {
		if err := signed.Sign(m.key); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	text, err := signed.MarshalText()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(c.path("plan.choir"), text); err != nil {
		return err
	}
	for _, m := range c.members {
		if err := atomicfile.WriteFile(c.site(m, "plan.choir"), text); err != nil {
			return err
		}
	}
	return nil
}
