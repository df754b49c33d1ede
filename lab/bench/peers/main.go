// Command peers measures other protocols for the same task, secure sums of integer
// vectors, in the same run and on the same primitives as Choir's own, and lists what each of
// them guarantees that Choir does not, and the other way round.
//
//	go run . [--dim 10000] [--parties 50] [--out FOLDER]
//
// Costs are processor time on one core: a client's for one contribution, and one
// server's or node's for accepting one contribution. Every peer's sum is compared with the
// plain sum; a peer that is wrong is an error.
//
// It is a separate module, so that Choir's users do not need its dependencies.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"choir/internal/atomicfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "peers: error: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, out := Config{}, ""
	flag.IntVar(&cfg.Dim, "dim", 10000, "coordinates, d")
	flag.IntVar(&cfg.Parties, "parties", 50, "parties, N")
	flag.IntVar(&cfg.Computes, "compute-nodes", 3, "compute nodes of Choir and of the classic DCA, M")
	flag.IntVar(&cfg.Repeats, "repeats", 3, "repetitions; the median counts")
	flag.StringVar(&out, "out", "", "folder for peers.json and peers.md; JSON on stdout when empty")
	flag.Parse()
	d, err := Measure(ctx, cfg)
	if err != nil {
		return err
	}
	text, err := atomicfile.EncodeJSON(d)
	if err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.Write(text)
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(out, "peers.json"), text); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(out, "peers.md"), []byte(d.Markdown()))
}
