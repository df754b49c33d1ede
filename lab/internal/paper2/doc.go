// Package paper2 repeats [DP-MCMC]: its accounting and the tight one, its mixture, the
// coverage of intervals on Adult, and the banana of [RKH21].
package paper2

import "choir/lab/study"

// Studies are the package's studies.
func Studies() []study.Study {
	return []study.Study{
		{Name: "paper2-figure1", About: "the published epsilon of subsampled DP-MCMC beside the tight one, and " +
			"the same chain on all records", Run: figure1},
		{Name: "paper2-mixture", About: "the mixture of Paper II: Barker's test as published, the penalty test, " +
			"and the posterior of all records at epsilon 1", Run: mixture},
		{Name: "mcmc-adult", About: "coverage of posterior intervals on Adult at epsilon 1 by 100 rounds of " +
			"noisy ratios over the secure sum; 30 draws of data and noise a seed", Run: adult},
		{Name: "mcmc-banana", About: "a curved posterior by the penalty test and by Hamiltonian Monte Carlo, " +
			"epsilon 4 to 10", Run: banana},
	}
}
