// Package bench measures the protocol: real parties, compute nodes and
// aggregators with keys, channels, sealing, signatures, agreement and noise, and
// with each figure the limit of the same machine in the same run.
//
// The contract:
//
//   - What is timed is what is deployed: the machines of party, compute and
//     aggregator. Every run's sum is held against the plain sum of the same rows,
//     exactly without noise and by its distribution with it; a run whose sum is
//     wrong is an error, never a result.
//   - Two drivers. The host driver runs sessions as a deployment does, host.Run
//     for each member over a transport, and measures wall time. The stream driver
//     steps the same machines directly, some parties at a time, so that 100,000
//     parties fit into one process; each phase runs by itself on all cores and its
//     wall time, processor time and allocations are exact. Messages cost a copy there.
//   - Limits are rates of this machine: keystream and addition, AES-GCM, and the bare
//     transfer of the same bytes over the same broker. A ratio to a limit is the
//     fraction of it that was reached, 1 at best, formed from processor time where
//     both sides are computation (so that a busy machine disturbs both alike) and
//     from wall time where they are transfers.
//   - Results carry no names of hosts or folders.
package bench
