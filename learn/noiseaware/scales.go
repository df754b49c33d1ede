package noiseaware

// Scales are the standard deviations that weights are expected to have at most, by what is public of the
// data: a prior for predictions, where one of single weights may be far wider. nil is the prior of single
// weights.
type Scales []float64

// Precisions are those of n weights in predictions, at least the prior's.
func (s Scales) Precisions(prior float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = prior
		if s != nil {
			out[i] = max(prior, 1/(s[i]*s[i]))
		}
	}
	return out
}
