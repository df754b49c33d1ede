package own

import (
	"testing"

	"choir/experiment/lab"
	"choir/experiment/study"
	"choir/experiment/study/studytest"
)

func TestQuick(t *testing.T) {
	studytest.Quick(t, Studies(), study.Options{Transport: lab.Clear})
}
