package host

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// The parts of bbolt's file that tell which pages are free, in the machine's byte order. A page begins
// with its number, flags, a count (65535: the first element has it) and the number of pages after it
// that belong to it. One of the first two pages is the latest transaction's.
const (
	pageHead      = 16
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	freelistFlags = 0x10
	atFreelist    = pageHead + 32 // in a transaction's page: the page of the list
	atTransaction = pageHead + 48
	metaBytes     = atTransaction + 8
)

// searched returns the free pages of the tree by looking at every page.
func searched(tx *bolt.Tx) (free []uint64, err error) {
	for id := 2; ; id++ { // the first two name the tree's root
		info, err := tx.Page(id)
		if err != nil || info == nil {
			return free, err
		}
		if info.Type == "free" {
			free = append(free, uint64(id))
		} else {
			id += info.OverflowCount
		}
	}
}

// listed returns the free pages by the list that bbolt keeps in its file and has no function for. A long
// session's tree has many thousand pages, of which few are free. It returns false if the list is not where
// it is expected, or has another length than bbolt counts.
func (f *File) listed(tx *bolt.Tx) (free []uint64, ok bool) {
	order, size := binary.NativeEndian, f.db.Info().PageSize
	meta := make([]byte, metaBytes)
	id := uint64(tx.ID())
	if _, err := f.pages.ReadAt(meta, int64(id%2)*int64(size)); err != nil {
		return nil, false
	}
	if order.Uint32(meta[pageHead:]) != boltMagic || order.Uint32(meta[pageHead+4:]) != boltVersion ||
		order.Uint64(meta[atTransaction:]) != id {
		return nil, false
	}
	at := order.Uint64(meta[atFreelist:])
	info, err := tx.Page(int(at))
	if err != nil || info == nil || info.Type != "freelist" {
		return nil, false
	}
	list := make([]byte, (1+info.OverflowCount)*size)
	if _, err := f.pages.ReadAt(list, int64(at)*int64(size)); err != nil {
		return nil, false
	}
	count := int(order.Uint16(list[10:]))
	if order.Uint64(list) != at || order.Uint16(list[8:]) != freelistFlags {
		return nil, false
	}
	list = list[pageHead:]
	if count == 0xFFFF {
		count, list = int(order.Uint64(list)), list[8:]
	}
	stats := f.db.Stats()
	if count != stats.FreePageN+stats.PendingPageN || len(list) < 8*count {
		return nil, false
	}
	for i := range count {
		free = append(free, order.Uint64(list[8*i:]))
	}
	return free, true
}
