// Package external tests the examples of parties' own programs against Choir's own
// optimiser.
package external

import (
	"context"
	"encoding/json"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/external"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

const parties, features, rounds = 3, 4, 3

// config is logistic regression with two shards a party.
func config() pvi.Config {
	return pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 2, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}},
		Features: features, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.5, FracBits: 22,
		DampingBits: 16, Damping: 0.5, DampingDecay: 0.1, Beta: 0.5,
	}
}

// records are a party's, from a seed.
func records(party int) bayes.Data {
	r := mathrand.New(mathrand.NewPCG(uint64(party), 5))
	var d bayes.Data
	for range 30 {
		x := []float64{r.Float64()*2 - 1, r.Float64()*2 - 1, r.Float64()*2 - 1, 1}
		d.X = append(d.X, x...)
		y := 0.0
		if 3*x[0]-2*x[1]+r.NormFloat64() > 0 {
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	return d
}

// plain changes nothing of a plan's application.
func plain(*app.PVI) {}

// plan is a plan without noise, so that two sessions of it can be compared.
func plan(t *testing.T, change func(*app.PVI)) (protocol.BoundPlan, []*identity.PrivateKey, *app.PVI) {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target:  dataset.Binary("y", "no", "yes"),
		Missing: dataset.Refuse, Unseen: dataset.Refuse}
	for _, name := range []string{"a", "b", "c"} {
		schema.Columns = append(schema.Columns, dataset.Numeric(name, -1, 1))
	}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var members []protocol.Member
	var keys []*identity.PrivateKey
	for i, role := range []protocol.Role{protocol.RoleParty, protocol.RoleParty, protocol.RoleParty,
		protocol.RoleCompute, protocol.RoleCompute, protocol.RoleAggregator} {
		k, err := identity.Generate(mathrand.NewChaCha8([32]byte{byte(i)}))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
		members = append(members, terms.NewMember([]string{"p-1", "p-2", "p-3", "c-1", "c-2", "agg"}[i], role,
			k.Public()))
	}
	terms := terms.Terms{Name: "own", Members: members, Created: time.Now(), Lifetime: time.Hour,
		Suite:  channel.SuiteX25519,
		Rounds: rounds, Deadline: 30 * time.Second, Grace: 20 * time.Millisecond, Noise: protocol.NoiseNone}
	l := &app.PVI{Version: 1, PVI: config(), Weights: []float64{0.25, 0.25, 0.5},
		Schema: json.RawMessage(raw)}
	change(l)
	p, err := terms.Plan(l)
	if err != nil {
		t.Fatal(err)
	}
	byIndex := make([]*identity.PrivateKey, len(keys))
	for _, k := range keys {
		i, ok := p.Index(k.Public())
		if !ok {
			t.Fatal("a key is not on the roster")
		}
		byIndex[i] = k
	}
	return protocol.Bind(p), byIndex, l
}

// learn runs a session over an embedded NATS server, with the parties' updates
// computed by command, or by Choir itself, and returns the final state.
func learn(t *testing.T, command []string, change func(*app.PVI)) []int64 {
	t.Helper()
	s, keys, l := plan(t, change)
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	sides := make([]app.Party, parties)
	for i := range sides {
		seat := app.PartyConfig{Plan: s.Plan, Party: uint32(i), Data: records(i)}
		if command != nil {
			seat.Outside = func(d bayes.Data, _ int) (pvi.Outside, error) {
				return external.New(external.Config{Command: command, Stderr: os.Stderr}, l.PVI,
					external.Records{Data: d})
			}
		}
		if sides[i], err = l.Join(seat); err != nil {
			t.Fatal(err)
		}
	}
	local := &run.Local{Session: s, Keys: keys, Resend: 5 * time.Second, GiveUp: time.Minute,
		Model:    l.Model(s.Plan),
		Connect:  run.OverNATS(t.Context(), s, natsbus.Config{Server: server}),
		App:      func(i uint32) protocol.Application { return sides[i] },
		Proposer: func(i uint32) protocol.Proposer { return sides[i] },
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	report, err := local.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return report.Model
}

// TestGoExample: three parties whose updates a separate program computes end, over
// NATS, in exactly the state that Choir's own optimiser leads to; also where the first round
// measures the columns, by which later ones encode the records, and where records are held out.
func TestGoExample(t *testing.T) {
	program := filepath.Join(t.TempDir(), "logistic")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "./go").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, change := range map[string]func(*app.PVI){
		"plain":    plain,
		"measured": func(l *app.PVI) { l.CentreRounds = 1 },
		"evaluated": func(l *app.PVI) {
			l.Evaluation = &evaluate.Config{Every: 1, HeldOut: 0.3, Bins: 2, Low: -3, Records: 100}
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := learn(t, []string{program}, change), learn(t, nil, change)
			if !slices.Equal(got, want) {
				t.Errorf("the program leads to %v, Choir to %v", got, want)
			}
			if start := config().Initial(); slices.Equal(want[:len(start)], start) {
				t.Error("nothing was learnt: the comparison would hold for any program")
			}
		})
	}
}
