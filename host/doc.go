// Package host is the one place that does I/O. It drives a role's pure machine
// by the contract of protocol.Machine:
//
//	bus -> Step -> make durable -> publish -> compute -> wait
//
// A batch of messages that is already waiting is stepped through together and
// made durable in one transaction, with the position on the bus up to which it
// was read, before anything that those steps send leaves the process. A process
// that is killed anywhere builds its machine anew from the store and goes on;
// what it reads again it takes in once.
//
// Keys are opened and data is sealed inside the machines, which the simulator
// drives as well; host moves bytes.
package host
