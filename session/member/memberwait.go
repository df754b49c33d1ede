package member

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Times at which a member reports that it waits for the broker.
const (
	firstReport = time.Second
	nextReports = 15 * time.Second
)

// reportWait logs that the broker hasn't answered yet, first after firstReport,
// until the function that it returns is called.
func (m *Member) reportWait() (stop func()) {
	since, done := time.Now(), make(chan struct{})
	message := fmt.Sprintf("waiting for the broker at %s since %s", m.Config.Bus.URL, since.Format(time.TimeOnly))
	go func() {
		for wait := firstReport; ; wait = nextReports {
			select {
			case <-done:
				return
			case <-time.After(wait):
				m.Log.Info(message, "event", "waiting", "broker", m.Config.Bus.URL, "since", since.UTC().Format(time.RFC3339))
			}
		}
	}()
	return func() { close(done) }
}

// lastAttempt is the error of the last attempt to connect, without the end of
// the context that ended the attempts.
func lastAttempt(err error) error {
	if both, ok := err.(interface{ Unwrap() []error }); ok {
		if list := both.Unwrap(); len(list) == 2 && errors.Is(list[0], context.Canceled) {
			return list[1]
		}
	}
	return err
}
