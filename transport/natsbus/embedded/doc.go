// Package embedded runs a NATS server with JetStream in this process: the broker of a session on one
// machine, and of deployments without a NATS cluster.
package embedded
