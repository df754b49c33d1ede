package main

import (
	"context"
	"fmt"

	"choir/lab/bench"
)

const dca = "Choir's DCA: one explicit share, M-1 from seeds; no proofs of range"

// choirTwo is Choir with as many nodes as Prio3 has aggregators.
func choirTwo(ctx context.Context, cfg Config) (Row, error) {
	return choirRow(ctx, "Choir, M = 2", cfg, 2)
}

// choirMany is Choir with the nodes asked for.
func choirMany(ctx context.Context, cfg Config) (Row, error) {
	return choirRow(ctx, choirName(cfg), cfg, cfg.Computes)
}

func choirName(cfg Config) string { return fmt.Sprintf("Choir, M = %d, all nodes", cfg.Computes) }

// choirRow is a round of real machines, without noise, which no peer adds: encoding,
// sharing, sealing and signing at the client; verifying, opening, adding and the
// receipt at a node.
func choirRow(ctx context.Context, name string, cfg Config, nodes int) (Row, error) {
	row := Row{Name: name, Source: dca, Parties: cfg.Parties, Servers: nodes, Messages: 1}
	r, err := bench.Run(ctx, bench.Config{Parties: cfg.Parties, Dim: cfg.Dim, Computes: nodes,
		Driver: bench.DriverStream, Pairs: bench.PairsNo})
	if err != nil {
		return row, err
	}
	for _, phase := range []string{"encode", "share"} {
		row.ClientSeconds += r.Phase("party", phase).CPUSeconds / float64(cfg.Parties)
	}
	for _, phase := range []string{"verify", "open", "add", "receipts"} {
		row.ServerSeconds += r.Phase("compute", phase).CPUSeconds / float64(cfg.Parties*nodes)
	}
	row.UploadBytes = r.UploadBytesPerParty
	return row, nil
}

const overNATS = "Choir over NATS"

// choirNATS is a whole session over a file-backed JetStream, every member with a
// connection and a store in a file.
func choirNATS(ctx context.Context, cfg Config) (Row, error) {
	row := Row{Name: overNATS, Source: dca, Parties: cfg.Parties, Servers: cfg.Computes, Messages: 1}
	r, err := bench.Run(ctx, bench.Config{Parties: cfg.Parties, Dim: cfg.Dim, Computes: cfg.Computes,
		Transport: bench.NATS})
	if err != nil {
		return row, err
	}
	row.RoundSeconds, row.UploadBytes = r.SecondsRound, r.UploadBytesPerParty
	return row, nil
}
