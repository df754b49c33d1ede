package protocol

// Backoff is how long a machine waits before it says its last words again: Base after
// something moved, and twice as long after each time that nothing came of it, up to
// MaxBackoff times Base (the backing off of RFC 6298, section 5.5). Members whose words
// take longer than Base to come through would otherwise add the same words again and
// again to what the bus has to carry already, until it carries nothing else.
type Backoff struct {
	Base  int64 // ms
	moved int64 // when something had moved, as of the last look
	said  int64
	times int
}

// MaxBackoff is in units of Base.
const MaxBackoff = 8

// Due is when the words are due again; moved is when something last moved. Both are times
// of the machine's clock, in ms.
func (p *Backoff) Due(moved int64) int64 {
	if moved != p.moved {
		p.moved, p.said, p.times = moved, moved, 0
	}
	return p.said + p.Base*int64(min(1<<p.times, MaxBackoff))
}

// Retransmitted notes that the words were said again.
func (p *Backoff) Retransmitted(now int64) {
	p.said = now
	if 1<<p.times < MaxBackoff {
		p.times++
	}
}
