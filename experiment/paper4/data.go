package paper4

import (
	"fmt"
	"path/filepath"

	"choir/dataset"
	"choir/experiment"
	"choir/experiment/study"
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
	path := filepath.Join(o.DataDir, "adult")
	records, err := dataset.LoadAdult(path)
	if err != nil {
		return nil, fmt.Errorf("adult: %w", err)
	}
	schema, err := dataset.AdultPaperSchema(records)
	if err != nil {
		return nil, err
	}
	return experiment.Source{Path: path, Schema: schema, Seed: seed, Parties: parties, Rho: s.rho, Kappa: s.kappa, Train: train}.Load()
}
