package channel_test

import (
	"crypto/rand"
	"fmt"
	"log"

	"choir/crypto/channel"
)

// A party initiates a channel to the key of a node. Both derive the same key for a message, which the
// party seals in chunks.
func Example() {
	node, err := channel.GenerateKey(channel.SuiteHybrid, rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	info := []byte("plan, party, node")
	enc, secret, err := channel.Initiate(channel.SuiteHybrid, node.Public(), info)
	if err != nil {
		log.Fatal(err)
	}
	context := []byte("round 1, attempt 1")
	sender, err := channel.NewBox(secret.Derive("example contribution key", context), context)
	if err != nil {
		log.Fatal(err)
	}
	sealed := sender.Seal(nil, 0, true, []byte("an explicit share"))

	accepted, err := channel.Accept(node, enc, info)
	if err != nil {
		log.Fatal(err)
	}
	receiver, err := channel.NewBox(accepted.Derive("example contribution key", context), context)
	if err != nil {
		log.Fatal(err)
	}
	opened, err := receiver.Open(nil, 0, true, sealed)
	fmt.Printf("%s %v\n", opened, err)

	_, err = receiver.Open(nil, 1, true, sealed) // another index
	fmt.Println(err)
	fmt.Println(secret)
	// Output:
	// an explicit share <nil>
	// channel: the sealed chunk does not open (chunk 1)
	// channel.Secret(redacted)
}
