package study

import (
	"context"
	"slices"
)

// Study is an experiment by name.
type Study struct {
	Name  string
	About string
	// Run runs the seeds and returns what it found. It writes nothing that stays.
	Run func(ctx context.Context, o Options) (*Result, error)
}

// Transport is how the members of a study's sessions are connected.
type Transport string

// The transports.
const (
	Memory Transport = "memory" // in this process
	NATS   Transport = "nats"   // over an embedded server, with stores on disk
)

// Options are the choices of the caller of a study.
type Options struct {
	Seeds     int
	First     int // the first seed; 0 is 1
	Transport Transport
	Dir       string   // for what a session over NATS keeps while it runs
	DataDir   string   // the folder of the papers' data sets
	Figures   []string // formats of the figures
	// Only restricts a study to some of its methods or cases, by name; see Picks.
	Only []string
	// Progress receives a line for each step that is done, Status the number of steps, and
	// Kept what is finished of the result. Each may be nil.
	Progress func(string)
	Status   func(string)
	Kept     func(*Result)
	// Quick shrinks a study to what a test has time for. Its figures mean nothing.
	Quick bool

	steps *steps
}

// Each lists the seeds.
func (o Options) Each() (seeds []int) {
	for i := range o.Seeds {
		seeds = append(seeds, max(1, o.First)+i)
	}
	return seeds
}

// Picks reports whether one of several methods, or cases, is to be run: all are unless Only
// names some of them.
func (o Options) Picks(name string, all ...string) bool {
	named := slices.ContainsFunc(all, func(s string) bool { return slices.Contains(o.Only, s) })
	return !named || slices.Contains(o.Only, name)
}

// Count is how many of several methods, or cases, are to be run.
func (o Options) Count(all ...string) (n int) {
	for _, name := range all {
		if o.Picks(name, all...) {
			n++
		}
	}
	return n
}

// Result is what a study found.
type Result struct {
	SchemaVersion int       `json:"schema_version"`       // 1
	Unfinished    bool      `json:"unfinished,omitempty"` // interrupted: rows are missing
	Name          string    `json:"name"`
	Title         string    `json:"title"`
	Source        string    `json:"source"`          // what is repeated, cited
	About         []string  `json:"about,omitempty"` // paragraphs in Markdown before the table
	Seeds         int       `json:"seeds"`           // 1..Seeds
	Transport     Transport `json:"transport"`
	Settings      []Setting `json:"settings"`
	Spent         []Spent   `json:"spent"`
	Rows          []Row     `json:"rows"`
	// Calibration has the methods whose posteriors predict or have intervals.
	Calibration []Calibration `json:"calibration,omitempty"`
	Panels      []Panel       `json:"panels"`
	Notes       []string      `json:"notes,omitempty"` // paragraphs after the table
}

// Setting is a hyper-parameter or another choice.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Spent is what a method's sessions cost: the accountant's upper bound for the noise
// that was added.
type Spent struct {
	Method     string  `json:"method"`
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"`
	Relation   string  `json:"relation"`
	Noise      string  `json:"noise"` // how much of it, where, over how many releases
}

// Measure is what a row counts.
type Measure string

// The measures.
const (
	Accuracy      Measure = "accuracy"
	LogLikelihood Measure = "log-likelihood" // mean, nats a test row
	MAE           Measure = "mean absolute error"
	RelativeMAE   Measure = "mean absolute error, relative"
	KL            Measure = "KL divergence" // nats
	EpsilonOf     Measure = "epsilon"
	Seconds       Measure = "seconds"
	Variance      Measure = "variance, relative"
	Coverage      Measure = "coverage"
	Distance      Measure = "distance"
	Width         Measure = "width, relative"
	ECE           Measure = "expected calibration error"
)

// more tells whether more of a measure is better.
func (m Measure) more() bool { return m == Accuracy || m == LogLikelihood }

// Row is one figure: the paper's, ours, and the difference.
type Row struct {
	Case    string  `json:"case"`
	Method  string  `json:"method"`
	Measure Measure `json:"measure"`
	Paper   *Figure `json:"paper,omitempty"` // nil: the paper has none
	Bar     float64 `json:"bar,omitempty"`   // what we set out to reach; 0: nothing
	// mean (with its standard error) or median (with the one of its order statistics)
	Statistic string `json:"statistic"`

	Values  []float64 `json:"values"` // by seed
	Ours    float64   `json:"ours"`
	SE      float64   `json:"standard_error"` // 0 with one seed: unknown
	Verdict Verdict   `json:"verdict"`
	Why     string    `json:"why,omitempty"`
}

// Figure is a published number.
type Figure struct {
	Value     float64 `json:"value"`
	Precision float64 `json:"precision"` // how exactly it could be read
	Where     string  `json:"where"`     // table or figure
}

// Panel is a picture of a result.
type Panel struct {
	Title  string  `json:"title"`
	XLabel string  `json:"x_label"`
	YLabel string  `json:"y_label"`
	LogX   bool    `json:"log_x,omitempty"`
	LogY   bool    `json:"log_y,omitempty"`
	YMin   float64 `json:"y_min,omitempty"`
	YMax   float64 `json:"y_max,omitempty"`
	Curves []Curve `json:"curves"`
	Levels []Level `json:"levels,omitempty"`
	// Categories label X = 0, 1, 2, ...; the curves are then dots with a bar at their mean.
	Categories []string `json:"categories,omitempty"`
}

// Curve is a line with an error band of one standard error, if SE is set.
type Curve struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	SE   []float64 `json:"standard_error,omitempty"`
}

// Level is a horizontal line.
type Level struct {
	Name string  `json:"name"`
	Y    float64 `json:"y"`
}
