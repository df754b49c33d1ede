package collude

import (
	"context"
	"time"

	"choir/internal/cputime"
)

// ceiling is how many times its budget a run may take on the clock.
const ceiling = 10

// budget is the time of a run. What attacks may take is counted in processor time, so that other programs on
// the machine don't make them shorter. The clock only ends a run at its ceiling.
type budget struct {
	time time.Duration        // 0: no limit
	used func() time.Duration // the processor time of this process so far
	at   time.Duration        // which it had used when the run began
}

func newBudget(t time.Duration, used func() time.Duration) budget {
	if used == nil {
		used = cputime.Used
	}
	return budget{t, used, used()}
}

// late reports whether more than a share of the budget is spent.
func (b budget) late(share float64) bool {
	return b.time > 0 && (b.used()-b.at).Seconds() > share*b.time.Seconds()
}

// limited is a context that ends at the ceiling.
func (o *Options) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Time <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, ceiling*o.Time)
}
