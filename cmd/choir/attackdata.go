package main

import (
	"slices"

	"choir/lab/experiment"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
	"choir/session/member"
)

// population reads the records of a file for the attack membership: encoded by the schema of a plan, as its
// parties encode them, or rows of numbers without a plan or under a plan of sums. p may be nil.
func population(p *protocol.Plan, path string) ([][]float64, error) {
	if p == nil || p.Application == app.NameSum {
		return numbers(p, path)
	}
	if p.Noise == protocol.NoiseShuffle {
		return nil, protocol.Fail(protocol.ClassInput, "data: the plan has shuffled reports; membership, the "+
			"attack that takes records, is on sums")
	}
	data, schema, err := member.Encoded(p, &member.Config{DataFile: path})
	if err != nil {
		return nil, err
	}
	return experiment.Signed(data.X, data.Y, schema.Classification()), nil
}

// numbers are the rows of a file of numbers, of the plan's dimension if there is a plan.
func numbers(p *protocol.Plan, path string) ([][]float64, error) {
	m, err := dataset.LoadMatrix(path)
	if err != nil && p == nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w; without PLAN, whose schema encodes other "+
			"columns, all are numbers", err)
	}
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if p != nil && m.Cols != int(p.Dim) {
		return nil, protocol.Fail(protocol.ClassInput, "data: %s has %d columns, the plan's sum has %d", path,
			m.Cols, p.Dim)
	}
	rows := make([][]float64, m.Rows)
	for i := range rows {
		rows[i] = slices.Clone(m.Row(i))
	}
	return rows, nil
}
