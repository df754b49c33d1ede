package supervise

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
)

// TestMain is a child when it is told to be one.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3:])
	}
	os.Exit(m.Run())
}

func child(what string, args []string) {
	switch what {
	case "exit":
		code, err := strconv.Atoi(args[0])
		if err != nil {
			os.Exit(99)
		}
		fmt.Fprintln(os.Stderr, "leaving with", args[0])
		os.Exit(code)
	case "count": // done once a file has enough lines
		f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			os.Exit(99)
		}
		fmt.Fprintln(f, "life")
		b, err := os.ReadFile(args[0])
		if err != nil {
			os.Exit(99)
		}
		if want, _ := strconv.Atoi(args[1]); len(b) < 5*want {
			os.Exit(1)
		}
		os.Exit(0)
	case "stdin": // until the parent closes or goes
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)

	case "parent": // supervises a child that waits for its input
		err := Run(context.Background(), Config{Executable: os.Args[0], Table: args[0],
			Processes: []Process{{Name: "c", Args: []string{"child", "stdin"}}}})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(98)
}
