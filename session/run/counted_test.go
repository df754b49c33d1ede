package run_test

import (
	"bytes"
	"strings"
	"testing"

	"choir/host"
	"choir/protocol"
	"choir/session/run"
)

// TestStoppedTranscript: the record of a session that stopped ends with the last result's Confirms, in roster
// order, once the aggregator has those of all nodes. It follows an Abort with nothing.
func TestStoppedTranscript(t *testing.T) {
	store := host.NewRam()
	put := func(key string, value ...byte) {
		if err := store.Apply([]protocol.Record{{Key: key, Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(entries ...string) {
		t.Helper()
		got := bytes.Join(run.Transcript(store), []byte(" "))
		if string(got) != strings.Join(entries, " ") {
			t.Errorf("%q, want %q", got, entries)
		}
	}
	put("confirm/3/1/9", []byte("nine")...)
	want()
	put("transcript/00000000", []byte("first")...)
	put("confirming", make([]byte, 40+2*16)...)
	want("first")
	put("confirm/3/1/10", []byte("ten")...)
	want("first", "nine", "ten")
	put("transcript/00000001", byte(protocol.KindAbort))
	want("first", string([]byte{byte(protocol.KindAbort)}))
}
