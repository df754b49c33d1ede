package simulate

// event is an event at a virtual time.
type event struct {
	at          int64
	seq         uint64 // order among events of the same time
	kind        eventKind
	to          int // member
	incarnation int // of the member; an event of an earlier one is dropped, -1: any
	msg         *message
	work        *proposal
}

type eventKind uint8

const (
	arrive      eventKind = iota // msg reaches the member's connection
	turn                         // the member takes a batch
	wake                         // a tick is due
	thought                      // an update is computed
	boot                         // the process starts
	halt                         // the process ends without notice
	reconnected                  // the connection is back: waiting messages are sent
)

// queue is a binary heap of events by time, then by order of arrival.
type queue struct {
	heap []event
	seq  uint64
}

func (q *queue) push(e event) {
	q.seq++
	e.seq = q.seq
	q.heap = append(q.heap, e)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(i, up) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *queue) pop() event {
	top, last := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < last && q.less(c, least) {
				least = c
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

func (q *queue) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.at < b.at || (a.at == b.at && a.seq < b.seq)
}
