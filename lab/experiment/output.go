package experiment

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"choir/host"
	"choir/internal/atomicfile"
	"choir/lab/figure"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
	"choir/session/member"
	"choir/session/result"
	"choir/session/run"
	"choir/session/terms"
)

func (r *demoRun) store(i uint32) (host.Store, error) {
	if r.InMemory {
		return host.NewRam(), nil
	}
	dir := filepath.Join(r.Out, "members", r.s.Name(i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return member.OpenStore(filepath.Join(dir, "store.db"), r.s)
}

func (r *demoRun) result(rep *run.Report, refs References) (*Result, error) {
	final, err := r.final(rep)
	if err != nil {
		return nil, err
	}
	spent, _, err := r.plan.Spends(r.Rounds)
	if err != nil {
		return nil, err
	}
	warnings, err := r.warnings(rep)
	if err != nil {
		return nil, err
	}
	said := ""
	if !r.NoReferences {
		said = verdict(final, refs, r.Epsilon, r.Model == bayes.Linear, r.method() == MethodStatistics,
			dataset.LongTail("", dataset.Skewness(r.data.Train.Y)) != "")
	}
	return &Result{
		SchemaVersion:  1,
		Plan:           r.s.ID.String(),
		Data:           r.data.Name,
		TrainRows:      r.data.Train.Rows(),
		TestRows:       r.data.Test.Rows(),
		Features:       r.data.Schema.Dim(),
		Parties:        r.Parties,
		ComputeNodes:   r.Computes,
		Colluders:      r.Colluders,
		MinParties:     int(r.plan.MinParties),
		Rounds:         r.Rounds,
		Model:          string(r.Model),
		Strategy:       r.label(),
		Epsilon:        spent.Epsilon,
		Delta:          r.Delta,
		EpsilonBudget:  r.Epsilon,
		Accountant:     spent.Method,
		Relation:       privacy.Relation(r.plan.Relation).String(),
		Clip:           math.Ldexp(float64(r.plan.Clip), -int(r.plan.FracBits)),
		NoisePerParty:  r.perPartyStd(),
		UploadPerRound: r.uploadPerRound(rep),
		Measure:        strings.TrimPrefix(r.measure(), "test_"),
		Result:         final,
		References:     refs,
		Verdict:        said,
		Warnings:       warnings,
		SecondsSession: rep.Seconds,
		OutDir:         r.Out,
	}, nil
}

// final scores the posterior that the session exports.
func (r *demoRun) final(rep *run.Report) (Scores, error) {
	q, err := r.aware(rep)
	if err != nil {
		return Scores{}, err
	}
	if q == nil {
		return r.scored(rep.Model)
	}
	return r.data.evaluate(q, r.Model == bayes.Linear)
}

// aware returns the noise-aware posterior, nil where there is none.
func (r *demoRun) aware(rep *run.Report) (*bayes.Posterior, error) {
	if r.plan.Noise == protocol.NoiseNone {
		return nil, nil
	}
	trace, err := result.Trace(r.s, rep.Transcript)
	if err != nil {
		return nil, err
	}
	q, err := result.NoiseAware(r.plan, r.app, trace)
	if errors.Is(err, pvi.ErrUncorrected) {
		return nil, nil
	}
	return q, err
}

// uploadPerRound is the mean over the parties of the bytes that one sends in a round.
func (r *demoRun) uploadPerRound(rep *run.Report) float64 {
	upload := 0.0
	for _, b := range rep.UploadBytes {
		upload += float64(b) / float64(len(rep.UploadBytes)) / float64(r.Rounds)
	}
	return upload
}

// warnings are what is known of the data, of the plan before it began and of how it ended.
func (r *demoRun) warnings(rep *run.Report) ([]string, error) {
	before, err := terms.Warnings(r.plan)
	if err != nil {
		return nil, err
	}
	all := append([]string{}, r.data.Warnings...) // a list in JSON, never null
	all = append(all, before...)
	states := r.states
	if r.models != nil {
		states = r.models.states
	}
	if len(states) == 0 {
		states = [][]int64{rep.Model}
	}
	after, err := result.Warnings(r.plan, states...)
	if err != nil {
		return nil, err
	}
	q, err := r.aware(rep)
	if err != nil {
		return nil, err
	}
	if q != nil {
		after = append(after, result.AwareWarnings(r.plan, q, after)...)
	}
	return append(all, after...), nil
}

// write leaves the results in the folder: result.json, rounds.csv, the learning
// curve, the signed plan, the transcript and the model.
func (r *demoRun) write(res *Result, rep *run.Report) error {
	if err := atomicfile.WriteJSON(filepath.Join(r.Out, "result.json"), res); err != nil {
		return err
	}
	if err := r.writeRounds(); err != nil {
		return err
	}
	if err := r.curve(res).Write(r.Out); err != nil {
		return err
	}
	plan, err := r.signed.MarshalText()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.Out, "transcript")
	if err := atomicfile.WriteFile(filepath.Join(dir, "plan.choir"), plan); err != nil {
		return err
	}
	transcript := protocol.MarshalTranscript(rep.Transcript)
	if err := atomicfile.WriteFile(filepath.Join(dir, "transcript.bin"), transcript); err != nil {
		return err
	}
	trace, err := result.Trace(r.s, rep.Transcript)
	if err != nil {
		return err
	}
	model, err := result.NewModelFile(r.s, rep.Model, trace)
	if err != nil {
		return err
	}
	return model.Write(r.Out)
}

// measure is the honest name of Scores.Accuracy.
func (r *demoRun) measure() string {
	if r.Model == bayes.Linear {
		return "test_r_squared"
	}
	return "test_accuracy"
}

func (r *demoRun) writeRounds() error {
	header := []string{"round", "parties_counted", "parties", r.measure(), "test_log_likelihood",
		"epsilon_spent", "seconds"}
	var rows [][]any
	for _, p := range r.rounds {
		rows = append(rows, []any{
			p.Round, p.Counted, p.Parties, p.Scores.Accuracy, p.Scores.LogLikelihood, p.Epsilon, p.Seconds,
		})
	}
	return atomicfile.WriteCSV(filepath.Join(r.Out, "rounds.csv"), header, rows)
}

func (r *demoRun) curve(res *Result) figure.LearningCurve {
	own := figure.Series{Name: fmt.Sprintf("secure, epsilon = %g", r.Epsilon)}
	for _, p := range r.rounds {
		own.X = append(own.X, float64(p.Round))
		own.Accuracy = append(own.Accuracy, p.Scores.Accuracy)
		own.LogLik = append(own.LogLik, p.Scores.LogLikelihood)
	}
	c := figure.LearningCurve{
		Title: fmt.Sprintf("%s, %d parties, %d compute nodes, (%g, %g)-DP",
			r.data.Name, r.Parties, r.Computes, r.Epsilon, r.Delta),
		Series: []figure.Series{own},
	}
	ref := func(name string, s Scores) {
		if s != (Scores{}) {
			c.References = append(c.References,
				figure.Reference{Name: name, Accuracy: s.Accuracy, LogLik: s.LogLikelihood})
		}
	}
	ref("non-private", res.References.NonPrivate)
	ref("trusted aggregator", res.References.TrustedAggregator)
	ref("local noise", res.References.LocalNoise)
	ref("party by held-out rows", res.References.BestSingleParty)
	ref(strings.TrimPrefix(baseline(r.Model == bayes.Linear), "the "), res.References.Majority)
	if r.Model == bayes.Linear {
		c.Score = "Test R squared"
	}
	return c
}
