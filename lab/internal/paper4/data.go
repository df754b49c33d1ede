package paper4

import (
	"choir/lab/experiment"
	"choir/lab/study"
)

// split is one of the paper's ways to share the data out.
type split struct {
	name       string
	rho, kappa float64
}

// splits are the paper's three (appendix B).
func splits() []split {
	return []split{{"balanced", 0, 0}, {"unbalanced 1", 0.75, 0.95}, {"unbalanced 2", 0.7, -3}}
}

// adult is the data of one seed; the seed fixes which half trains and who has what.
func adult(o study.Options, s split, parties int, train float64, seed uint64) (*experiment.Data, error) {
	from, err := experiment.Adult(o.DataDir)
	if err != nil {
		return nil, err
	}
	from.Seed = seed
	from.Parties = parties
	from.Rho = s.rho
	from.Kappa = s.kappa
	from.Train = train
	return from.Load()
}
