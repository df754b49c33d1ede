// Package mcmc draws from the posterior of logistic regression by Markov chain Monte Carlo
// whose log-likelihood ratios and gradients are revealed as noisy sums only ([DP-MCMC],
// [YE19], [RKH21]), and infers a posterior from the ratios themselves (the trace
// posterior of docs/mcmc.md).
//
// # A round
//
// A [Sampler] is a public state machine. From the state it determines a [Query]; a
// [Learner] answers it for every record of one party, with the answer clipped to the
// query's bound in one L2 norm over all coordinates, and sends the sum on a grid; and Fold,
// given the noisy sum over all parties, takes the next step. A party keeps no private state.
// Proposals, uniforms and other public draws are expanded from the plan's identity and a hash
// of the sums so far, so that every member computes the same chain, and who makes the plan
// can't choose it.
//
// # Rounds by stage
//
// The first ScaleRounds sum x x' and give the units of everything that follows: in the
// coordinates phi of w = F'^-1 phi with F F' = X'X/4 + prior, a step of length 1 is at
// most one posterior standard deviation. LocateRounds then move from 0 towards the mode by
// gradients, and with Trace CurvatureRounds sum p(1-p) x x'. All others are the sampler's.
//
// # Noise is part of the test
//
// The noise of all parties is in every sum. Its variance, which the plan fixes, enters the
// acceptance test. Privacy counts the part that colluders cannot subtract; the test counts
// all. A party that fails removes its records and its noise, so the chain would target
// another posterior under another test: every round needs all parties.
//
// # Neighbours
//
// Replace-one. An answer has integer norm at most B, so one record moves a sum by at most
// 2B: see [Config.Sensitivity]. Sums of products are bounded as those of package stats.
//
// # Determinism
//
// Query and Fold use additions, multiplications, divisions and square roots, each rounded
// separately, and functions made of these. The posterior is computed from the state
// afterwards, by each member for itself.
package mcmc
