package main

import (
	"github.com/spf13/cobra"

	"choir/attack/simulate"
	"choir/lab/uci"
)

func experimentNames() (names []string) {
	for _, e := range experiments() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.About))
	}
	return names
}

func dataSetNames() []string { return uci.Names() }

func profileNames() (names []string) {
	for _, p := range simulate.Profiles() {
		names = append(names, p.Name)
	}
	return names
}
