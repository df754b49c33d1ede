package main

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"choir/internal/broker"
)

// TestBrokerHelp: the help of choir broker names every setting of its file, also those without a flag.
func TestBrokerHelp(t *testing.T) {
	help, err := exec.Command(binary(t), "broker", "--help").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	settings := reflect.TypeFor[broker.Config]()
	for i := range settings.NumField() {
		if name := settings.Field(i).Tag.Get("toml"); !strings.Contains(string(help), name) {
			t.Errorf("the help doesn't name %s", name)
		}
	}
}
