package task

import (
	"time"

	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// Terms are those of a plan of parties and three compute nodes at (epsilon, 1e-5), with noise that all
// parties add together, or that each adds for itself.
func Terms(name string, parties int, epsilon float64, local bool) (terms.Terms, error) {
	roster, err := run.NewRoster(nil, parties, 3)
	if err != nil {
		return terms.Terms{}, err
	}
	noise := protocol.NoiseParty
	if local {
		noise = protocol.NoiseLocal
	}
	return terms.Terms{Name: name, Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Deadline: time.Minute, Grace: time.Second, Noise: noise, Epsilon: epsilon, Delta: 1e-5}, nil
}
