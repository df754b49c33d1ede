// Package catalogue lists the experiments that have the common form of package study.
package catalogue

import (
	"choir/lab/internal/calibration"
	"choir/lab/internal/own"
	"choir/lab/internal/paper1"
	"choir/lab/internal/paper2"
	"choir/lab/internal/paper3"
	"choir/lab/internal/paper4"
	"choir/lab/internal/settings"
	"choir/lab/internal/thesis"
	"choir/lab/internal/threat"
	"choir/lab/internal/workshop"
	"choir/lab/study"
)

// All is every study, in the order in which people are shown them.
func All() []study.Study {
	var all []study.Study
	for _, room := range [][]study.Study{paper1.Studies(), paper2.Studies(), paper3.Studies(), paper4.Studies(),
		{paper4.Network(), paper4.Others()}, workshop.Studies(), thesis.Studies(), own.Studies(),
		{settings.Study(), threat.Study()}, calibration.Studies()} {
		all = append(all, room...)
	}
	return all
}
