package pvi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"choir/learn/gauss"
)

// sequential is one party a round, in turn.
func sequential(parties int) Schedule {
	return func(round int) []int { return []int{(round - 1) % parties} }
}

// subsetsOf is size parties a round, each set of that many equally likely (up to
// 2^-40), drawn from a public seed.
func subsetsOf(parties, size int, seed [32]byte) (Schedule, error) {
	if size < 1 || size > parties {
		return nil, fmt.Errorf("%w: subsets of %d out of %d parties", ErrConfig, size, parties)
	}
	return func(round int) []int {
		all := make([]int, parties)
		for i := range all {
			all[i] = i
		}
		for i := range size {
			j := i + int(uniform(seed, round, i)*float64(parties-i))
			all[i], all[j] = all[j], all[i]
		}
		slices.Sort(all[:size])
		return all[:size]
	}, nil
}

// everySchedule is each kind of schedule over four parties.
func everySchedule(t testing.TB) map[string]Schedule {
	t.Helper()
	subsets, err := subsetsOf(4, 2, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	arrivals, err := Asynchronous([]int{10, 17, 24, 31}, [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Schedule{"synchronous": nil, "sequential": sequential(4), "subsets": subsets,
		"asynchronous": arrivals}
}

// Without privacy every schedule ends at the exact posterior of linear regression: to 1e-9
// in floating point, and on the grid to half a unit of 2^-34 a party. In one dimension the
// mean-field family is the same model (the case study of [Thesis]).
func TestSchedulesReachTheExactPosterior(t *testing.T) {
	for name, schedule := range everySchedule(t) {
		t.Run(name, func(t *testing.T) {
			for _, features := range []int{1, 3} {
				c := linearConfig(gauss.Full)
				c.Features = features
				c.FracBits = 34
				c.DampingBits = 10
				ls, all := parties(t, c, 4)
				course := course{Rounds: 400, Schedule: schedule, Tolerance: 1e-10, Window: 40}
				post, rounds, err := runRealCourse(context.Background(), c, ls, course)
				if err != nil {
					t.Fatal(err)
				}
				h, last, err := runCourse(context.Background(), c, ls, course)
				if err != nil {
					t.Fatal(err)
				}
				if rounds >= 400 || last >= 400 {
					t.Errorf("no end after %d and %d rounds", rounds, last)
				}
				grid, want := c.Reals(h.Final()), exactPosterior(c, all)
				for i := range want {
					if math.Abs(post.Natural()[i]-want[i]) > 1e-9 || math.Abs(grid[i]-want[i]) > 1e-9 {
						t.Errorf("%d features, coordinate %d: %v and %v, want %v", features, i,
							post.Natural()[i], grid[i], want[i])
					}
				}
			}
		})
	}
}

// Damped runs converge to it too, with constant or decreasing damping (where the remaining
// distance is a power of the round: 16^-15 or so after 1500 of them).
func TestDampedSchedulesConverge(t *testing.T) {
	for name, schedule := range everySchedule(t) {
		t.Run(name, func(t *testing.T) {
			for decay, tolerance := range map[float64]float64{0: 1e-9, 0.01: 1e-6} {
				c := linearConfig(gauss.Full)
				c.Damping, c.DampingDecay = 0.4, decay
				ls, all := parties(t, c, 4)
				post, _, err := runRealCourse(context.Background(), c, ls,
					course{Rounds: 1500, Schedule: schedule})
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range exactPosterior(c, all) {
					if math.Abs(post.Natural()[i]-want) > tolerance*(1+math.Abs(want)) {
						t.Errorf("decay %v, coordinate %d: %v, want %v", decay, i, post.Natural()[i],
							want)
					}
				}
			}
		})
	}
}

// A run that is resumed at any round equals an uninterrupted one.
func TestResume(t *testing.T) {
	c := logisticConfig()
	ls, _ := parties(t, c, 4)
	for name, schedule := range everySchedule(t) {
		t.Run(name, func(t *testing.T) {
			whole, _, err := runCourse(context.Background(), c, ls, course{Rounds: 9, Schedule: schedule})
			if err != nil {
				t.Fatal(err)
			}
			for stop := range 9 {
				h, _, err := runCourse(context.Background(), c, ls, course{Rounds: stop, Schedule: schedule})
				if err != nil {
					t.Fatal(err)
				}
				last := History{Raw: [][]int64{h.Final()}, States: h.States}
				rest, end, err := resume(context.Background(), c, ls, last, stop,
					course{Rounds: 9, Schedule: schedule})
				if err != nil || end != 9 || !slices.Equal(rest.Final(), whole.Final()) {
					t.Errorf("from round %d: round %d, %v", stop, end, err)
				}
			}
		})
	}
}

// The asynchronous schedule draws in inverse proportion to sizes, subsets draw alike:
// frequencies within six standard errors.
func TestScheduleFrequencies(t *testing.T) {
	const rounds = 20000
	all := everySchedule(t)
	count := func(s Schedule) (n [4]float64) {
		for round := 1; round <= rounds; round++ {
			for _, i := range s(round) {
				n[i]++
			}
		}
		return n
	}
	total := 1.0/10 + 1.0/17 + 1.0/24 + 1.0/31
	for i, n := range count(all["asynchronous"]) {
		p := 1 / float64(10+7*i) / total
		if math.Abs(n-rounds*p) > 6*math.Sqrt(rounds*p*(1-p)) {
			t.Errorf("party %d: %v of %d rounds, want a share of %v", i, n, rounds, p)
		}
	}
	for i, n := range count(all["subsets"]) {
		if math.Abs(n-rounds/2) > 6*math.Sqrt(rounds)/2 {
			t.Errorf("party %d: in %v of %d subsets", i, n, rounds)
		}
	}
	if got := []int{all["sequential"](1)[0], all["sequential"](4)[0],
		all["sequential"](5)[0]}; !slices.Equal(got, []int{0, 3, 0}) {
		t.Errorf("in turn: %v", got)
	}
}

func TestScheduleRefusals(t *testing.T) {
	if _, err := subsetsOf(3, 4, [32]byte{}); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	if _, err := Asynchronous([]int{3, 0}, [32]byte{}); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	if _, err := Asynchronous(nil, [32]byte{}); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	c := linearConfig(gauss.Full)
	ls, _ := parties(t, c, 2)
	for _, set := range [][]int{{}, {1, 1}, {1, 0}, {2}, {-1}} {
		course := course{Rounds: 1, Schedule: func(int) []int { return set }}
		if _, _, err := runCourse(context.Background(), c, ls, course); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", set, err)
		}
		if _, _, err := runRealCourse(context.Background(), c, ls, course); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", set, err)
		}
	}
	if _, _, err := runRealCourse(context.Background(), c, ls,
		course{Rounds: 1, Noise: func(int, int) []int64 { return nil }}); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
