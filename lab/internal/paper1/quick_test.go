package paper1

import (
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/lab/study/studytest"
)

func TestQuick(t *testing.T) {
	studytest.Quick(t, Studies(), study.Options{Transport: bed.Clear})
}
