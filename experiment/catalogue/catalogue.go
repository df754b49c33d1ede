// Package catalogue lists the experiments that have the common form of package study.
package catalogue

import (
	"choir/experiment/own"
	"choir/experiment/paper1"
	"choir/experiment/paper4"
	"choir/experiment/study"
	"choir/experiment/thesis"
	"choir/experiment/workshop"
)

// All is every study, in the order in which people are shown them.
func All() []study.Study {
	var all []study.Study
	for _, room := range [][]study.Study{paper1.Studies(), paper4.Studies(), {paper4.Network(), paper4.Others()}, workshop.Studies(), thesis.Studies(), own.Studies()} {
		all = append(all, room...)
	}
	return all
}
