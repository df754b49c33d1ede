package member

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/internal/rig"
)

func noEnv(string) (string, bool) { return "", false }

// TestPrecedence: flag over environment over file; paths in the file are
// relative to it, others to the working folder.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	path := rig.WriteFile(t, dir, "r.toml",
		"plan_file = \"p\"\nkey_file = \"/k\"\nstore_file = \"s\"\n[bus]\nurl = "+
			"\"nats://file:1\"\n[timing]\nresend = \"1s\"\nidle = \"2s\"\n")
	env := func(key string) (string, bool) {
		v, ok := map[string]string{"CHOIR_BUS_URL": "nats://env:1", "CHOIR_TIMING_RESEND": "3s",
			"CHOIR_STORE_FILE": "here"}[key]
		return v, ok
	}
	c, err := LoadConfig(path, env, map[string]string{"bus.url": "nats://flag:1"})
	if err != nil {
		t.Fatal(err)
	}
	if c.PlanFile != filepath.Join(dir, "p") || c.KeyFile != "/k" || c.StoreFile != "here" {
		t.Errorf("paths: %q, %q, %q", c.PlanFile, c.KeyFile, c.StoreFile)
	}
	if c.Bus.URL != "nats://flag:1" || c.Timing.Resend.Duration != 3*time.Second ||
		c.Timing.Idle.Duration != 2*time.Second {
		t.Errorf("settings: %+v %+v", c.Bus, c.Timing)
	}
}

// TestStrictTOML: unknown keys and wrong types are fatal, with file and line.
func TestStrictTOML(t *testing.T) {
	for text, want := range map[string]string{
		"plan_file = \"p\"\ncolour = 1\n":         "r.toml:2: unknown key \"colour\"",
		"[bus]\nurl = \"x\"\npassword = \"p\"\n":  "r.toml:3: unknown key \"bus.password\"",
		"plan_file = 3\n":                         "r.toml:1:",
		"plan_file = \n":                          "r.toml:1:",
		"[timing]\nresend = \"soon\"\n":           "isn't a duration",
		"[timing]\nresend = \"-1s\"\n":            "isn't a duration",
		"[timing]\nresend = 15\n":                 "\"15\" isn't a duration",
		"[timing]\nidle = 1.5\n":                  "\"1.5\" isn't a duration",
		"plan_file = \"p\"\nplan_file = \"q\"\n ": "r.toml:",
	} {
		_, err := LoadConfig(rig.WriteFile(t, t.TempDir(), "r.toml", text), noEnv, nil)
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSettingsAreComplete: every key of the file can be given as a flag and in
// the environment.
func TestSettingsAreComplete(t *testing.T) {
	flags := map[string]string{}
	for _, s := range Settings() {
		flags[s.Key()] = "7s"
		switch s.any.(type) {
		case *config.Count:
			flags[s.Key()] = "7"
		case *config.Share:
			flags[s.Key()] = "0.7"
		case *config.Switch:
			flags[s.Key()] = "true"
		}
		if s.Help == "" || strings.ContainsAny(s.Flag(), "._") {
			t.Errorf("%s: flag %q, help %q", s.Key(), s.Flag(), s.Help)
		}
	}
	c, err := LoadConfig("", noEnv, flags)
	if err != nil {
		t.Fatal(err)
	}
	set := 0
	for _, s := range c.settings() {
		if s.any != nil {
			switch v := s.any.(type) {
			case *config.Duration:
				set += int(v.Duration / (7 * time.Second))
			case *config.Count:
				set += int(*v / 7)
			case *config.Share:
				set += int(*v / 0.7)
			case *config.Switch:
				if *v {
					set++
				}
			}
		} else if *s.text == "7s" {
			set++
		}
	}
	if set != len(flags) || set < 20 {
		t.Errorf("%d of %d settings took their flag", set, len(flags))
	}
}
