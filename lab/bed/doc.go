// Package bed runs sessions for experiments: every role in this process, over the
// memory transport or an embedded NATS server, with all keys, plans, shares and noise
// as in earnest, but with randomness that is a function of a seed, so that whoever
// repeats an experiment gets its figures.
//
// The randomness protects nobody: the data sets of the experiments are public. Nothing outside of
// experiments may use it.
package bed
