package thesis

import (
	"path/filepath"
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/lab/study/studytest"
	"choir/learn/dataset/datasettest"
)

func TestQuick(t *testing.T) {
	studytest.Quick(t, Studies(), study.Options{Transport: bed.Clear, DataDir: filepath.Dir(datasettest.Path(t, "adult"))})
}
