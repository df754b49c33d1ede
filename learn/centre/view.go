package centre

import (
	"fmt"
	"math"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
)

const (
	// stages is the most that the rounds are in.
	stages = 5
	// reach is how far a stage looks on both sides of a column's mean, in its standard deviations.
	reach = 3
	// sure is by how many standard deviations of its noise a column's variance may be larger than it is
	// measured, lower by how many it may be smaller, and seen from how many on a later stage, which looks at
	// less of the range, doesn't take it for smaller.
	sure, lower, seen = 1, 2, 3
	// narrowest is the least unit, in halves of the range.
	narrowest = 1e-3
	// typical is the root mean square of a column's position before anything is measured, and squares the
	// weight of the squares of positions in a record's vector.
	typical = 0.6
	squares = 0.5
)

// StateLen is the length of a state: for each stage the number of accepted rounds, and their sum.
func StateLen(s *dataset.Schema) int { return stages * (1 + Dim(s)) }

// stage returns the stage, from 0, of a measuring round, from 1.
func stage(round, rounds int) int { return (round - 1) * min(stages, rounds) / rounds }

// Fold returns the state after the sum of a measuring round, from 1 to rounds.
// Errors: bayes.ErrShape, pvi.ErrOverflow.
func Fold(state []int64, round, rounds int, sum []int64) ([]int64, error) {
	size := len(state) / stages
	if size-1 > len(sum) || round < 1 || round > rounds {
		return nil, fmt.Errorf("round %d of %d that measure: %w", round, rounds, bayes.ErrShape)
	}
	next := slices.Clone(state)
	of := next[stage(round, rounds)*size:][:size]
	of[0]++
	for i, x := range sum[:size-1] {
		v := of[1+i] + x
		if (x > 0) != (v > of[1+i]) && x != 0 {
			return nil, fmt.Errorf("round %d, coordinate %d: %w", round, i, pvi.ErrOverflow)
		}
		of[1+i] = v
	}
	return next, nil
}

// View is the part of the columns' ranges that a stage looks at, in halves of the ranges: so far on both
// sides of centres. Positions beyond it count as its ends.
type View struct {
	of           Columns
	centre, half []float64
	moment       []float64 // mean square that a position is expected to have
	weight       []float64 // of the square in a record's vector
	absent       []float64 // position of a missing number
}

// View returns the view of a measuring round, from 1 to rounds, which follows from the sums of earlier
// stages. variance is that of the noise on one sum, in units of the grid squared.
func (c Columns) View(state []int64, variance float64, round, rounds int) View {
	v, _ := c.look(state, variance, stage(round, rounds))
	return v
}

// look returns the view after this number of stages, and the estimates by their sums.
func (c Columns) look(state []int64, variance float64, after int) (View, []spread) {
	n := len(c.columns)
	v := View{c, make([]float64, n), slices.Repeat([]float64{1}, n),
		slices.Repeat([]float64{typical * typical}, n), slices.Repeat([]float64{squares}, n),
		make([]float64, n)}
	var known []spread
	for s := range after {
		of := state[s*(1+c.Dim()):][:1+c.Dim()]
		noise := math.Sqrt(variance * float64(of[0]))
		if records := max(float64(of[c.features]), noise); of[0] > 0 && records > 0 {
			known = v.learn(known, of[1:], records, noise)
			v = v.towards(shrunk(known))
		}
	}
	return v, known
}

// towards is the next view. The range of a column that may fill it, or may be a code,
// is looked at as a whole: about a centre, rare values would make records long, and clips would count them
// less.
func (v View) towards(known []spread) View {
	n := len(known)
	next := View{v.of, make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
		make([]float64, n)}
	for j, k := range known {
		u := k.unit()
		half := reach*u + 2*math.Sqrt(k.meanNoise)
		if half >= 1 || v.of.columns[j].code {
			next.half[j], next.weight[j] = 1, squares
			next.moment[j] = min(1, k.mean*k.mean+u*u)
			next.absent[j] = min(1, max(-1, k.mean))
			continue
		}
		next.centre[j], next.half[j] = k.mean, half
		next.moment[j] = min(1, u*u/half/half)
		next.weight[j] = squares / math.Sqrt(next.moment[j])
	}
	return next
}
