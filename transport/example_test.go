package transport_test

import (
	"context"
	"fmt"

	"choir/transport"
	"choir/transport/memory"
)

// A subscription replays the history, delivers new messages in the bus's total order, and
// resumes after a restart.
func ExampleBus() {
	ctx := context.Background()
	hub := memory.NewHub()
	var sender, receiver transport.Bus = hub.Connect("sender"), hub.Connect("receiver")
	defer sender.Close()
	defer receiver.Close()
	err := sender.Publish(ctx,
		transport.Message{Subject: "plan.round.1", Data: []byte("open")},
		transport.Message{Subject: "other.round.1", Data: []byte("not for this plan")},
		transport.Message{Subject: "plan.round.2", Data: []byte("open again")},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	from := uint64(0)
	for range 2 { // each time a new process
		s, err := receiver.Subscribe(ctx, []string{"plan.round.*"}, from)
		if err != nil {
			fmt.Println(err)
			return
		}
		m, err := s.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s: %s\n", m.Seq, m.Subject, m.Data)
		from = m.Resume
		if err := s.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 1 plan.round.1: open
	// 3 plan.round.2: open again
}
