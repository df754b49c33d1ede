package collude

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"choir/protocol"
)

// hourly is a clock that is an hour on each time that it is read.
func hourly() func() time.Duration {
	var reads atomic.Int64
	return func() time.Duration { return time.Duration(reads.Add(1)) * time.Hour }
}

// TestBudget: a run is late by its processor time, and never without a limit.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		time, used time.Duration
		late       bool
	}{{time.Minute, 29 * time.Second, false}, {time.Minute, 31 * time.Second, true}, {0, time.Hour, false}} {
		used := time.Hour
		b := newBudget(c.time, func() time.Duration { return used })
		if used += c.used; b.late(0.5) != c.late {
			t.Errorf("%v of %v: late is %t", c.used, c.time, !c.late)
		}
	}
}

// grid is records of numbers that differ, of one number 1 if there is no column.
func grid(records, columns int) (rows [][]float64) {
	for i := range records {
		if columns == 0 {
			rows = append(rows, []float64{1})
			continue
		}
		row := make([]float64, columns)
		for j := range row {
			row[j] = float64(i % (j + 2))
		}
		rows = append(rows, row)
	}
	return rows
}

func TestChecks(t *testing.T) {
	x := target(t, Target{Parties: 3, Nodes: 2, MinParties: 3, Colluders: 0, Rounds: 1,
		Noise:   protocol.NoiseParty,
		Epsilon: 2, Delta: 1e-5})
	for what, o := range map[string]Options{
		"no victim": {Target: x, Runs: 100, Coalition: Coalition{Parties: 3}},
		"nodes":     {Target: x, Runs: 100, Coalition: Coalition{Nodes: 3}},
		"runs":      {Target: x, Runs: 1},
		"scenario":  {Target: x, Runs: 100, Scenarios: []string{"magic"}},
		"no rows":   {Target: x, Runs: 100, Records: [][]float64{}},
		"too wide":  {Target: x, Runs: 100, Records: grid(200, mostFields+1)},
		"infinite":  {Target: x, Runs: 100, Records: append(grid(200, 1), []float64{math.MaxFloat64})},
		"alike":     {Target: x, Runs: 100, Records: grid(200, 0)},
		"no attack": {Target: x, Runs: 100, Records: grid(200, 2), Scenarios: []string{"rank"}},
	} {
		t.Run(what, func(t *testing.T) {
			if err := o.Check(); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := NewTarget(Target{Parties: 3, Nodes: 2, MinParties: 2, Colluders: 1, Rounds: 1,
		Noise: protocol.NoiseParty, Epsilon: 1, Delta: 1e-5}); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("no honest noise: %v", err)
	}
}
