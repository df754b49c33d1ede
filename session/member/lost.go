package member

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"choir/transport"
)

// lostWait reports that the broker has not accepted a running member again, and why.
type lostWait struct {
	mu   sync.Mutex
	stop chan struct{} // nil: not lost
	why  error         // of the latest attempt; nil: not known
	over sync.WaitGroup
}

// longestReport is the time between two reports at last.
const longestReport = 5 * time.Minute

// begin reports after firstReport, after nextReports, and then more and more rarely.
func (l *lostWait) begin(m *Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		return
	}
	since, stop := time.Now(), make(chan struct{})
	l.stop, l.why = stop, nil
	l.over.Go(func() {
		next := nextReports
		for wait := firstReport; ; wait, next = next, min(2*next, longestReport) {
			select {
			case <-stop:
				return
			case <-time.After(wait):
				m.Log.Warn(l.report(m.Config.Bus.URL, since), "event", "waiting", "broker", m.Config.Bus.URL,
					"since", since.UTC().Format(time.RFC3339))
			}
		}
	})
}

func (l *lostWait) report(url string, since time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("waiting for the broker at %s since %s", url, since.Format(time.TimeOnly))
	switch {
	case l.why == nil:
		return text
	case errors.Is(l.why, transport.ErrFull): // it has the remedy
		return fmt.Sprintf("%s: %v", text, l.why)
	}
	return fmt.Sprintf("%s: %v: %s", text, l.why, BrokerRemedy(l.why))
}

// failed is told why an attempt to connect has failed.
func (l *lostWait) failed(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = why
}

// end ends the reports: the connection is back, or no longer needed.
func (l *lostWait) end() {
	l.mu.Lock()
	if l.stop != nil {
		close(l.stop)
	}
	l.stop = nil
	l.mu.Unlock()
	l.over.Wait()
}
