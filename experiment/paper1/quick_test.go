package paper1

import (
	"path/filepath"
	"testing"

	"choir/dataset/datasettest"
	"choir/experiment/lab"
	"choir/experiment/study"
	"choir/experiment/study/studytest"
)

func TestQuick(t *testing.T) {
	studytest.Quick(t, Studies(), study.Options{Transport: lab.Clear, DataDir: filepath.Dir(datasettest.Path(t, "adult"))})
}
