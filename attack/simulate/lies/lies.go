// Package lies lets a member lie at random: it alters, drops, delays, doubles and replays what the member
// sends, all signed by itself. A table of cheats has the lies that were thought of; this has others.
package lies

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"choir/protocol"
)

// Liar draws the lies of one member or of a coalition.
type Liar struct {
	Told []string // what it did, for people

	draw *rand.Rand
	rare int // one message of rare is a lie
	kept []protocol.Outgoing
}

// Sign signs a message in the name of a member.
type Sign func(protocol.Message) ([]byte, error)

// New returns a liar whose lies follow from a seed.
func New(seed uint64) *Liar {
	l := &Liar{draw: rand.New(rand.NewPCG(seed, 1))}
	l.rare = 1 + l.draw.IntN(10)
	return l
}

// Alter returns what is sent in place of messages.
func (l *Liar) Alter(send []protocol.Outgoing, sign Sign) (out []protocol.Outgoing) {
	for _, o := range send {
		if l.draw.IntN(l.rare) > 0 {
			out = append(out, o)
		} else {
			out = append(out, l.alter(o, sign)...)
		}
	}
	return out
}

func (l *Liar) alter(o protocol.Outgoing, sign Sign) []protocol.Outgoing {
	how := l.draw.IntN(9)
	if how == 2 && len(l.kept) > 0 {
		again := l.kept[l.draw.IntN(len(l.kept))]
		l.tell("%s again", again.Subject)
		return []protocol.Outgoing{again, o}
	}
	l.kept = append(l.kept, o)
	if how <= 2 {
		l.tell("%s not sent, or later", o.Subject)
		return nil
	}
	lie, err := l.lie(o, sign)
	switch {
	case err != nil: // no such message can be made
		return []protocol.Outgoing{o}
	case how == 3:
		return []protocol.Outgoing{o, lie}
	case how == 4:
		return []protocol.Outgoing{lie, o}
	}
	return []protocol.Outgoing{lie}
}

// lie returns a message with altered fields.
func (l *Liar) lie(o protocol.Outgoing, sign Sign) (lie protocol.Outgoing, err error) {
	lie.Subject = o.Subject
	if protocol.IsChunk(o.Data) {
		c, err := protocol.UnmarshalChunk(o.Data)
		if err != nil {
			return lie, err
		}
		l.change(reflect.ValueOf(c).Elem())
		l.tell("%s altered", o.Subject)
		lie.Data, err = c.Marshal()
		return lie, err
	}
	e, err := protocol.UnmarshalEnvelope(o.Data)
	if err != nil {
		return lie, err
	}
	m, err := protocol.Decode(e)
	if err != nil {
		return lie, err
	}
	for range 1 + l.draw.IntN(2) {
		l.change(reflect.ValueOf(m).Elem())
	}
	l.tell("%s altered: %+v", o.Subject, m)
	lie.Data, err = sign(m)
	return lie, err
}

func (l *Liar) tell(format string, args ...any) {
	l.Told = append(l.Told, fmt.Sprintf("%.200s", fmt.Sprintf(format, args...)))
}

// change alters a value, or one of its parts.
func (l *Liar) change(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := []uint64{0, 1, 2, 4, 5, v.Uint() + 1, v.Uint() - 1, 1 << 31, 1<<32 - 1}[l.draw.IntN(9)]
		v.SetUint(x << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Int64:
		v.SetInt(v.Int() + int64(l.draw.IntN(3)) - 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString("a lie")
	case reflect.Struct:
		l.change(v.Field(l.draw.IntN(v.NumField())))
	case reflect.Array:
		l.change(v.Index(l.draw.IntN(v.Len())))
	case reflect.Slice:
		l.changeList(v)
	}
}

// changeList makes a list longer or shorter, or alters an element.
func (l *Liar) changeList(v reflect.Value) {
	n := v.Len()
	switch how := l.draw.IntN(6); {
	case n == 0 || how == 0:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case how == 1:
		v.Set(v.Slice(0, l.draw.IntN(n)))
	case how == 2:
		v.Set(reflect.AppendSlice(v, v.Slice(n-1, n)))
	default:
		l.change(v.Index(l.draw.IntN(n)))
	}
}
