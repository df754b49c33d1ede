package mix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/internal/parallel"
	"choir/protocol"
)

// The contexts of keys and digests; see package blake.
const (
	layerKey       = "choir v1 mix key"    // seals a layer
	keysContext    = "choir v1 mix keys"   // all keys of an attempt
	entryContext   = "choir v1 mix entry"  // an entry, cut to 16 bytes
	layerContext   = "choir v1 mix layer"  // an inner layer's content
	contentContext = "choir v1 mix batch"  // all entries of a batch
	listContext    = "choir v1 mix list"   // the signed description of the list
	outerLayer     = "choir v1 mix outer"  // associated data
	innerLayer     = "choir v1 mix inner"  // associated data
	reportsLayer   = "choir v1 mix report" // associated data
)

// nonceSize is the number of random bytes before each report, which keep the digest of the innermost
// layer from confirming a guess.
const nonceSize = 32

// geometry gives the sizes of a plan's onions, which are the same for all parties.
type geometry struct {
	suite  channel.Suite
	nodes  int // M
	report int // bytes
	least  int // reports of a party
	most   int
}

func geometryOf(p *protocol.Plan) geometry {
	least, most := p.MixEntries()
	return geometry{p.Suite, p.Computes(), 8 * int(p.Dim), least, most}
}

// Traffic returns the payload bytes of a round in which every party sends its least number of reports: those
// that a party sends, that it reads, and that the compute node reads which reads most.
func Traffic(p *protocol.Plan) (sends, reads, node int) {
	g := geometryOf(p)
	n := p.Parties() * g.least
	sends = g.least * g.size(0)
	described := 16 * n * (g.nodes + 1) // the batches' digests
	for k := range g.nodes {
		before := g.size(0)
		if k > 0 {
			before = g.size(k) + g.size(g.nodes+k)
		}
		node = max(node, n*(before+g.size(g.nodes))+described)
	}
	return sends, described + 2*g.nodes*g.suite.EncSize(), node
}

// overhead is what a layer adds to its content, in bytes.
func (g geometry) overhead() int { return g.suite.EncSize() + channel.Overhead }

// size is the length in bytes of an entry of a batch: of onions before the list, of lists' entries,
// and of what is left of these afterwards.
func (g geometry) size(stage int) int {
	if stage > g.nodes {
		return nonceSize + g.report + (2*g.nodes-stage)*g.overhead()
	}
	inner := nonceSize + g.report + g.nodes*g.overhead()
	return inner + 32*g.nodes + (g.nodes-stage)*g.overhead()
}

// pieceSize is the number of bytes of entries in a piece, at most, unless one entry is longer.
const pieceSize = 400 << 10

// perPiece is the number of entries in each piece of a batch but the last.
func (g geometry) perPiece(stage int) int { return max(1, pieceSize/g.size(stage)) }

// pieces is the number of pieces of a batch of n entries.
func (g geometry) pieces(stage, n int) int { return (n + g.perPiece(stage) - 1) / g.perPiece(stage) }

// shuffleKeys is what a party needs to seal its report: the keys of an attempt.
type shuffleKeys struct {
	geometry
	plan           protocol.PlanID
	round, attempt uint32
	digest         protocol.Digest
	outer, inner   [][]byte // of nodes 1..M
	reports        []byte   // the aggregator's
}

// bind computes the digest of all keys, to which every layer is bound.
func (k *shuffleKeys) bind() {
	b := append([]byte(nil), k.plan[:]...)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, k.round), k.attempt)
	for _, list := range [][][]byte{{k.reports}, k.outer, k.inner} {
		for _, key := range list {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(key))), key...)
		}
	}
	k.digest = blake.Derive(keysContext, b)
}

// info is the context of a layer: which of the attempt, and for the outermost of whom.
func (k *shuffleKeys) info(kind string, number, sender uint32) []byte {
	b := append(append([]byte(kind), 0), k.plan[:]...)
	for _, v := range []uint32{k.round, k.attempt, number, sender} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, k.digest[:]...)
}

// outerInfo is the context of an outer layer. The first is bound to the party that signs the onion.
func (k *shuffleKeys) outerInfo(node int, sender uint32) []byte {
	if node > 1 {
		sender = protocol.Everyone
	}
	return k.info(outerLayer, uint32(node), sender)
}

func (k *shuffleKeys) innerInfo(node int) []byte {
	return k.info(innerLayer, uint32(node), protocol.Everyone)
}

func (k *shuffleKeys) reportsInfo(piece uint32) []byte {
	return k.info(reportsLayer, piece, protocol.Everyone)
}

// seal returns a layer: the encapsulation, and the sealed content.
func seal(suite channel.Suite, public, info, content []byte) ([]byte, error) {
	enc, secret, err := channel.Initiate(suite, public, info)
	if err != nil {
		return nil, err
	}
	box, err := channel.NewBox(secret.Derive(layerKey, info), info)
	if err != nil {
		return nil, err
	}
	return box.Seal(enc, 0, true, content), nil
}

var errLayer = errors.New("the layer does not open")

// open is the inverse of seal.
func open(suite channel.Suite, key *channel.PrivateKey, info, layer []byte) ([]byte, error) {
	n := suite.EncSize()
	if len(layer) < n+channel.Overhead {
		return nil, errLayer
	}
	secret, err := channel.Accept(key, layer[:n], info)
	if err != nil {
		return nil, errLayer
	}
	box, err := channel.NewBox(secret.Derive(layerKey, info), info)
	if err != nil {
		return nil, err
	}
	content, err := box.Open(nil, 0, true, layer[n:])
	if err != nil {
		return nil, errLayer
	}
	return content, nil
}

// EntryDigest names an entry in a batch.
func EntryDigest(entry []byte) protocol.MixDigest {
	d := blake.Derive(entryContext, entry)
	return protocol.MixDigest(d[:16])
}

func layerDigest(content []byte) protocol.Digest { return blake.Derive(layerContext, content) }

// ContentDigest is the digest of a batch's entries.
func ContentDigest(entries [][]byte) protocol.Digest {
	h := blake.NewHash(contentContext)
	for _, e := range entries {
		h.Write(e)
	}
	return h.Sum()
}

// makeOnions seals reports. The trail of each has the digest of its entry in each batch 0..M.
func (k *shuffleKeys) makeOnions(
	reports []byte, sender uint32, r io.Reader, tamper func(layer int, content []byte) []byte,
) (onions [][]byte, trails []trail, err error) {
	n := len(reports) / k.report
	if len(reports) != n*k.report || n < k.least || n > k.most {
		return nil, nil, fmt.Errorf("reports of %d bytes, not %d to %d of %d", len(reports), k.least, k.most,
			k.report)
	}
	inside := make([][]byte, n)
	for i := range inside {
		inside[i] = make([]byte, nonceSize, nonceSize+k.report)
		if _, err := io.ReadFull(r, inside[i]); err != nil {
			return nil, nil, fmt.Errorf("nonce of a report: %w", err)
		}
		inside[i] = append(inside[i], reports[i*k.report:(i+1)*k.report]...)
	}
	onions, trails = make([][]byte, n), make([]trail, n)
	errs := make([]error, n)
	parallel.Do(n, func(i int) { onions[i], trails[i], errs[i] = k.makeOnion(inside[i], sender, tamper) })
	return onions, trails, errors.Join(errs...)
}

// trail is the digests of one entry in the batches 0..M.
type trail []protocol.MixDigest

// makeOnion seals a nonce with a report.
func (k *shuffleKeys) makeOnion(
	layer []byte, sender uint32, tamper func(layer int, content []byte) []byte,
) (onion []byte, t trail, err error) {
	commitments := make([]protocol.Digest, k.nodes)
	for node := k.nodes; node >= 1; node-- {
		layer = tamper(k.nodes-node, layer)
		commitments[node-1] = layerDigest(layer)
		if layer, err = seal(k.suite, k.inner[node-1], k.innerInfo(node), layer); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range commitments {
		layer = append(layer, c[:]...)
	}
	t = make(trail, k.nodes+1)
	for node := k.nodes; node >= 1; node-- {
		layer = tamper(2*k.nodes-node, layer)
		t[node] = EntryDigest(layer)
		if layer, err = seal(k.suite, k.outer[node-1], k.outerInfo(node, sender), layer); err != nil {
			return nil, nil, err
		}
	}
	t[0] = EntryDigest(layer)
	return layer, t, nil
}

// listed is an entry of the list.
type listed struct {
	inner       []byte            // the layer of the first node
	commitments []protocol.Digest // of the contents of the inner layers of nodes 1..M
}

func (g geometry) splitEntry(entry []byte) listed {
	at := len(entry) - 32*g.nodes
	l := listed{inner: entry[:at]}
	for b := entry[at:]; len(b) > 0; b = b[32:] {
		l.commitments = append(l.commitments, protocol.Digest(b[:32]))
	}
	return l
}
