package simulate

import "choir/protocol"

// Profile is the probabilities of the faults, each per opportunity.
type Profile struct {
	Name    string
	FaultMS int64 // virtual ms in which faults happen

	Lose   float64 // a publish attempt is lost
	Twice  float64 // a publish is stored twice
	Forge  float64 // the broker adds an altered copy
	Delay  float64 // a delivery is late, overtaken by others
	Again  float64 // a delivery is repeated
	Hole   float64 // a stored message is never delivered to one listener; the session may then not end
	Batch  float64 // several messages share a transaction
	Think  float64 // a party is slow to compute
	Crash  float64 // a process dies around a batch
	Replay float64 // a restarted process reads all messages again
	Rewind float64 // a crashed process restarts from an older copy of its store
	Split  float64 // one listener gets another message than the others; the session may then not end
	Lie    float64 // a member of a drawn coalition follows a row of the table of cheats

	Cut   float64 // a member is cut off for a while
	Slow  float64 // a member is slow with every batch
	Skew  float64 // a member's clock is wrong
	Late  float64 // a member starts late
	Leave float64 // a party leaves, for good or for a while

	Tight bool  // often N_min = N
	Wide  bool  // vectors of several chunks
	Shape Shape // of the sessions; the zero value: each draws its own
}

// Profiles are the profiles by name, in order of unpleasantness.
func Profiles() []Profile {
	return []Profile{
		{Name: "calm", FaultMS: 3000, Delay: .3, Batch: .1},
		{Name: "lossy", FaultMS: 3000, Lose: .1, Twice: .05, Delay: .3, Again: .1, Batch: .1, Forge: .02},
		{Name: "crashes", FaultMS: 3000, Delay: .2, Again: .02, Batch: .2, Crash: .04, Replay: .2, Think: .1},
		{Name: "partitions", FaultMS: 3000, Delay: .3, Batch: .1, Cut: .4, Slow: .2, Skew: .3, Late: .2, Think: .1,
			Tight: true},
		{Name: "dropouts", FaultMS: 3000, Delay: .2, Batch: .1, Late: .3, Leave: .5, Skew: .1, Think: .3,
			Crash: .01},
		{Name: "chaos", FaultMS: 3000, Lose: .05, Twice: .03, Forge: .03, Delay: .4, Again: .1, Batch: .2,
			Think: .2,
			Crash: .02, Replay: .2, Cut: .2, Slow: .1, Skew: .2, Late: .1, Leave: .2, Tight: true},
		{Name: "holes", FaultMS: 3000, Hole: .05, Delay: .3, Again: .05, Batch: .1, Crash: .01, Replay: .3,
			Forge: .02},
		{Name: "splits", FaultMS: 3000, Split: .02, Delay: .3, Again: .05, Batch: .1, Crash: .01, Replay: .3},
		{Name: "liars", FaultMS: 3000, Lie: .04, Split: .01, Delay: .3, Again: .05, Batch: .1, Crash: .01,
			Replay: .2, Lose: .02, Leave: .1},
		{Name: "rewinds", FaultMS: 3000, Delay: .2, Again: .02, Batch: .2, Crash: .01, Rewind: .5, Think: .1},
		{Name: "wide", FaultMS: 3000, Lose: .05, Delay: .3, Again: .05, Batch: .2, Crash: .02, Wide: true},
	}
}

// ProfileByName finds a profile.
func ProfileByName(name string) (Profile, bool) {
	for _, p := range Profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// Shape is the members of a session, how many parties its sets have at least, and who adds noise.
type Shape struct {
	Parties    int // at least 2; 0: no shape
	Computes   int
	MinParties int
	Noise      protocol.Placement // NoiseLocal is part of the updates, and so none here
}

// apply gives a drawn setup the shape.
func (h Shape) apply(s *Setup) {
	if h.Parties == 0 {
		return
	}
	s.Parties, s.Computes, s.MinParties, s.Noise = h.Parties, h.Computes, max(2, h.MinParties), h.Noise
	if h.Noise == protocol.NoiseLocal {
		s.Noise = protocol.NoiseNone
	}
	s.Audit = s.Audit && s.Noise != protocol.NoiseCompute
	s.Paired = s.Paired && s.Parties <= pairedParties
	s.Dim = max(s.Dim, s.digits())
}

// pairedParties is how many parties' updates fit two coordinates in an element.
const pairedParties = 12

// Check names a number that is out of range.
func (h Shape) Check() error {
	switch {
	case h.Parties < 2 || h.Parties > mostParties:
		return protocol.Fail(protocol.ClassInput, "parties: %d isn't in 2..%d", h.Parties, mostParties)
	case h.Computes < 2 || h.Computes > mostParties:
		return protocol.Fail(protocol.ClassInput, "nodes: %d isn't in 2..%d", h.Computes, mostParties)
	case h.MinParties < 1 || h.MinParties > h.Parties:
		return protocol.Fail(protocol.ClassInput, "dropouts: %d parties can't be missing of %d",
			h.Parties-h.MinParties, h.Parties)
	}
	return nil
}

// mostParties is the largest number of parties or compute nodes that sessions are simulated with.
const mostParties = 200
