// Package broker runs the embedded NATS server as a broker: its settings, token or users, and what it
// logs. Clients are in package natsbus.
package broker
