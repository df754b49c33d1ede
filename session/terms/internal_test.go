package terms

// What the external tests of this package use of it.
var (
	NoiseUseOf  = noiseUse
	SolveRounds = solveRounds
	Base        = Terms.base
)
