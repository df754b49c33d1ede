package member

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"choir/host"
	"choir/learn/bayes"
	"choir/protocol"
	"choir/session/app"
)

// recordsKey is the key of a party's records in its store, for each plan: u64 number | sha256 of the encoded
// records, in order. It stays there.
const recordsKey = "records"

// digestRecords returns what is kept of records.
func digestRecords(d bayes.Data) []byte {
	h := sha256.New()
	var b [8]byte
	for _, values := range [][]float64{d.X, d.Y} {
		for _, v := range values {
			binary.BigEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:])
		}
	}
	return h.Sum(binary.BigEndian.AppendUint64(nil, uint64(d.Rows())))
}

// digestRow is digestRecords of the row of a plan of sums.
func digestRow(v app.Fixed) []byte {
	sum := sha256.Sum256(protocol.PackInts(v))
	return append(binary.BigEndian.AppendUint64(nil, 1), sum[:]...)
}

// keepRecords checks that a party's data is what its store began the plan with, and keeps what it is until
// the first contribution.
func (m *Member) keepRecords(store *host.Scoped) error {
	if err := m.sameRecords(store); err != nil || m.records == nil {
		return err
	}
	if bytes.Equal(store.Get(recordsKey), m.records) {
		return nil
	}
	return store.Apply([]protocol.Record{{Key: recordsKey, Value: m.records}})
}

// sameRecords refuses other data than a party's contributions and its private state are of.
func (m *Member) sameRecords(store *host.Scoped) error {
	began := m.recordsBefore(store)
	if m.records == nil || began == nil || store.Get("done") != nil || bytes.Equal(began, m.records) {
		return nil
	}
	what := "other values, or another order"
	if then, now := numberOf(began), numberOf(m.records); then != now {
		what = fmt.Sprintf("%d records then, %d now", then, now)
	}
	return protocol.Fail(protocol.ClassInput,
		"data_file is not the file this plan began with (%s): put it back, or make a new plan", what)
}

func numberOf(records []byte) uint64 {
	if len(records) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(records)
}

// recordsBefore is what is kept of the records that a party has contributed to its plan, or to one before
// it; nil if there are none.
func (m *Member) recordsBefore(store *host.Scoped) []byte {
	if store.Get("attempt") != nil || store.Get("mix/state") != nil {
		return store.Get(recordsKey)
	}
	h := heir{plan: m.Session.Plan, key: m.Key.Public()}
	if link := h.link(); link != nil {
		view := scopeOf(store.Store, link.Plan)
		if view.Get("attempt") != nil {
			return view.Get(recordsKey)
		}
	}
	return nil
}
