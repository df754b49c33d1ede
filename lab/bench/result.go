package bench

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// schemaVersion is the version of every document that this package writes.
const schemaVersion = 1

// Machine is what a figure was measured on: no names of hosts, no folders.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"` // that this process may use
	MemoryBytes int64  `json:"memory_bytes"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	// of the last minute, as the run began; this many processes competed
	Load float64 `json:"load_average"`
}

// ThisMachine describes the machine as far as its system tells.
func ThisMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.GOMAXPROCS(0), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if v, ok := procField("/proc/cpuinfo", "model name"); ok {
		m.CPU = v
	}
	if v, ok := procField("/proc/meminfo", "MemTotal"); ok {
		kib, _ := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64)
		m.MemoryBytes = kib << 10
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// procField is the value of the first line "name: value" of a file.
func procField(path, name string) (string, bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// Versions are those of Choir and of the modules that a figure depends on.
func Versions() map[string]string {
	v := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v[info.Main.Path] = info.Main.Version // with the commit, where the Go tool knows it
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "filippo.io/edwards25519",
			"go.etcd.io/bbolt", "github.com/cloudflare/circl":
			v[d.Path] = d.Version
		}
	}
	return v
}

// Result is one cell, as choir bench dca prints it. All times are means over the rounds of the session
// whose rounds take the median time. Phases are their parts: each by itself under the stream driver, also
// when the session ran under the host driver.
type Result struct {
	Header
	Suite string `json:"suite"`
	Config

	Checked string `json:"checked"` // how the sum was held against the plain one

	UploadBytesPerParty int64 `json:"upload_bytes_per_party"` // the most that one party published in a round
	UploadSetupBytes    int64 `json:"upload_setup_bytes"`     // and once a plan, for its channels
	// of each role: parties, compute nodes, the aggregator
	Traffic []RoleTraffic `json:"traffic"`
	// the most that a node held, right after a collection
	NodeLiveBytes int64 `json:"node_live_bytes"`
	// twice that: Go's collector lets the heap double
	NodePeakBytes int64 `json:"node_peak_bytes"`
	// resident, all members together; 0 where unknown
	ProcessPeakBytes int64 `json:"process_peak_bytes"`

	SecondsSetup float64 `json:"seconds_setup"` // channels, once a plan
	CPUSetup     float64 `json:"cpu_seconds_setup"`
	// processor time of its channels' encapsulations and decapsulations alone, and how many
	// times that it takes
	LimitSetup float64 `json:"limit_cpu_seconds_setup"`
	SetupRatio float64 `json:"setup_ratio"`
	// from the round's opening until the aggregator has the sum; under the host driver until the last
	// member has checked and stored the result
	SecondsRound float64 `json:"seconds_round"`
	// until the aggregator has the sum
	SecondsAggregate float64 `json:"seconds_aggregate"`
	// of each session, in order; the first has cold caches and memory that was never touched
	RoundsAll []float64 `json:"seconds_round_all"`
	// their first quartile, median and third quartile, interpolated; of two sessions or more
	Quartiles []float64 `json:"seconds_round_quartiles,omitempty"`
	// sampling all parties' noise, outside of the round
	SecondsNoise float64 `json:"seconds_noise"`
	SecondsTotal float64 `json:"seconds_total"` // all three
	// where sampling took place: "apart", or which of the others it is part of; "" without noise
	NoiseIn  string  `json:"noise_in"`
	CPURound float64 `json:"cpu_seconds_round"`

	Limits  Limits  `json:"limits"`
	AddPath AddPath `json:"add_path"`
	// keystream, addition, sealing and opening of the round, on all cores
	LimitRound float64  `json:"limit_seconds_round"`
	Bare       *Bare    `json:"bare_transfer,omitempty"`
	LimitRatio float64  `json:"limit_ratio"` // see LimitOf
	LimitOf    string   `json:"limit_of"`
	Phases     []*Phase `json:"phases"`
}

// Bare is the transfer of a session's messages without the session: the same
// members publish the same number of bytes in the same pieces to an equal broker,
// and the same members read them.
type Bare struct {
	Seconds float64   `json:"seconds"` // the median of the repetitions
	All     []float64 `json:"all"`
	// of the whole process, broker included; of the last repetition
	CPUSeconds   float64 `json:"cpu_seconds"`
	SetupSeconds float64 `json:"setup_seconds"` // of the set-up's messages
	Messages     int     `json:"messages"`
	Bytes        int64   `json:"bytes"`      // published
	ReadBytes    int64   `json:"read_bytes"` // delivered
}

// setTraffic sets what depends on the messages.
func (r *Result) setTraffic(t []RoleTraffic) {
	r.Traffic = t
	r.UploadSetupBytes, r.UploadBytesPerParty = t[0].Setup.BytesSent, t[0].Round.BytesSent
}

// Phase finds a phase, or one of zeros.
func (r *Result) Phase(role, name string) Phase {
	for _, p := range r.Phases {
		if p.Role == role && p.Phase == name {
			return *p
		}
	}
	return Phase{}
}

// peakResident is the process's largest resident size so far.
func peakResident() int64 {
	v, ok := procField("/proc/self/status", "VmHWM")
	if !ok {
		return 0
	}
	kib, _ := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64)
	return kib << 10
}
