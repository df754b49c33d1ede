package natsbus

import "sync"

const (
	// windowBytes bounds what one Bus has sent and not yet seen acknowledged.
	windowBytes = 16 << 20
	// messageCost is added to each payload, so that small messages are bounded in number too.
	messageCost = 4 << 10
)

// window is a counting semaphore over bytes.
type window struct {
	mu   sync.Mutex
	free int
	more chan struct{} // closed and replaced whenever bytes are given back
}

func newWindow(bytes int) *window {
	return &window{free: bytes, more: make(chan struct{})}
}

// take reserves n bytes, or returns a channel that closes when it is worth trying again.
func (w *window) take(n int) (ok bool, retry <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.free {
		return false, w.more
	}
	w.free -= n
	return true, nil
}

// give returns n bytes.
func (w *window) give(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	close(w.more)
	w.more = make(chan struct{})
}
