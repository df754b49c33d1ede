package protocol

import "context"

// Machine is a role as a deterministic state machine. It reads no clock and does no I/O, and
// its random numbers come from the reader that it was given. It may run a computation on
// several goroutines within a step; none of them outlives the step.
//
// The driver handles the effects of each step in this order:
//
//  1. make Persist durable, all of it or nothing;
//  2. then pass Send to the bus, in order; Propose may start at once, since it leads to
//     nothing but a Proposal;
//  3. call Step with a Tick no later than Wake;
//  4. when Done is set, stop: Err is the cause, nil for a session that completed.
//
// A driver may combine several steps before 1 if it sends nothing of any of them before the
// Persist of all of them is durable; Delivery.More tells the machine that it does. After a
// crash the driver makes the machine from what was persisted, and its first event is Start.
// Messages may be delivered again, late or in another order.
type Machine interface {
	Step(now int64, ev Event) Effects // now in unix milliseconds, never decreasing
}

// Transition is a legal transition of a role between its states, as in docs/protocol.md. On
// is its cause.
type Transition struct{ From, To, On string }

// Event is an input of a machine: Start, CaughtUp, Tick, Delivery or Proposal.
type Event interface{ event() }

// Start is a machine's first event in a process, also after a restart.
type Start struct {
	// Behind reports that the bus may have messages from before the start that the machine
	// has not been given. Until CaughtUp the machine sends nothing new that it could not take
	// back: a member whose store was rolled back reads its own later messages first, and stops.
	Behind bool
}

// CaughtUp reports that every message that the bus had at the start has been delivered.
type CaughtUp struct{}

// Tick reports that time has passed.
type Tick struct{}

// Delivery is an untrusted message from the bus.
type Delivery struct {
	Data []byte
	// More reports that another Delivery follows at once. A machine may defer work that is
	// cheaper for several messages together.
	More bool
}

// Proposal is the update that a party computed for an attempt, as Effects.Propose asked. If
// the computation failed, Err is set instead.
type Proposal struct {
	Round   uint32
	Attempt uint32
	Update  []int64 // grid units, clipped, without noise
	Memo    []byte  // input of the application's Settle if the update is accepted
	Err     error
}

func (Start) event()    {}
func (CaughtUp) event() {}
func (Tick) event()     {}
func (Delivery) event() {}
func (Proposal) event() {}

// Record is a change of the store. A nil Value deletes the key.
type Record struct {
	Key   string
	Value []byte
	// Erase reports that the value before is a secret that must not stay readable: a store on a
	// disk overwrites it when the transaction is durable.
	Erase bool
}

// Outgoing is a message for the bus.
type Outgoing struct {
	Subject string
	Data    []byte
}

// Work asks a party's driver to compute an update, which comes back as a Proposal.
type Work struct {
	Round   uint32
	Attempt uint32
	Model   []int64 // the public model before the round, grid units
	State   []byte  // the application's private state
	// Opened are the sums of all accepted rounds before, if the party keeps them.
	Opened []Opened
}

// Effects is what a step asks of the driver.
type Effects struct {
	Persist []Record
	Send    []Outgoing
	Propose *Work
	Wake    int64 // unix milliseconds of the next Tick; 0: none is needed
	// Ahead are long values that a later step is expected to persist, unchanged and in the
	// same memory. A driver may write them to the disk in advance; they count only once
	// they are in Persist.
	Ahead   [][]byte
	Notices []Notice
	Done    bool
	Err     error
}

// Put stores a value.
func (e *Effects) Put(key string, value []byte) {
	if value == nil {
		value = []byte{}
	}
	e.Persist = append(e.Persist, Record{Key: key, Value: value})
}

// Replace stores a secret, or deletes it if value is nil, and erases the one before.
func (e *Effects) Replace(key string, value []byte) {
	e.Persist = append(e.Persist, Record{Key: key, Value: value, Erase: true})
}

// Delete deletes a key.
func (e *Effects) Delete(key string) { e.Persist = append(e.Persist, Record{Key: key}) }

// Emit sends a message.
func (e *Effects) Emit(subject string, data []byte) {
	e.Send = append(e.Send, Outgoing{subject, data})
}

// Note adds a notice.
func (e *Effects) Note(n Notice) { e.Notices = append(e.Notices, n) }

// Finish ends the machine. err is nil for a session that completed.
func (e *Effects) Finish(err error) { e.Done, e.Err = true, err }

// Code is the kind of a notice. Operators and tests match on it.
type Code string

const (
	NoteRefused     Code = "refused"      // a message was rejected: Err is the cause, Peer the claimed sender
	NoteJoined      Code = "joined"       // a channel to Peer was set up
	NoteRound       Code = "round"        // an attempt was opened
	NoteContributed Code = "contributed"  // this party sends its contribution
	NoteReceipt     Code = "receipt"      // Peer has this party's contribution
	NoteHeld        Code = "held"         // this node has Peer's contribution; Count of Total
	NoteAgreed      Code = "agreed"       // this node signed a set of Count parties
	NoteRevealed    Code = "revealed"     // this node revealed its partial sum
	NoteResult      Code = "result"       // the attempt has an outcome; Count parties in the set
	NoteUncounted   Code = "uncounted"    // the result does not count this party
	NoteCompleted   Code = "completed"    // the plan's last round is settled
	NoteDisagree    Code = "disagreement" // nodes signed different sets
)

// Notice is a report to the operator. It has no secrets and nothing derived from private data.
type Notice struct {
	Code    Code
	Round   uint32
	Attempt uint32
	Peer    string // another member's name, if the notice is about one
	Count   int
	Total   int
	Detail  string
	Err     error
}

// View reads the machine's own store. Values must not be modified.
type View interface {
	Get(key string) []byte
	Keys(prefix string) []string // in increasing order
}

// Model is the public part of an application: what every member recomputes from the revealed
// sums. It must be deterministic.
type Model interface {
	// Initial returns the model before round 1.
	Initial() []int64
	// Fold returns the model after a round whose decoded sum was accepted. It does not modify
	// model and sum and may return either; they are not modified afterwards.
	Fold(round uint32, model, sum []int64) ([]int64, error)
}

// Application is a party's side of an application: the model, and the party's private state.
// Settle returns the state after a round that counted the party. It must be deterministic and
// use the update without its noise: adding the party's own noise to its state would spend
// privacy budget that is not accounted for.
type Application interface {
	Model
	InitialState() []byte
	Settle(round uint32, state, memo []byte) ([]byte, error)
}

// Proposer computes a party's update. The driver runs it concurrently with the machine, since
// it may take long.
type Proposer interface {
	Propose(ctx context.Context, w Work) (update []int64, memo []byte, err error)
}
