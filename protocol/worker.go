package protocol

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
)

// KindWorker is a message between a compute node and one of its workers. It is sealed under a
// key that the two share and has no signature. A message with secrets, a WorkerLinks or a
// WorkerSum, is sealed to a key of the running receiver, too: the shared key alone does not open
// it later.
const KindWorker Kind = 33

// WorkerPath is the direction of a worker message. It enters the key and the associated data.
type WorkerPath struct {
	Node   uint32 // member index
	Worker uint32 // 0 <= Worker < Of
	Of     uint32 // workers of the node, 1..Slots
	Down   bool   // from the node to the worker
}

// WorkerMessage is a message between a compute node and its workers.
type WorkerMessage interface {
	fielder
	workerType() uint8
}

// WorkerHello, worker to node: the worker has started and has nothing yet.
//
// Layout: bytes public.
type WorkerHello struct {
	Public []byte // HPKE key for the links, drawn by this process
}

// WorkerLinks, node to worker: the channel secrets of some of the worker's parties, as they are in a
// round.
//
// Layout: u32 round | u8 again | n* (u32 party | 32 secret).
type WorkerLinks struct {
	Round   uint32 // of the secrets, from 1
	Again   bool   // a party may have set up its channel again, since the node has replaced its plan key
	Parties []uint32
	Secrets []*channel.Secret // one for each party
}

// WorkerHeld, worker to node: these contributions are complete, checked and durable.
//
// Layout: n* bytes (the signed Contribution).
type WorkerHeld struct{ Contributions [][]byte }

// WorkerAsk, node to worker: asks for the sum of the shares of this part of the agreed set.
//
// Layout: u32 round | u32 attempt | n* (u32 party | 32 bundle) | bytes public.
type WorkerAsk struct {
	Round   uint32
	Attempt uint32
	Set     []Entry
	Public  []byte // HPKE key for the sum, drawn by this process
}

// WorkerSum, worker to node: a chunk of the sum that was asked for.
//
// Layout: u32 round | u32 attempt | 32 set | u32 index | 32 blinding |
// bytes elements (8 bytes each).
type WorkerSum struct {
	Round    uint32
	Attempt  uint32
	Set      Digest // SetDigest of the part that was asked for
	Index    uint32
	Blinding [32]byte // sum of the blinding shares; zero without audit
	Elements []byte
}

// WorkerEnd, node to worker: the session is over, delete everything. Layout: empty.
type WorkerEnd struct{}

func (*WorkerHello) workerType() uint8 { return 1 }
func (*WorkerLinks) workerType() uint8 { return 2 }
func (*WorkerHeld) workerType() uint8  { return 3 }
func (*WorkerAsk) workerType() uint8   { return 4 }
func (*WorkerSum) workerType() uint8   { return 5 }
func (*WorkerEnd) workerType() uint8   { return 6 }

func newWorkerMessage(t uint8) WorkerMessage {
	messages := []WorkerMessage{
		&WorkerHello{}, &WorkerLinks{}, &WorkerHeld{}, &WorkerAsk{}, &WorkerSum{}, &WorkerEnd{},
	}
	for _, m := range messages {
		if m.workerType() == t {
			return m
		}
	}
	return nil
}

// secret reports whether a message is sealed to a key of the running receiver.
func secret(m WorkerMessage) bool {
	switch m.(type) {
	case *WorkerLinks, *WorkerSum:
		return true
	}
	return false
}

func (*WorkerEnd) fields(*wire) {}

func (m *WorkerHello) fields(w *wire) { w.blob("public key", &m.Public, 4096) }

func (m *WorkerLinks) fields(w *wire) {
	if w.u32("round", &m.Round); w.err == nil && m.Round < 1 {
		w.fail("secrets of round 0")
	}
	w.flag("again", &m.Again)
	if n := w.count("links", len(m.Parties), 4+channel.SecretSize); w.reading() {
		m.Parties, m.Secrets = make([]uint32, n), make([]*channel.Secret, n)
	}
	for i := range m.Parties {
		w.u32("party", &m.Parties[i])
		secret := make([]byte, channel.SecretSize)
		if !w.reading() {
			secret = m.Secrets[i].Bytes()
		}
		w.fixed("secret", secret)
		if w.reading() && w.err == nil {
			m.Secrets[i], w.err = channel.NewSecret(secret)
		}
	}
}

func (m *WorkerHeld) fields(w *wire) {
	if n := w.count("contributions", len(m.Contributions), 4+envelopeSize); w.reading() {
		m.Contributions = make([][]byte, n)
	}
	for i := range m.Contributions {
		w.blob("contribution", &m.Contributions[i], maxBody+envelopeSize)
	}
}

func (m *WorkerAsk) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.entries("asked", &m.Set)
	w.blob("public key", &m.Public, 4096)
}

func (m *WorkerSum) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("set", m.Set[:])
	w.u32("index", &m.Index)
	w.fixed("blinding", m.Blinding[:])
	w.blob("elements", &m.Elements, xof.ChunkElements*field.ElementSize)
}

// sealedWorker is a worker message on the bus.
//
// Layout: u8 kind (33) | 32 plan id | u32 node | u32 worker | u32 of | u8 down |
// 32 salt | bytes encapsulation | bytes ciphertext. The ciphertext is that of u8 type and the message,
// one chunk under the key for everything before it.
type sealedWorker struct {
	plan       PlanID
	path       WorkerPath
	salt       [32]byte
	enc        []byte // of the receiver's key, or empty
	ciphertext []byte
}

// maxWorker bounds the ciphertext of a worker message.
const maxWorker = maxMessage

func (m *sealedWorker) fields(w *wire) {
	kind := KindWorker
	w.u8("kind", (*uint8)(&kind))
	if kind != KindWorker {
		w.fail("kind %d is not a worker message", kind)
	}
	w.fixed("plan id", m.plan[:])
	w.u32("node", &m.path.Node)
	w.u32("worker", &m.path.Worker)
	w.u32("workers", &m.path.Of)
	w.flag("down", &m.path.Down)
	w.fixed("salt", m.salt[:])
	w.blob("encapsulation", &m.enc, 4096)
	w.blob("ciphertext", &m.ciphertext, maxWorker)
}

// box returns the AEAD of the message. link is the secret of the encapsulation, nil if there is none.
func (m *sealedWorker) box(secret, link *channel.Secret) (*channel.Box, error) {
	ctx := append(pathContext(m.plan, m.path), m.salt[:]...)
	key := secret.Derive(workerKey, append(ctx, m.enc...))
	if link != nil {
		key = link.Derive(workerKey, key[:])
	}
	return channel.NewBox(key, slices.Concat([]byte("choir v1 worker\x00"), ctx, m.enc))
}

func pathContext(plan PlanID, p WorkerPath) []byte {
	ctx := slices.Clone(plan[:])
	for _, v := range []uint32{p.Node, p.Worker, p.Of} {
		ctx = binary.BigEndian.AppendUint32(ctx, v)
	}
	if p.Down {
		return append(ctx, 1)
	}
	return append(ctx, 0)
}

// WorkerLink is an encapsulation to a key of the receiver's process, and its secret. Many messages may
// be sealed to one.
type WorkerLink struct {
	Enc    []byte
	Secret *channel.Secret
}

// WorkerInfo is the HPKE info string of a link for messages on a path.
func (s BoundPlan) WorkerInfo(p WorkerPath) []byte {
	return append([]byte("choir v1 worker link\x00"), pathContext(s.ID, p)...)
}

// WorkerSecret derives the key that a node shares with one of its workers from the node's own.
func WorkerSecret(node *channel.Secret, worker uint32) *channel.Secret {
	key := node.Derive(oneWorkerKey, u32bytes(worker))
	secret, _ := channel.NewSecret(key[:]) // its length is right
	return secret
}

// WorkerOfMessage returns the worker whose key a message between a node and a worker claims to be
// sealed under.
func WorkerOfMessage(data []byte) (uint32, error) {
	const at = 1 + 32 + 4 // kind, plan, node
	if len(data) < at+4 {
		return 0, fmt.Errorf("%w: worker message of %d bytes", ErrMalformed, len(data))
	}
	return binary.BigEndian.Uint32(data[at:]), nil
}

// SealWorker seals a worker message under the secret that the node and its worker share, and one with
// secrets to the link, which is nil for the others. The salt, drawn from r, gives each message a key for
// itself.
func (s BoundPlan) SealWorker(
	key *channel.Secret, path WorkerPath, m WorkerMessage, link *WorkerLink, r io.Reader,
) ([]byte, error) {
	body, err := marshal(m)
	if err != nil {
		return nil, fmt.Errorf("seal %T: %w", m, err)
	}
	if secret(m) != (link != nil) {
		return nil, fmt.Errorf("seal %T: %w: with or without a link", m, ErrMalformed)
	}
	out := &sealedWorker{plan: s.ID, path: path}
	var shared *channel.Secret
	if link != nil {
		out.enc, shared = link.Enc, link.Secret
	}
	if _, err := io.ReadFull(r, out.salt[:]); err != nil {
		return nil, fmt.Errorf("seal %T: salt: %w", m, err)
	}
	box, err := out.box(key, shared)
	if err != nil {
		return nil, fmt.Errorf("seal %T: %w", m, err)
	}
	out.ciphertext = box.Seal(nil, 0, true, append([]byte{m.workerType()}, body...))
	return marshal(out)
}

// OpenWorker is the inverse of SealWorker; accept returns the secret of an encapsulation. The path is
// authentic; the receiver must check that it is one of the paths to itself.
func (s BoundPlan) OpenWorker(
	key *channel.Secret, data []byte, accept func(p WorkerPath, enc []byte) (*channel.Secret, error),
) (WorkerPath, WorkerMessage, error) {
	in := new(sealedWorker)
	if err := unmarshal("worker message", data, in); err != nil {
		return WorkerPath{}, nil, err
	}
	if in.plan != s.ID {
		return WorkerPath{}, nil, fmt.Errorf("%w: plan %s, not %s", ErrWrongPlan, in.plan.Short(), s.ID.Short())
	}
	var link *channel.Secret
	if len(in.enc) > 0 {
		var err error
		if link, err = accept(in.path, in.enc); err != nil {
			return WorkerPath{}, nil, err
		}
	}
	box, err := in.box(key, link)
	if err != nil {
		return WorkerPath{}, nil, err
	}
	plain, err := box.Open(nil, 0, true, in.ciphertext)
	if err != nil && link != nil {
		return WorkerPath{}, nil, fmt.Errorf("%w: worker message to another process, or false", ErrStale)
	}
	if err != nil || len(plain) == 0 {
		return WorkerPath{}, nil, fmt.Errorf("%w: worker message", ErrSealed)
	}
	m := newWorkerMessage(plain[0])
	if m == nil || secret(m) != (link != nil) {
		return WorkerPath{}, nil, fmt.Errorf("%w: worker message of type %d", ErrMalformed, plain[0])
	}
	return in.path, m, unmarshal("worker message", plain[1:], m)
}

// IsWorker reports whether a message is a worker message, by its first byte.
func IsWorker(b []byte) bool { return len(b) > 0 && Kind(b[0]) == KindWorker }

// WorkerOf returns the worker of a node that receives a party's contributions.
func WorkerOf(party, of uint32) uint32 { return slotOf(party) * of / Slots }

// SubjectWorker is the subject of a worker message.
func (s BoundPlan) SubjectWorker(p WorkerPath) string {
	if p.Down {
		return s.subject("work.%s.%d.down", s.name(p.Node), p.Worker)
	}
	return s.subject("work.%s.%d.up", s.name(p.Node), p.Worker)
}

// WorkerFilters returns the subjects to which a worker subscribes: what its parties send, and
// its node's messages.
func (s BoundPlan) WorkerFilters(p WorkerPath) []string {
	p.Down = true
	f := []string{s.SubjectControl(), s.SubjectWorker(p)}
	for slot := range uint32(Slots) {
		if slot*p.Of/Slots == p.Worker {
			f = append(f, s.subject("share.%d.*.%s.>", slot, s.name(p.Node)), s.subject("commit.%d.>", slot))
		}
	}
	return f
}

// GroupFilters returns the subjects to which a compute node with workers subscribes: all but
// what its workers receive, and what they send.
func (s BoundPlan) GroupFilters(node uint32) []string {
	me := s.name(node)
	return []string{s.SubjectControl(), s.subject("agree.>"), s.subject("key.%s", s.name(s.Plan.Aggregator())),
		s.subject("open.*.%s", me), s.subject("hold.>"), s.subject("result.*.*.head"),
		s.subject("psum.%s.*.*.head", me), s.subject("work.%s.*.up", me)}
}
