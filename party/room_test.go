package party

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/xof"
	"choir/protocol"
)

// TestRoomIsUsedAgainAndChangesNothing: a party makes the same contribution to the byte in
// room that another one filled before, with noise drawn ahead and without, of more
// coordinates, fewer or as many; and where the room is large enough no other is taken.
func TestRoomIsUsedAgainAndChangesNothing(t *testing.T) {
	const dim = xof.ChunkElements + 10
	for _, ahead := range []int{-1, 0} {
		for _, before := range []int{dim / 2, dim, 2 * dim} {
			room := new(Room)
			contribute := func(dim int, room *Room, sign int64) [][]byte {
				r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead, c.Room, c.Window = ahead, room, 1 })
				r.open(1)
				at := len(r.sent)
				update := someUpdate(dim)
				for i := range update {
					update[i] *= sign
				}
				r.propose(1, update)
				r.run()
				return r.contribution(at)
			}
			want, other := contribute(dim, nil, 1), contribute(before, room, -1)
			was, stored := &room.messages[0][0], &room.outbox[0]
			sameMessages(t, "in used room", contribute(dim, room, 1), want)
			if same := &room.messages[0][0] == was; same != (before >= dim) {
				t.Errorf("%d coordinates after %d: the first message is where another was: %t", dim, before, same)
			}
			if same := &room.outbox[0] == stored; same != (before >= dim) {
				t.Errorf("%d coordinates after %d: the outbox is where another was: %t", dim, before, same)
			}
			if slices.Equal(other[0], want[0]) {
				t.Error("both contributions are the same: the test shows nothing")
			}
		}
	}
}

// TestNoiseInASharedRoom: two parties of one room that have both drawn ahead contribute with
// noise of their own, each that of its seed, and send the same again.
func TestNoiseInASharedRoom(t *testing.T) {
	const dim = 50
	room := new(Room)
	var rigs []*rig
	for i := range 2 {
		rigs = append(rigs, newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Room, c.Rand = room, rand.NewChaCha8([32]byte{byte(i)}) }))
	}
	update := someUpdate(dim)
	var noises [][]int64
	for i, r := range rigs {
		want := make([]int64, dim)
		if err := r.p.noise.FillSeeded(want, r.p.nextNoise.seed); err != nil {
			t.Fatal(err)
		}
		r.open(1)
		at := len(r.sent)
		r.propose(1, update)
		first := r.contribution(at)
		noises = append(noises, r.noise(first, update))
		if !slices.Equal(noises[i], want) {
			t.Errorf("party %d contributes with other noise than its seed's", i)
		}
		at = len(r.sent)
		r.boot()
		sameMessages(t, "said again", r.contribution(at), first)
	}
	if slices.Equal(noises[0], noises[1]) {
		t.Error("two parties have the same noise")
	}
}

// TestAModelIsNotInTheRoom: what a party makes of a result stays as it is, whatever another
// party of the same room draws where the first one's noise was.
func TestAModelIsNotInTheRoom(t *testing.T) {
	const dim = 50
	room := new(Room)
	r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Room = room })
	update := someUpdate(dim)
	r.open(1)
	r.propose(1, update)
	r.run()
	if len(room.noise) == 0 {
		t.Fatal("no noise was drawn ahead: the test shows nothing")
	}
	for _, b := range r.announced(update, update) {
		r.deliver(b)
	}
	for i := range room.noise {
		room.noise[i] = 7
	}
	if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), update) {
		t.Error("the model is another one")
	}
}
