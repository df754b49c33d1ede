package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/internal/config"
	"choir/privacy"
	"choir/privacy/shuffle"
	"choir/protocol"
)

var shuffledMechanisms = []string{"ldp", "k-rr", "laplace-local", "gaussian-local"}

// shuffleFlags are the flags of shuffled runs.
type shuffleFlags struct {
	step
	stepsFile string
}

// step describes runs of one kind, as flags or as one table of a file of steps.
type step struct {
	Mechanism   string  `toml:"mechanism"`
	Shuffle     int     `toml:"shuffle"`
	Steps       int     `toml:"steps"`
	Eps0        float64 `toml:"eps0"`
	Categories  int     `toml:"categories"`
	Gamma       float64 `toml:"gamma"`
	Dummies     int     `toml:"dummies"`
	Adversary   string  `toml:"adversary"`
	Sigma       float64 `toml:"sigma"`
	Sensitivity float64 `toml:"sensitivity"`
	Clip        float64 `toml:"clip"`
	SampleRate  float64 `toml:"sample_rate"`
	Sampling    string  `toml:"sampling"`
	Colluders   int     `toml:"colluders"`
}

func (s *shuffleFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&s.Shuffle, "shuffle", 0, "honest users whose reports are shuffled in a run")
	fs.IntVar(&s.Categories, "categories", 0, "k-rr: number of values")
	fs.Float64Var(&s.Gamma, "gamma", 0, "k-rr: probability of a uniformly random report; or give --eps0")
	fs.Float64Var(&s.Eps0, "eps0", 0, "local guarantee of one report")
	fs.IntVar(&s.Dummies, "dummies", 0, "k-rr: random reports that an honest node adds in a run")
	fs.StringVar(&s.Adversary, "adversary", "weak", "k-rr: weak, or strong (knows who reports at random)")
	fs.IntVar(&s.Colluders, "colluders", 0,
		"users in the population of a sample who tell whether they were drawn")
	fs.StringVar(&s.stepsFile, "steps-file", "",
		"TOML file with several [[step]]: mechanism, shuffle, steps, ...")
	cli.Values(cmd, "adversary", "weak", "strong")
}

// isShuffled reports whether the command line is about shuffled runs.
func (f *accountFlags) isShuffled(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("shuffle") || cmd.Flags().Changed("steps-file") || f.solve == "shuffle" ||
		slices.Contains(shuffledMechanisms, f.mechanism)
}

// shuffledAnswer is the answer about shuffled runs. Parameters are those of the only kind of runs.
type shuffledAnswer struct {
	SchemaVersion int      `json:"schema_version"`
	Epsilon       float64  `json:"epsilon"`
	LowerBound    float64  `json:"lower_bound"`
	Delta         float64  `json:"delta"`
	Mechanism     string   `json:"mechanism"`
	Shuffle       int      `json:"shuffle,omitempty"`
	Gamma         float64  `json:"gamma,omitempty"`
	Eps0          float64  `json:"eps0,omitempty"` // local guarantee of one report
	Sigma         float64  `json:"sigma,omitempty"`
	Accountant    string   `json:"accountant"`
	Assumptions   []string `json:"assumptions"`
}

func (a *tools) runShuffled(cmd *cobra.Command, f *accountFlags) error {
	q, name, err := f.shuffleQuery(cmd)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%w", err)
	}
	var got privacy.Answer
	switch f.solve {
	case "":
		a.Console.Set("composing the steps")
		got, err = q.Answer()
	case "delta":
		a.Console.Set("searching for delta")
		q, got, err = q.SolveDelta(f.epsilon)
	default:
		a.Console.Set("searching for " + f.solve)
		q, got, err = q.Solve(privacy.Parameter(f.solve), f.epsilon)
	}
	a.Console.Set("")
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%w", err)
	}
	out := shuffledAnswer{SchemaVersion: 1, Epsilon: got.Epsilon, LowerBound: got.LowerBound, Delta: q.Delta,
		Mechanism: name, Accountant: got.Accountant, Assumptions: got.Assumptions}
	if len(q.Rounds) == 1 {
		r := q.Rounds[0]
		out.Shuffle, out.Gamma, out.Sigma = r.Users, r.Gamma, f.Sigma
		if e := r.LocalEpsilon(); !math.IsInf(e, 1) {
			out.Eps0 = e
		}
	}
	return a.Print(f.format, out, func() {
		fmt.Fprintf(a.Out, "epsilon      %.6g at delta %.9g (at least %.6g)\n", out.Epsilon, out.Delta,
			out.LowerBound)
		if out.Shuffle > 0 {
			fmt.Fprintf(a.Out, "users        %d\n", out.Shuffle)
		}
		if out.Gamma > 0 {
			fmt.Fprintf(a.Out, "gamma        %.9g\n", out.Gamma)
		}
		if out.Eps0 > 0 {
			fmt.Fprintf(a.Out, "local        %.9g, against everybody who sees a report with its sender\n", out.Eps0)
		}
		fmt.Fprintf(a.Out, "accountant   %s\n", out.Accountant)
		for _, s := range out.Assumptions {
			cli.Wrap(a.Out, "assumes      ", s)
		}
	})
}

// shuffleQuery returns the query of the flags and the name of its mechanism.
func (f *accountFlags) shuffleQuery(cmd *cobra.Command) (privacy.ShuffleQuery, string, error) {
	q := privacy.ShuffleQuery{Delta: f.Delta, Accountant: f.Accountant, Precision: f.Precision}
	set := cmd.Flags().Changed
	switch {
	case (f.solve == "") == set("epsilon"):
		return q, "", errors.New("--epsilon: goes with --solve, and --solve with it")
	case f.solve != "" && set(f.solve):
		return q, "", fmt.Errorf("--%s: contradicts --solve %s", f.solve, f.solve)
	case f.relation != "" && f.relation != "replace":
		return q, "", errors.New("--relation: the bounds on shuffled reports are for replace only")
	case set("dim"):
		return q, "", errors.New("--dim: a report is one value; for several the local guarantees add up")
	}
	if f.shuffled.stepsFile == "" {
		s := f.shuffled.step
		s.Mechanism, s.Steps, s.Sigma, s.Sensitivity, s.Clip = f.mechanism, f.Steps, f.Sigma, f.Sensitivity, f.Clip
		s.SampleRate, s.Sampling = f.Rate, f.sampling
		if f.solve == "shuffle" {
			s.Shuffle = 1
		}
		err := s.into(&q, f.solve)
		return q, f.mechanism, err
	}
	for _, name := range []string{"mechanism", "shuffle", "steps", "sigma", "gamma", "eps0", "solve"} {
		if set(name) && (name != "solve" || f.solve != "delta") {
			return q, "", fmt.Errorf("--%s: contradicts --steps-file, which describes all runs", name)
		}
	}
	steps, err := readSteps(f.shuffled.stepsFile)
	for i, s := range steps {
		if err == nil {
			if err = s.into(&q, ""); err != nil {
				err = fmt.Errorf("%s: step %d: %w", f.shuffled.stepsFile, i+1, err)
			}
		}
	}
	if err == nil && len(q.Rounds) == 0 {
		err = fmt.Errorf("%s: has no shuffled step; for Gaussian runs alone use the flags", f.shuffled.stepsFile)
	}
	return q, "steps", err
}

func readSteps(path string) ([]step, error) {
	var file struct {
		Step []step `toml:"step"`
	}
	if err := config.ReadTOML(path, &file); err != nil {
		return nil, fmt.Errorf("--steps-file: %w", err)
	}
	return file.Step, nil
}

// into adds the runs of a step to a query. solve names a parameter that is still unknown.
func (s step) into(q *privacy.ShuffleQuery, solve string) error {
	if s.Steps == 0 {
		s.Steps = 1
	}
	if s.Mechanism == "gaussian" {
		return s.gaussian(q)
	}
	r, err := s.round(solve)
	if err != nil {
		return err
	}
	if err := s.sample(&r); err != nil {
		return err
	}
	q.Rounds = append(q.Rounds, r)
	return nil
}

// gaussian adds releases of sums with Gaussian noise, whose neighbours are at the distance of the
// sensitivity.
func (s step) gaussian(q *privacy.ShuffleQuery) error {
	d := s.Sensitivity
	if s.Clip > 0 {
		d = 2 * s.Clip
	}
	switch {
	case !(d > 0) || !(s.Sigma > 0):
		return errors.New("a gaussian step needs sigma, and sensitivity or clip")
	case s.Shuffle > 0:
		return errors.New("shuffle: a gaussian step is a sum; for shuffled reports use gaussian-local")
	}
	q.Gaussians = append(q.Gaussians, privacy.SampledStep{Mu: d / s.Sigma, Count: s.Steps})
	return nil
}

// round returns the runs without their sampling.
func (s step) round(solve string) (shuffle.Round, error) {
	r := shuffle.Round{Users: s.Shuffle, Count: s.Steps, Eps0: s.Eps0, Dummies: s.Dummies}
	if s.Shuffle < 1 {
		return r, errors.New("--shuffle: the number of honest users is needed")
	}
	unit := s.Sensitivity
	if s.Clip > 0 {
		unit = 2 * s.Clip
	}
	switch s.Mechanism {
	case "ldp":
		r.Kind = shuffle.LDP
	case "laplace-local":
		r.Kind = shuffle.Laplace
	case "gaussian-local":
		if !(s.Sigma > 0) || (s.Sensitivity > 0) == (s.Clip > 0) {
			return r, errors.New("--sigma, and --sensitivity or --clip: are needed with gaussian-local")
		}
		r.Kind, r.Sigma = shuffle.Gaussian, s.Sigma/unit
		return r, nil
	case "k-rr":
		return s.response(r, solve)
	default:
		return r, fmt.Errorf("--mechanism: %q isn't one of %q", s.Mechanism, shuffledMechanisms)
	}
	switch {
	case s.Sigma > 0 || unit > 0:
		return r, fmt.Errorf("--sigma, --sensitivity, --clip: %s is described by --eps0", s.Mechanism)
	case s.Gamma > 0 || s.Categories > 0:
		return r, errors.New("--gamma, --categories: go with k-rr")
	case s.Adversary == "strong":
		return r, errors.New("--adversary: goes with k-rr")
	case solve == "eps0":
		r.Eps0 = 1
	}
	return r, nil
}

// response completes the runs of randomised response.
func (s step) response(r shuffle.Round, solve string) (shuffle.Round, error) {
	r.Kind, r.Categories, r.Gamma, r.Eps0 = shuffle.RandomisedResponse, s.Categories, s.Gamma, 0
	unknown := solve == "gamma" || solve == "eps0"
	switch {
	case s.Sigma > 0 || s.Sensitivity > 0 || s.Clip > 0:
		return r, errors.New("--sigma, --sensitivity, --clip: k-rr is described by --categories and --gamma")
	case s.Categories < 2:
		return r, errors.New("--categories: k-rr needs at least 2")
	case unknown && (s.Gamma > 0 || s.Eps0 > 0):
		return r, fmt.Errorf("--gamma, --eps0: contradict --solve %s", solve)
	case !unknown && s.Eps0 > 0 && s.Gamma > 0:
		return r, errors.New("--gamma, --eps0: give one of the two")
	case !unknown && s.Eps0 > 0:
		r.Gamma = shuffle.GammaOf(s.Eps0, s.Categories)
	case !unknown && s.Gamma == 0 && s.Dummies == 0:
		return r, errors.New("--gamma: is needed with k-rr, or --eps0")
	case unknown:
		r.Gamma = 1
	}
	switch s.Adversary {
	case "", "weak":
	case "strong":
		r.Kind = shuffle.StrongResponse
	default:
		return r, fmt.Errorf("--adversary: %q isn't weak or strong", s.Adversary)
	}
	return r, nil
}

// sample adds the sampling of the runs.
func (s step) sample(r *shuffle.Round) error {
	if (s.SampleRate > 0) != (s.Sampling != "") {
		return errors.New("--sample-rate, --sampling: one needs the other")
	}
	switch s.Sampling {
	case "":
		if s.Colluders > 0 {
			return errors.New("--colluders: goes with --sampling without-replacement; " +
				"otherwise --shuffle counts the honest users only")
		}
		return nil
	case "self":
		r.SelfRate = s.SampleRate
		if s.Colluders > 0 {
			return errors.New("--colluders: with --sampling self, --shuffle counts the honest users only")
		}
	case "without-replacement":
		if !(s.SampleRate > 0 && s.SampleRate <= 1) {
			return fmt.Errorf("--sample-rate: %v is not in (0, 1]", s.SampleRate)
		}
		r.Population, r.Colluders = int(math.Round(float64(r.Users)/s.SampleRate)), s.Colluders
	default:
		return fmt.Errorf("--sampling: %q isn't self or without-replacement", s.Sampling)
	}
	return nil
}
