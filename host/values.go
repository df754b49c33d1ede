package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"sync"
)

// longValue is the length from which a value is in the file of values, in bytes: there it is
// written once, as it is, and read without copying pages of the tree.
const longValue = 32 << 10

// align is the unit of extents in bytes, the page of a disk or a multiple of it.
const align = 4 << 10

// extent is a part of the file of values, in bytes, both multiples of align.
type extent struct{ at, size int64 }

func (e extent) end() int64 { return e.at + e.size }

// place is the location of a value, and the checksum that tells it from what a crash or a
// broken disk left there.
type place struct {
	at     int64
	length int64
	sum    uint32
}

func (p place) extent() extent { return extent{p.at, (p.length + align - 1) / align * align} }

const placeSize = 8 + 8 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (p place) marshal() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, placeSize), uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.length))
	return binary.BigEndian.AppendUint32(b, p.sum)
}

func unmarshalPlace(b []byte) (place, error) {
	if len(b) != placeSize {
		return place{}, fmt.Errorf("a place has %d bytes, not %d", len(b), placeSize)
	}
	p := place{
		at:     int64(binary.BigEndian.Uint64(b)),
		length: int64(binary.BigEndian.Uint64(b[8:])),
		sum:    binary.BigEndian.Uint32(b[16:]),
	}
	if p.at < 0 || p.at%align != 0 || p.length < 1 || p.length > 1<<40 || p.at > 1<<60 {
		return place{}, errors.New("a place outside of any file")
	}
	return p, nil
}

// staging is the size of the buffer through which values are copied, checksummed and written:
// it fits in the processor's cache.
const staging = 1 << 20

// values is the file with a store's long values. A value counts from the moment a transaction of
// the tree names its place. The place is free from the moment a transaction removes its name.
type values struct {
	f     *os.File // to read
	w     *os.File // to write: whole pages
	plain bool     // w is like f
	stage []byte
	mu    sync.Mutex
	free  []extent // in order, none touching another; below end
	end   int64
}

// open opens the file, or creates it.
func (v *values) open(path string) (err error) {
	if v.f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if v.w, err = openDirect(path); err != nil {
		return err
	}
	v.stage, err = stagingBuffer(staging)
	return err
}

// close closes the files that open has opened.
func (v *values) close() error {
	var errs []error
	for _, f := range []*os.File{v.f, v.w} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if v.stage != nil {
		errs = append(errs, freeStagingBuffer(v.stage))
	}
	v.f = nil
	v.w = nil
	v.stage = nil
	return errors.Join(errs...)
}

// use marks the places that the tree names; once, before anything is written.
func (v *values) use(places []place) error {
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for _, p := range places {
		e := p.extent()
		if e.at < v.end {
			return errors.New("two values are in one place")
		}
		if e.at > v.end {
			v.free = append(v.free, extent{v.end, e.at - v.end})
		}
		v.end = e.end()
	}
	return nil
}

// write writes a value at a free place. It is durable after the next sync. One goroutine writes
// at a time.
func (v *values) write(value []byte) (place, error) {
	p := place{length: int64(len(value))}
	p.at = v.allocate(p.extent().size)
	for at := p.at; len(value) > 0; {
		n := copy(v.stage, value)
		value = value[n:]
		p.sum = crc32.Update(p.sum, castagnoli, v.stage[:n])
		whole := (n + align - 1) / align * align
		clear(v.stage[n:whole]) // of the bytes before
		if err := v.writePages(v.stage[:whole], at); err != nil {
			v.release([]place{p})
			return place{}, err
		}
		at += int64(n)
	}
	return p, nil
}

// erase overwrites the values at places that no key names any more.
func (v *values) erase(places []place) error {
	for _, p := range places {
		clear(v.stage)
		for at, end := p.at, p.extent().end(); at < end; {
			n := min(end-at, int64(len(v.stage)))
			if err := v.writePages(v.stage[:n], at); err != nil {
				return err
			}
			at += n
		}
	}
	if len(places) == 0 {
		return nil
	}
	return v.sync()
}

// writePages writes whole pages. A file system may accept the flag for direct writes and refuse
// the writes: then they are ordinary ones from there on.
func (v *values) writePages(pages []byte, at int64) error {
	_, err := v.w.WriteAt(pages, at)
	if err == nil || v.plain {
		return err
	}
	w, openErr := os.OpenFile(v.f.Name(), os.O_WRONLY, 0)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	_ = v.w.Close() // its writes are durable after the new file's sync
	v.w, v.plain = w, true
	_, err = v.w.WriteAt(pages, at)
	return err
}

// sync makes the written values durable.
func (v *values) sync() error { return syncData(v.w) }

// errAltered is of a value that does not have its checksum.
var errAltered = errors.New("the bytes on the disk are not those that were written")

// read returns the value at a place. A place that was damaged may name any length, so memory is
// allocated for one that is within the file only.
func (v *values) read(p place) ([]byte, error) {
	info, err := v.f.Stat()
	if err != nil {
		return nil, err
	}
	if p.at+p.length > info.Size() {
		return nil, fmt.Errorf("a place of %d bytes at %d, in a file of %d bytes", p.length, p.at, info.Size())
	}
	b := make([]byte, p.length)
	if _, err := v.f.ReadAt(b, p.at); err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != p.sum {
		return nil, errAltered
	}
	return b, nil
}

// allocate returns a free place: the first that is large enough, else the end of the file.
func (v *values) allocate(size int64) int64 {
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

// release makes places free.
func (v *values) release(places []place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range places {
		e := p.extent()
		i, _ := slices.BinarySearchFunc(v.free, e.at, compareAt)
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

func compareAt(e extent, at int64) int { return cmp.Compare(e.at, at) }
