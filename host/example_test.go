package host_test

import (
	"context"
	"fmt"

	"choir/host"
	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
)

// echo is a machine that answers each message once and ends after two. A message whose answer is
// in its store is a duplicate.
type echo struct {
	view     protocol.View
	answered int
}

func newEcho(view protocol.View) *echo {
	return &echo{view: view, answered: len(view.Keys("answered/"))}
}

func (e *echo) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	d, ok := ev.(protocol.Delivery)
	if !ok {
		return eff
	}
	key := "answered/" + string(d.Data)
	if e.view.Get(key) != nil {
		return eff
	}
	e.answered++
	eff.Put(key, d.Data) // durable before the answer leaves
	eff.Emit("answers", append([]byte("re: "), d.Data...))
	if e.answered == 2 {
		eff.Finish(nil)
	}
	return eff
}

// Run drives a machine with a bus and a store. Here the bus and the store are in memory.
func ExampleRun() {
	ctx := context.Background()
	hub := memory.NewHub()
	client := hub.Connect("client")
	for _, question := range []string{"one", "one", "two"} {
		m := transport.Message{Subject: "questions", Data: []byte(question)}
		if err := client.Publish(ctx, m); err != nil {
			fmt.Println(err)
			return
		}
	}
	journal := host.NewJournal(host.NewRam())
	err := host.Run(ctx, host.Config{
		Machine: newEcho(journal),
		Journal: journal,
		Bus:     hub.Connect("echo"),
		Filters: []string{"questions"},
	})
	fmt.Println("ended:", err)
	s, err := client.Subscribe(ctx, []string{"answers"}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		m, err := s.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", m.Data)
	}
	// Output:
	// ended: <nil>
	// re: one
	// re: two
}
