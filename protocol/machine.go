package protocol

import "context"

// Machine is a role: a deterministic state machine. It reads no clock, starts
// no goroutine and does no I/O; whatever it draws at random comes from the
// reader it was given.
//
// The driver's duties, in this order, for the effects of each step:
//
//  1. make Persist durable, all of it or nothing;
//  2. only then hand Send to the bus, in order; Propose may start at once, since all
//     that comes of it is a Proposal;
//  3. call Step with a Tick no later than Wake;
//  4. when Done is set, stop: Err says why, nil for a session that completed.
//
// Several steps may be put together before 1 as long as no Send of any of them
// leaves before the Persists of all of them are durable; Delivery.More tells the
// machine of it. A driver that dies
// anywhere builds the machine anew from what was persisted and starts with
// Start; messages may be delivered again, late or in another order.
type Machine interface {
	Step(now int64, ev Event) Effects // now in unix milliseconds, never decreasing
}

// Transition is one legal move of a role between its states, as the role's own
// table and docs/protocol.md list them. On says what leads to it.
type Transition struct{ From, To, On string }

// Event is what can happen to a machine: Start, Tick, Delivery or Proposal.
type Event interface{ event() }

// Start is a machine's first event in a process, after a crash as well.
type Start struct{}

// Tick says that time has passed.
type Tick struct{}

// Delivery is a message from the bus, not to be trusted.
type Delivery struct {
	Data []byte
	// More: another Delivery follows at once. What costs little more for many messages
	// than for one, a machine may leave to the last.
	More bool
}

// Proposal is a party's locally computed update for an attempt: what
// Effects.Propose asked for. Err is set instead when the computation failed.
type Proposal struct {
	Round   uint32
	Attempt uint32
	Update  []int64 // grid units, clipped, without noise
	Memo    []byte  // what the application's Settle needs if the update is accepted
	Err     error
}

func (Start) event()    {}
func (Tick) event()     {}
func (Delivery) event() {}
func (Proposal) event() {}

// Record is one durable fact; a nil Value deletes the key.
type Record struct {
	Key   string
	Value []byte
}

// Outgoing is a message for the bus.
type Outgoing struct {
	Subject string
	Data    []byte
}

// Work asks a party's driver to compute an update and to answer with a
// Proposal.
type Work struct {
	Round   uint32
	Attempt uint32
	Model   []int64 // the public model before the round, grid units
	State   []byte  // the application's private state
}

// Effects is what a step asks of the driver.
type Effects struct {
	Persist []Record
	Send    []Outgoing
	Propose *Work
	Wake    int64 // unix milliseconds; 0: only another event matters
	// Ahead are long values that a step to come is expected to persist, as they are now
	// and in the same memory: a driver may bring them to the disk already. Nothing follows
	// from them before they are persisted.
	Ahead   [][]byte
	Notices []Notice
	Done    bool
	Err     error
}

// Put adds a durable fact.
func (e *Effects) Put(key string, value []byte) {
	if value == nil {
		value = []byte{}
	}
	e.Persist = append(e.Persist, Record{key, value})
}

// Delete removes a durable fact.
func (e *Effects) Delete(key string) { e.Persist = append(e.Persist, Record{key, nil}) }

// Emit adds a message.
func (e *Effects) Emit(subject string, data []byte) {
	e.Send = append(e.Send, Outgoing{subject, data})
}

// Note adds a notice.
func (e *Effects) Note(n Notice) { e.Notices = append(e.Notices, n) }

// Finish ends the machine; nil for a session that completed.
func (e *Effects) Finish(err error) { e.Done, e.Err = true, err }

// Code names what a notice tells; operators and tests match on it.
type Code string

const (
	NoteRefused     Code = "refused"      // a message was refused; Err and Peer say why and whose
	NoteJoined      Code = "joined"       // a channel was set up with Peer
	NoteRound       Code = "round"        // an attempt opened
	NoteContributed Code = "contributed"  // this party's contribution is on its way
	NoteReceipt     Code = "receipt"      // Peer holds this party's contribution
	NoteHeld        Code = "held"         // this node holds Peer's contribution; Count of Total
	NoteAgreed      Code = "agreed"       // this node signed a set of Count
	NoteRevealed    Code = "revealed"     // this node revealed its partial sum
	NoteResult      Code = "result"       // the attempt's outcome; Count parties in the set
	NoteUncounted   Code = "uncounted"    // the result doesn't count this party
	NoteCompleted   Code = "completed"    // the plan's last round is settled
	NoteDisagree    Code = "disagreement" // nodes signed different sets
)

// Notice is something an operator may want to know. It never carries a
// secret, nor anything derived from private data.
type Notice struct {
	Code    Code
	Round   uint32
	Attempt uint32
	Peer    string // the other member's name, where one is meant
	Count   int
	Total   int
	Detail  string
	Err     error
}

// View reads what the machine itself persisted, its long memory. Values must
// not be modified.
type View interface {
	Get(key string) []byte
	Keys(prefix string) []string // in increasing order
}

// Model is the public part of an application: what everybody recomputes from
// the revealed sums. It must be deterministic.
type Model interface {
	// Initial is the model before round 1.
	Initial() []int64
	// Fold is the model after a round whose decoded sum was accepted. It changes neither
	// model nor sum and may return either; nobody changes them afterwards.
	Fold(round uint32, model, sum []int64) ([]int64, error)
}

// Application is a party's side: the model and the private state that goes
// with it. Settle must be deterministic and take in the update without noise
// (DESIGN decision 10).
type Application interface {
	Model
	InitialState() []byte
	Settle(round uint32, state, memo []byte) ([]byte, error)
}

// Proposer computes a party's update; it may take long, so the driver runs it
// beside the machine.
type Proposer interface {
	Propose(ctx context.Context, w Work) (update []int64, memo []byte, err error)
}
