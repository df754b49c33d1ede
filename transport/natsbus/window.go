package natsbus

import "sync"

const (
	// windowBytes bounds the messages that one Bus has sent and that are not acknowledged yet.
	windowBytes = 16 << 20
	// messageCost is added to each payload, so that small messages are bounded in number too.
	messageCost = 4 << 10
)

// window is a counting semaphore over bytes.
type window struct {
	mu   sync.Mutex
	free int
	more chan struct{} // closed and replaced whenever bytes are released
}

func newWindow(bytes int) *window {
	return &window{free: bytes, more: make(chan struct{})}
}

// acquire reserves n bytes, or returns a channel that closes when a retry may succeed.
func (w *window) acquire(n int) (ok bool, retry <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.free {
		return false, w.more
	}
	w.free -= n
	return true, nil
}

// release returns n bytes.
func (w *window) release(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	close(w.more)
	w.more = make(chan struct{})
}
