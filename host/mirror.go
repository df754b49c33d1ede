package host

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"choir/protocol"
)

// A store may have a mirror: a second store, on another disk or another machine's, that has every
// transaction before the first one has it, and so before anything leaves that depends on it. Both have
// a mark that names the other, and a process opens both or neither. A mirror that has been taken over
// is a store of a later epoch, and the first one never opens again.

// markKey is the key of a store's mark.
const markKey = "mirror"

// mark identifies a store to another one.
//
// Layout: u8 role | 16 id | u64 epoch | u64 transactions | path of the other.
type mark struct {
	role         byte
	id           [16]byte
	epoch        uint64
	transactions uint64
	other        string
}

const (
	roleAlone  = 0 // it has no mirror
	roleFirst  = 1 // it has one
	roleMirror = 2 // it is one
	markFixed  = 1 + 16 + 8 + 8
)

func (m *mark) marshal() []byte {
	b := append([]byte{m.role}, m.id[:]...)
	b = binary.BigEndian.AppendUint64(b, m.epoch)
	return append(binary.BigEndian.AppendUint64(b, m.transactions), m.other...)
}

// markOf reads a store's mark. A store without one is alone.
func markOf(v protocol.View) (*mark, error) {
	b := v.Get(markKey)
	if b == nil {
		return &mark{}, nil
	}
	if len(b) < markFixed || b[0] > roleMirror {
		return nil, fmt.Errorf("store: its mark of a mirror is damaged")
	}
	return &mark{b[0], [16]byte(b[1:17]), binary.BigEndian.Uint64(b[17:]), binary.BigEndian.Uint64(b[25:]),
		string(b[markFixed:])}, nil
}

// Open opens or creates a store like OpenFile, with its mirror if it has one. It refuses a mirror, and a
// store whose mirror was taken over.
func Open(path string) (Store, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	m, err := markOf(f)
	switch {
	case err == nil && m.role == roleAlone:
		return f, nil
	case err == nil && m.role == roleMirror:
		err = protocol.Fail(protocol.ClassInput,
			"store: %s is the mirror of %s; if that is lost, \"store takeover\" "+
				"makes it a store", path, m.other)
	case err == nil:
		var both *mirrored
		if both, err = openMirror(f, m); err == nil {
			return both, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// openMirror opens a store's mirror, and brings the one that a crash has left a transaction behind up to
// the other.
func openMirror(first *File, m *mark) (*mirrored, error) {
	if _, err := os.Stat(m.other); err != nil {
		return nil, protocol.Fail(protocol.ClassInput,
			"store: its mirror can't be reached, and without it nothing "+
				"is durable: %w; if it is lost, \"store mirror\" makes another one", err)
	}
	second, err := OpenFile(m.other)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	n, err := markOf(second)
	switch {
	case err != nil:
	case n.id != m.id || n.epoch > m.epoch || n.role != roleMirror:
		err = protocol.Fail(protocol.ClassIntegrity,
			"store: its mirror %s was taken over, in epoch %d: this store is "+
				"of epoch %d and must not be used again", m.other, n.epoch, m.epoch)
	case n.epoch < m.epoch:
		err = protocol.Fail(protocol.ClassIntegrity, "store: %s is a mirror of epoch %d, the store is of epoch %d",
			m.other, n.epoch, m.epoch)
	case n.transactions > m.transactions:
		err = copyStore(second, first)
		m.transactions = n.transactions
		err = errors.Join(err, first.Apply(m.record()))
	case n.transactions < m.transactions:
		err = copyStore(first, second)
		n.transactions = m.transactions
		err = errors.Join(err, second.Apply(n.record()))
	}
	if err != nil {
		return nil, errors.Join(err, second.Close())
	}
	return &mirrored{first, second, m, n}, nil
}

func (m *mark) record() []protocol.Record {
	return []protocol.Record{{Key: markKey, Value: m.marshal()}}
}

// mirrored is a store with its mirror. Reads are from the first.
type mirrored struct {
	*File
	second *File
	own    *mark
	others *mark
}

// Apply makes the records durable in the mirror, then in the store.
func (m *mirrored) Apply(records []protocol.Record) error {
	m.own.transactions++
	m.others.transactions++
	with := func(of *mark) []protocol.Record {
		return append(append([]protocol.Record(nil), records...), of.record()...)
	}
	if err := m.second.Apply(with(m.others)); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return m.File.Apply(with(m.own))
}

// Close closes both.
func (m *mirrored) Close() error { return errors.Join(m.File.Close(), m.second.Close()) }

// copyBatch bounds the bytes of a transaction of copyStore.
const copyBatch = 8 << 20

// copyStore makes a store's keys and values those of another, but for the mark.
func copyStore(from, to *File) error {
	have := map[string]bool{markKey: true}
	var batch []protocol.Record
	size := 0
	flush := func() error {
		records := batch
		batch, size = nil, 0
		return to.Apply(records)
	}
	for _, key := range from.Keys("") {
		if have[key] {
			continue
		}
		have[key] = true
		value := from.Get(key)
		batch = append(batch, protocol.Record{Key: key, Value: value})
		if size += len(value); size > copyBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	for _, key := range to.Keys("") {
		if !have[key] {
			batch = append(batch, protocol.Record{Key: key, Erase: true})
		}
	}
	return flush()
}

// Mirror gives a store a new mirror, at a path where there is nothing, and makes it of the next epoch: a
// former mirror is no longer one of it.
func Mirror(path, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if strings.ContainsRune(to, 0) {
		return protocol.Fail(protocol.ClassInput, "mirror: %q is not a path", to)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return protocol.Fail(protocol.ClassInput, "mirror: %s exists already", to)
	}
	if _, err := os.Stat(path); err != nil {
		return protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	from, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	first, err := OpenFile(path)
	if err != nil {
		return err
	}
	m, err := nextEpoch(first)
	if err == nil {
		err = pair(first, m, from, to)
	}
	return errors.Join(err, first.Close())
}

// nextEpoch is the mark of a store that gets a new mirror.
func nextEpoch(first *File) (*mark, error) {
	m, err := markOf(first)
	switch {
	case err != nil:
		return nil, err
	case m.role == roleMirror:
		return nil, protocol.Fail(protocol.ClassInput, "store: it is a mirror itself; take it over first")
	case m.role == roleFirst:
		if err := notTakenOver(m); err != nil {
			return nil, err
		}
	}
	if m.id == [16]byte{} {
		if _, err := rand.Read(m.id[:]); err != nil {
			return nil, err
		}
	}
	m.epoch++
	m.transactions++
	return m, nil
}

// pair makes the mirror. What is left of one that failed is removed.
func pair(first *File, m *mark, from, to string) error {
	second, err := OpenFile(to)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	n := *m
	n.role, n.other = roleMirror, from
	if err = copyStore(first, second); err == nil {
		err = second.Apply(n.record())
	}
	if err = errors.Join(err, second.Close()); err != nil {
		return errors.Join(err, removeIfThere(to), removeIfThere(to+valuesSuffix))
	}
	m.role, m.other = roleFirst, to
	return first.Apply(m.record())
}

// notTakenOver refuses a store whose mirror can be reached and was taken over.
func notTakenOver(m *mark) error {
	if _, err := os.Stat(m.other); err != nil {
		return nil // lost: the one who gives the store another mirror vouches for it
	}
	former, err := OpenFile(m.other)
	if err != nil {
		return fmt.Errorf("former mirror: %w", err)
	}
	n, err := markOf(former)
	if err == nil && (n.epoch > m.epoch || n.role != roleMirror) {
		err = protocol.Fail(protocol.ClassIntegrity,
			"store: its mirror %s was taken over: this store must not be used again", m.other)
	}
	return errors.Join(err, former.Close())
}

// TakeOver makes a mirror a store of the next epoch. The process that had it as a mirror must have ended:
// while it runs it has the mirror locked.
func TakeOver(path string) error {
	if _, err := os.Stat(path); err != nil {
		return protocol.Fail(protocol.ClassInput, "mirror: %w", err)
	}
	f, err := OpenFile(path)
	if err != nil {
		return err
	}
	m, err := markOf(f)
	if err == nil && m.role != roleMirror {
		err = protocol.Fail(protocol.ClassInput, "store: %s is not a mirror", path)
	}
	if err == nil {
		m.epoch++
		m.role, m.other = roleAlone, ""
		err = f.Apply(m.record())
	}
	return errors.Join(err, f.Close())
}
