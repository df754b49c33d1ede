// Package bayes is what all ways of learning have in common: the records, the likelihood of a model,
// and the Gaussian posterior over its weights, which predicts. How a posterior was learnt is not recorded.
// docs/noise-aware.md has what it knows of single weights.
package bayes
