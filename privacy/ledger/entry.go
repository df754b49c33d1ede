package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"choir/privacy"
)

// ErrEntry reports an invalid entry, or bytes that are not the encoding of a valid entry.
var ErrEntry = errors.New("ledger: invalid entry")

// Hash is the SHA-256 hash of the canonical encoding of an entry, with a domain label.
type Hash [32]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Kind is the kind of an entry.
type Kind uint8

const (
	// KindCharge spends budget on one attempt of one round.
	KindCharge Kind = 1
	// KindReset declares that earlier charges no longer concern the data that the ledger
	// protects. Its Note states the reason. The history remains in the chain.
	KindReset Kind = 2
)

// Charge is the cost of one attempt: what an adversary learns if its sum is revealed.
type Charge struct {
	Plan     [32]byte // hash of the plan
	Round    uint32
	Attempt  uint32
	FracBits uint8            // units of Release are 2^-FracBits, at most 52; not used for composition
	Release  privacy.Release  // noise hidden from the worst tolerated adversary, sensitivity for Relation
	Relation privacy.Relation // what one individual may change; 0 means ReplaceOne, and is stored as that
	Sampling privacy.Sampling // how records are sampled for the round
	Rate     float64          // sampling rate in (0, 1]; 0 with SamplingNone
	Count    uint32           // releases of the attempt; 0 means 1, and is stored as that
	Shuffled privacy.Shuffled // reports of the attempt that are shuffled; Release is then zero
}

// filled returns c with the defaults filled in.
func (c Charge) filled() Charge {
	if c.Relation == 0 {
		c.Relation = privacy.ReplaceOne
	}
	c.Count = max(c.Count, 1)
	return c
}

// validate returns an error with the reason if the charge is invalid, or no bound is proven for it.
func (c Charge) validate() error {
	switch {
	case c.FracBits > 52:
		return fmt.Errorf("%w: frac_bits %d is above 52", ErrEntry, c.FracBits)
	case c.Relation != privacy.ReplaceOne && c.Relation != privacy.AddRemove:
		return fmt.Errorf("%w: unknown %v", ErrEntry, c.Relation)
	case c.Count < 1:
		return fmt.Errorf("%w: it charges no release", ErrEntry)
	case c.Sampling > privacy.SamplingFixed:
		return fmt.Errorf("%w: unknown %v", ErrEntry, c.Sampling)
	case c.Sampling == privacy.SamplingNone && math.Float64bits(c.Rate) != 0:
		return fmt.Errorf("%w: a rate of %v without sampling", ErrEntry, c.Rate)
	case c.Sampling != privacy.SamplingNone && !(c.Rate > 0 && c.Rate <= 1):
		return fmt.Errorf("%w: rate %v is not in (0, 1]", ErrEntry, c.Rate)
	case c.Sampling == privacy.SamplingFixed && c.Relation == privacy.AddRemove:
		return fmt.Errorf("%w: sampling without replacement is proven for replace-one neighbours only",
			ErrEntry)
	case c.Release.Sensitivity > math.MaxUint64/2:
		return fmt.Errorf("%w: sensitivity %d: twice that overflows", ErrEntry, c.Release.Sensitivity)
	}
	if c.Shuffled != (privacy.Shuffled{}) {
		return c.validateShuffled()
	}
	if err := c.Release.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return nil
}

func (c Charge) validateShuffled() error {
	switch {
	case c.Release != (privacy.Release{}) || c.Sampling != privacy.SamplingNone:
		return fmt.Errorf("%w: shuffled reports with noise or sampling", ErrEntry)
	case c.Relation != privacy.ReplaceOne:
		return fmt.Errorf("%w: shuffled reports are proven for replace-one neighbours only", ErrEntry)
	}
	if err := c.Shuffled.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return nil
}

// Entry is one link of the chain.
//
// Its encoding, big endian, has 150 bytes and the note:
//
//	u8 version = 2 | u8 kind | u64 seq | 32 prev
//	32 plan | u32 round | u32 attempt | u8 frac_bits
//	u64 sensitivity | u64 part_variance | u32 parts | u32 dim
//	u8 relation | u8 sampling | u64 rate (IEEE 754) | u32 count
//	u64 reports | u32 categories | u64 gamma | u64 keep
//	u8 length | note
//
// In a reset the fields from plan to keep are zero; in a charge the note is empty.
type Entry struct {
	Seq    uint64 // 0, 1, 2, ...
	Prev   Hash   // hash of the previous entry; Genesis() for the first
	Kind   Kind
	Charge Charge // for KindCharge
	Note   string // for KindReset: 1-200 bytes of printable UTF-8
}

const (
	entryVersion = 2
	entryFixed   = 150
	maxNote      = 200
	hashLabel    = "choir privacy ledger v1\x00"
)

// genesis returns the Prev of the first entry.
func genesis() Hash { return sha256.Sum256([]byte(hashLabel + "genesis")) }

// hash returns the hash of the entry, which also covers all entries before it through Prev.
func (e Entry) hash() Hash {
	return sha256.Sum256(append([]byte(hashLabel+"entry"), e.Marshal()...))
}

// Validate returns an error with the reason if the entry is invalid.
func (e Entry) Validate() error {
	switch e.Kind {
	case KindCharge:
		if e.Note != "" {
			return fmt.Errorf("%w: a charge with a note", ErrEntry)
		}
		return e.Charge.validate()
	case KindReset:
		if e.Charge != (Charge{}) {
			return fmt.Errorf("%w: a reset with a charge", ErrEntry)
		}
		return validateNote(e.Note)
	}
	return fmt.Errorf("%w: unknown kind %d", ErrEntry, e.Kind)
}

func validateNote(note string) error {
	if len(note) < 1 || len(note) > maxNote || !utf8.ValidString(note) {
		return fmt.Errorf("%w: the reason of a reset must have 1 to %d bytes of UTF-8", ErrEntry, maxNote)
	}
	for _, r := range note {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: the reason of a reset contains the unprintable %U", ErrEntry, r)
		}
	}
	return nil
}

// Marshal returns the canonical encoding of a valid entry.
func (e Entry) Marshal() []byte {
	c := e.Charge
	b := make([]byte, 0, entryFixed+len(e.Note))
	b = append(b, entryVersion, byte(e.Kind))
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = append(b, e.Prev[:]...)
	b = append(b, c.Plan[:]...)
	b = binary.BigEndian.AppendUint32(b, c.Round)
	b = binary.BigEndian.AppendUint32(b, c.Attempt)
	b = append(b, c.FracBits)
	b = binary.BigEndian.AppendUint64(b, c.Release.Sensitivity)
	b = binary.BigEndian.AppendUint64(b, c.Release.PartVariance)
	b = binary.BigEndian.AppendUint32(b, c.Release.Parts)
	b = binary.BigEndian.AppendUint32(b, c.Release.Dim)
	b = append(b, byte(c.Relation), byte(c.Sampling))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(c.Rate))
	b = binary.BigEndian.AppendUint32(b, c.Count)
	b = binary.BigEndian.AppendUint64(b, c.Shuffled.Reports)
	b = binary.BigEndian.AppendUint32(b, c.Shuffled.Categories)
	b = binary.BigEndian.AppendUint64(b, c.Shuffled.Gamma)
	b = binary.BigEndian.AppendUint64(b, c.Shuffled.Keep)
	b = append(b, byte(len(e.Note)))
	return append(b, e.Note...)
}

// Unmarshal decodes an entry. It accepts exactly what Marshal returns for a valid entry. On failure e
// is unchanged.
func (e *Entry) Unmarshal(b []byte) error {
	if len(b) < entryFixed || len(b) != entryFixed+int(b[entryFixed-1]) {
		return fmt.Errorf("%w: %d bytes", ErrEntry, len(b))
	}
	if b[0] != entryVersion {
		return fmt.Errorf("%w: version %d, want %d", ErrEntry, b[0], entryVersion)
	}
	be := binary.BigEndian
	n := Entry{
		Kind: Kind(b[1]), Seq: be.Uint64(b[2:]), Prev: Hash(b[10:42]), Note: string(b[entryFixed:]),
	}
	n.Charge = Charge{
		Plan: [32]byte(b[42:74]), Round: be.Uint32(b[74:]), Attempt: be.Uint32(b[78:]), FracBits: b[82],
		Release: privacy.Release{
			Sensitivity: be.Uint64(b[83:]), PartVariance: be.Uint64(b[91:]),
			Parts: be.Uint32(b[99:]), Dim: be.Uint32(b[103:]),
		},
		Relation: privacy.Relation(b[107]), Sampling: privacy.Sampling(b[108]),
		Rate: math.Float64frombits(be.Uint64(b[109:])), Count: be.Uint32(b[117:]),
		Shuffled: privacy.Shuffled{Reports: be.Uint64(b[121:]), Categories: be.Uint32(b[129:]),
			Gamma: be.Uint64(b[133:]), Keep: be.Uint64(b[141:])},
	}
	if err := n.Validate(); err != nil {
		return err
	}
	*e = n
	return nil
}
