package app_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
)

// A private plan doesn't let one record's missing value move other records: with two
// shards, leaving out row 0 sends every later row to the other shard, and both shards'
// clipped updates change where the sensitivity counts one.
func TestDroppedRecordsMoveNobody(t *testing.T) {
	c := rig.AppCases(t)["virtual"]
	l := *c.App.(*app.PVI)
	l.Schema = json.RawMessage(bytes.Replace(l.Schema, []byte(`"missing":"refuse"`), []byte(`"missing":"drop"`),
		1))
	list, _ := rig.Members(t, len(c.Parts), 3)
	plan := func(noise protocol.Placement, change func(*pvi.Config)) error {
		ts, l := rig.Terms(list), l
		ts.Noise = noise
		if noise != protocol.NoiseNone {
			ts.Epsilon, ts.Delta = 2, 1e-5
		}
		change(&l.PVI)
		_, err := ts.Plan(&l)
		return err
	}
	one := func(c *pvi.Config) {
		fit := c.Strategy.Params()
		c.Strategy = pvi.Dataset{Fit: pvi.Fit{Steps: fit.Steps, LearningRate: fit.LearningRate}}
	}
	if err := plan(protocol.NoiseParty, func(*pvi.Config) {}); err == nil || !strings.Contains(err.Error(),
		"drops records") || protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("five shards and dropped records: %v", err)
	}
	if err := plan(protocol.NoiseParty, one); err != nil {
		t.Errorf("one shard: %v", err)
	}
	if err := plan(protocol.NoiseNone, func(*pvi.Config) {}); err != nil {
		t.Errorf("without a claim: %v", err)
	}
	fixed := func(c *pvi.Config) {
		*c = rig.AppCases(t)["optimisation"].App.(*app.PVI).PVI
		var err error
		if *c, err = c.Adjusted(func(p *pvi.Params) { p.Sampling = pvi.SamplingFixed }); err != nil {
			t.Fatal(err)
		}
	}
	if err := plan(protocol.NoiseLocal, fixed); err == nil || !strings.Contains(err.Error(), "drops records") {
		t.Errorf("draws of fixed size: %v", err)
	}
}
