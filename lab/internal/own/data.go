package own

import (
	"choir/lab/experiment"
	"choir/lab/internal/randhie"
	"choir/lab/study"
	"choir/learn/dataset"
)

// generated is package dataset's Generator: twenty correlated columns over six orders of
// magnitude, encoded by public bounds.
func generated() trial {
	return trial{name: "own-generated", title: "Generated classes, 10 clients, (1, 1e-5)",
		source:  "none: data of our own, which no paper uses",
		cases:   []sharing{{"balanced", 0, 0}, {"unbalanced", 0.75, 0.5}},
		methods: []method{single(), tuned(fourHundred()), globalVI(300)},
		load: func(o study.Options, c sharing, seed uint64) (*experiment.Data, []float64, error) {
			g := dataset.DefaultGenerator(false, seed)
			if n := quick(o); n > 0 {
				g.Rows = n
			}
			made, err := g.Generate()
			if err != nil {
				return nil, nil, err
			}
			d, err := experiment.Source{Records: made.Records, Schema: made.Schema, Seed: seed, Parties: parties,
				Rho: c.rho, Kappa: c.kappa, Train: 0.8}.Load()
			return d, made.Weights, err
		}}
}

// tuned is a method whose setting was found on the study's own kind of data.
func tuned(m method) method {
	m.name += ", tuned on such data"
	return m
}

// hie is the real data set.
func hie() trial {
	return trial{name: "own-randhie", title: "A visit to a doctor within a year, 10 clients, (1, 1e-5)",
		source:  "none of the papers: RAND Health Insurance Experiment, as in [CT05]",
		cases:   []sharing{{"balanced", 0, 0}, {"unbalanced", 0.7, 0.5}},
		methods: []method{single(), fourHundred(), datasetLevel(), globalVI(300)},
		load: func(o study.Options, c sharing, seed uint64) (*experiment.Data, []float64, error) {
			records, err := randhie.Records()
			if err != nil {
				return nil, nil, err
			}
			if n := quick(o); n > 0 {
				records.Cells, records.Lines = records.Cells[:n], records.Lines[:n]
			}
			d, err := experiment.Source{Records: records, Schema: randhie.Schema(), Seed: seed,
				Parties: parties, Rho: c.rho, Kappa: c.kappa, Train: 0.8}.Load()
			return d, nil, err
		}}
}

// quick is how many rows a test has time for; 0: all.
func quick(o study.Options) int {
	if o.Quick {
		return 1000
	}
	return 0
}
