package protocol

// Backoff computes when a machine retransmits its last messages: Base after the last progress,
// and twice as long after each retransmission without progress, up to maxBackoff times Base
// (RFC 6298, section 5.5). With a constant interval, members whose messages take longer than
// Base to be delivered would add more and more copies to the load of the bus.
type Backoff struct {
	Base     int64 // retransmit interval, ms
	progress int64 // as of the last call of Due
	last     int64 // the last progress or retransmission
	times    int
}

// maxBackoff is the longest interval, in units of Base.
const maxBackoff = 8

// Due returns when the next retransmission is due, given the time of the last progress. Both
// are times of the machine's clock, in ms.
func (b *Backoff) Due(progress int64) int64 {
	if progress != b.progress {
		b.progress = progress
		b.last = progress
		b.times = 0
	}
	return b.last + b.Base*int64(min(1<<b.times, maxBackoff))
}

// Retransmitted records a retransmission.
func (b *Backoff) Retransmitted(now int64) {
	b.last = now
	if 1<<b.times < maxBackoff {
		b.times++
	}
}
