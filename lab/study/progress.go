package study

import (
	"fmt"
	"time"
)

// steps counts what a study has done.
type steps struct {
	done, all int
	began     time.Time
}

// Begin states how many steps the study has; Tell ends one.
func (o Options) Begin(all int) Options {
	o.steps = &steps{all: all, began: time.Now()}
	o.status()
	return o
}

// Tell reports that a step is done, and which.
func (o Options) Tell(step string) {
	if o.steps != nil {
		o.steps.done++
		step = fmt.Sprintf("[%d/%d] %s", o.steps.done, o.steps.all, step)
		o.status()
	}
	if o.Progress != nil {
		o.Progress(step)
	}
}

func (o Options) status() {
	if o.Status != nil {
		o.Status(o.steps.String())
	}
}

// String is the number of steps and the time that is left, if all take alike.
func (s *steps) String() string {
	text := fmt.Sprintf("%d of %d steps", s.done, s.all)
	if s.done == 0 || s.done >= s.all {
		return text
	}
	left := time.Since(s.began) / time.Duration(s.done) * time.Duration(s.all-s.done)
	return fmt.Sprintf("%s, about %s left", text, left.Round(time.Second))
}

// Keep hands over what is finished of a result.
func (o Options) Keep(r *Result) {
	if o.Kept != nil && len(r.Rows) > 0 {
		part := *r
		part.Unfinished = true
		o.Kept(&part)
	}
}
