package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"sync"
)

// longValue is from how many bytes on a value stands in a file of its own kind:
// beside the tree it is written once, as it is, and read without a page of the
// tree being copied for it.
const longValue = 32 << 10

// align is what extents are multiples of, the page of a disk or a multiple of it.
const align = 4 << 10

// extent is a piece of the file of values, in bytes, both multiples of align.
type extent struct{ at, size int64 }

func (e extent) end() int64 { return e.at + e.size }

// place is where a value stands and how it can be told from what a crash or a
// broken disk left there.
type place struct {
	at     int64
	length int64 // as written
	width  int   // bytes a word, if its 64-bit words were written in fewer; 0: as it is
	sum    uint32
}

func (p place) extent() extent { return extent{p.at, (p.length + align - 1) / align * align} }

const placeSize = 8 + 8 + 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (p place) marshal() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, placeSize), uint64(p.at))
	b = append(binary.BigEndian.AppendUint64(b, uint64(p.length)), byte(p.width))
	return binary.BigEndian.AppendUint32(b, p.sum)
}

func unmarshalPlace(b []byte) (place, error) {
	if len(b) != placeSize {
		return place{}, fmt.Errorf("a place has %d bytes, not %d", len(b), placeSize)
	}
	p := place{at: int64(binary.BigEndian.Uint64(b)), length: int64(binary.BigEndian.Uint64(b[8:])), width: int(b[16]), sum: binary.BigEndian.Uint32(b[17:])}
	if p.at < 0 || p.at%align != 0 || p.length < 1 || p.length > 1<<40 || p.at > 1<<60 || p.width > maxWidth {
		return place{}, errors.New("a place outside of any file")
	}
	return p, nil
}

// values is the file with a store's long values. Which of it is in use is what the
// tree says: a value counts from the moment the tree's transaction names its place,
// and its place is free from the moment a transaction doesn't any more.
type values struct {
	f    *os.File
	mu   sync.Mutex
	free []extent // in order, none touching another; below end
	end  int64
}

// use says which places the tree names; once, before anything is written.
func (v *values) use(places []place) error {
	slices.SortFunc(places, func(a, b place) int { return int(min(max(a.at-b.at, -1), 1)) })
	for _, p := range places {
		e := p.extent()
		if e.at < v.end {
			return errors.New("two values stand in one place")
		}
		if e.at > v.end {
			v.free = append(v.free, extent{v.end, e.at - v.end})
		}
		v.end = e.end()
	}
	return nil
}

// write puts a value where nothing else stands. It is durable after the next sync.
func (v *values) write(value []byte) (place, error) {
	p := place{}
	if width := widthOf(value); width > 0 {
		p.width, value = width, narrow(value, width)
	}
	p.length, p.sum = int64(len(value)), crc32.Checksum(value, castagnoli)
	p.at = v.take(p.extent().size)
	if _, err := v.f.WriteAt(value, p.at); err != nil {
		v.give([]place{p})
		return place{}, err
	}
	return p, nil
}

// read is the value that stands in a place.
func (v *values) read(p place) ([]byte, error) {
	b := make([]byte, p.length)
	if _, err := v.f.ReadAt(b, p.at); err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != p.sum {
		return nil, errors.New("the bytes on the disk aren't those that were written")
	}
	if p.width > 0 {
		if len(b)%p.width != 0 {
			return nil, errors.New("a value ends within a word")
		}
		return widen(b, p.width), nil
	}
	return b, nil
}

// take finds room: the first that is large enough, else at the end.
func (v *values) take(size int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, e := range v.free {
		if e.size < size {
			continue
		}
		if e.size == size {
			v.free = slices.Delete(v.free, i, i+1)
		} else {
			v.free[i] = extent{e.at + size, e.size - size}
		}
		return e.at
	}
	v.end += size
	return v.end - size
}

// give makes places free for others.
func (v *values) give(places []place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range places {
		e := p.extent()
		i, _ := slices.BinarySearchFunc(v.free, e.at, func(x extent, at int64) int { return int(min(max(x.at-at, -1), 1)) })
		if i < len(v.free) && v.free[i].at == e.end() {
			e.size += v.free[i].size
			v.free = slices.Delete(v.free, i, i+1)
		}
		if i > 0 && v.free[i-1].end() == e.at {
			v.free[i-1].size += e.size
		} else {
			v.free = slices.Insert(v.free, i, e)
		}
	}
	if n := len(v.free); n > 0 && v.free[n-1].end() == v.end {
		v.end, v.free = v.free[n-1].at, v.free[:n-1]
	}
}
