package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
)

// TestProgressLively: a run that takes long says what it does at least every two seconds.
func TestProgressLively(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{w: &out, console: &cli.Console{}}
		stop := p.lively()
		time.Sleep(quietLimit)
		p.show(experiment.Progress{Phase: "references"})
		time.Sleep(10*quietLimit + quietLimit/2)
		stop()
		if strings.Count(out.String(), "working: reading the data") < 1 ||
			strings.Count(out.String(), "working: the references") < 10 {
			t.Errorf("in %v:\n%s", 11*quietLimit, out.String())
		}
	})
}

// TestProgressOfReport: a report, which verifies the whole transcript first, is not silent either.
func TestProgressOfReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{w: &out, console: &cli.Console{}}
		_, err := p.watched(func() (*experiment.Result, error) { return &experiment.Result{}, nil }, func() error {
			time.Sleep(10 * quietLimit)
			return nil
		})
		if err != nil || strings.Count(out.String(), "working: the report") < 10 {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}

// TestProgressNamesTheScore: a linear model has an R squared, not an accuracy.
func TestProgressNamesTheScore(t *testing.T) {
	for linear, want := range map[bool]string{false: "  accuracy 0.5000  ", true: "  R squared 0.5000  "} {
		e := experiment.Progress{Phase: "round", Round: 1, Rounds: 2, Scores: &experiment.Scores{Accuracy: 0.5},
			Linear: linear}
		if got := progressLine(e); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
