// Package broker configures and runs the embedded NATS server as a broker.
package broker
