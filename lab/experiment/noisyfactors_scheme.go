package experiment

import "math"

// scheme is partitioned variational inference on one natural parameter, with a
// factor a client, exact local updates, clipping at C = 1, joint noise and damping.
// Clients have data that ask for a total of 0 but for the victim, whose data ask
// for more than any clip lets through, in one direction or the other; the prior is
// 0. It publishes every round's sum, as a secure sum would.
type scheme struct {
	factors, rounds int
	damping         float64 // a
	sigma           float64 // deviation of a round's noise on the sum, in clips
	noisy           bool    // factors include their share of the noise: the published scheme; else ours
}

// noises are one run's: the victim's shares and the sums of the others', by round.
type noises struct{ own, rest []float64 }

func (s scheme) noises() noises { return noises{make([]float64, s.rounds), make([]float64, s.rounds)} }

// draw fills in fresh noise: a share has variance sigma^2 / M.
func (s scheme) draw(n noises, from *normals) {
	share := s.sigma / math.Sqrt(float64(s.factors))
	others := share * math.Sqrt(float64(s.factors-1))
	for r := range s.rounds {
		n.own[r], n.rest[r] = share*from.normal(), others*from.normal()
	}
}

// play runs the scheme with the others' factors as their sum, which is enough as
// long as none of their updates is clipped: the exact update of a factor t_j whose
// data ask for A_j is A_j - t_j, linear. It sets sums to what is published; the
// victim's updates are +1 or -1.
func (s scheme) play(victim float64, n noises, sums []float64) {
	others := 0.0 // sum of the others' factors
	for r := range s.rounds {
		update := -others
		sums[r] = update + n.rest[r] + victim + n.own[r]
		if s.noisy {
			update += n.rest[r]
		}
		others += s.damping * update
	}
}

// playEach runs the scheme factor by factor, every update clipped, on noise that it
// draws and leaves in n. It returns how many of the others' updates the clip cut,
// and the largest of them before the cut, in clips.
func (s scheme) playEach(victim float64, from *normals, n noises, sums []float64) (cut int, largest float64) {
	t, share := make([]float64, s.factors), s.sigma/math.Sqrt(float64(s.factors))
	for r := range s.rounds {
		sums[r], n.rest[r] = 0, 0
		for j := range t {
			asked := -t[j]
			if j == 0 {
				asked = victim * math.MaxFloat32
			} else if largest = max(largest, math.Abs(asked)); math.Abs(asked) > 1 {
				cut++
			}
			update, noise := max(-1, min(1, asked)), share*from.normal()
			sums[r] += update + noise
			if j == 0 {
				n.own[r] = noise
			} else {
				n.rest[r] += noise
			}
			if s.noisy {
				update += noise
			}
			t[j] += s.damping * update
		}
	}
	return cut, largest
}

// seen is the adversary's statistic, from the published sums alone. It knows the
// others' data, as differential privacy lets it. Under the published scheme it adds
// the public parameter's value before each round, which takes the others' answers
// to old noise out again (docs/noisy-factors.md, equation 4). Under ours the
// others' updates are known to it and 0, and the plain sum is sufficient.
func (s scheme) seen(sums, weights []float64) (x float64) {
	public := 0.0
	for r, y := range sums {
		if s.noisy {
			x += weights[r] * (y + public)
		} else {
			x += y
		}
		public += s.damping * y
	}
	return x
}
