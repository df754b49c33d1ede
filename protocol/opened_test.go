package protocol

import (
	"reflect"
	"testing"
)

// TestOpenedRecord: a stored sum is read as it was written, with its parties or without; cut short it is
// refused.
func TestOpenedRecord(t *testing.T) {
	for name, want := range map[string]Opened{
		"parties":    {Round: 3, Counted: 2, Set: []int{0, 7}, Sum: []int64{5, -6, 0}},
		"none known": {Round: 3, Counted: 2, Sum: []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			value := want.Record().Value
			got := Opened{Round: 3}
			if err := got.parse(value); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
			for n := range 8 + 4*len(want.Set) {
				if err := new(Opened).parse(value[:n]); err == nil {
					t.Errorf("%d of %d bytes are read", n, len(value))
				}
			}
		})
	}
}
