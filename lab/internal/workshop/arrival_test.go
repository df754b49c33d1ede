package workshop

import (
	"reflect"
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
)

// TestArrivalsOverTheSecureSum: a session in which clients speak in turn gives the scores that
// sums in the clear give, to the last bit.
func TestArrivalsOverTheSecureSum(t *testing.T) {
	d := distributions()[1]
	data, err := d.adult(study.Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got [2]scores
	for i, transport := range []study.Transport{bed.Clear, study.Memory} {
		// Quick is one update of every client.
		if got[i], _, err = d.ours(t.Context(), study.Options{Transport: transport, Quick: true}, data, 1,
			1); err != nil {
			t.Fatal(err)
		}
	}
	if len(got[0].of) != 1 || got[0].at[0] != clients || !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("%+v in the clear, %+v over the secure sum", got[0], got[1])
	}
}
