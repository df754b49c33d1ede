package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPython: python/choir.py calls verbs and flags that the program has. Where there is a
// Python, its functions and errors work on a real session; where NumPy is, too, so does the
// example.
func TestPython(t *testing.T) {
	source, err := os.ReadFile("../../python/choir.py")
	if err != nil {
		t.Fatal(err)
	}
	checkCalls(t, string(source))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Logf("no Python here: the calls alone are checked: %v", err)
		return
	}
	module, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	in := besideTrial(t, "PYTHONPATH="+module, "PYTHONDONTWRITEBYTECODE=1")
	out := in(python, "-c", `import choir
print(round(choir.account(sigma=28.9, clip=1, relation="replace", steps=15, delta=1e-5)["epsilon"], 3))
print(choir.plan_check("trial/plan.choir")["cost"]["rounds"], choir.verify("trial/result")["plan"][:4])
m = choir.Model("trial/result")
print(m.target, m.classes, m.features[0], m.coefficients(0.9)[-1]["name"],
      m.differences(0.9)[0]["name"])
m.warnings = ["rare: few"]
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    m.coefficients()
print("warned:", caught[0].message)
for bad in (lambda: choir.verify("nowhere"), lambda: choir.account(sigma=-1), lambda: choir.Model("nowhere"),
            lambda: m.predict({"age": [1], "sex": ["female", "male"]}), lambda: m.predict([[1, 2]])):
    try:
        bad()
    except choir.ChoirError as e:
        print("error", e.code)
class NA:  # as pandas has it
    def __ne__(self, other): return self
    def __bool__(self): raise TypeError("boolean value of NA is ambiguous")
rows = [{"age": 1}, {"age": NA(), "sex": "male"}, {"sex": float("nan")}]
choir._write_csv("rows.csv", choir._records(rows))
print("rows:", open("rows.csv").read().split())
try:
    choir.Model("nowhere")
except choir.ChoirError as e:
    print(e)
`)
	for _, want := range []string{"1.0\n2 ",
		"readmitted ['no', 'yes'] age intercept sex=male against sex=female\nwarned: rare: few\n",
		strings.Repeat("error 4\n", 5) +
			"rows: ['age,sex', '1,', ',male', ',']\nno folder or file nowhere "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Logf("no NumPy here: the example isn't run: %v", err)
		return
	}
	example, err := filepath.Abs("../../python/example.py")
	if err != nil {
		t.Fatal(err)
	}
	out = in(python, example, "trial/result")
	if !strings.Contains(out, "probability of yes: [") || !strings.Contains(out, "verified plan") {
		t.Errorf("%s", out)
	}
}

// besideTrial runs a trial to its end, and returns what runs programs in the folder that has it, with these
// variables.
func besideTrial(t *testing.T, env ...string) func(name string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "CHOIR="+binary(t)), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	in(binary(t), "init", "trial", "--rounds", "2", "--parties", "2", "--nodes", "2")
	in("trial/run.sh")
	return in
}

// checkCalls compares every call of the program in the module with its help.
func checkCalls(t *testing.T, source string) {
	t.Helper()
	calls := regexp.MustCompile(`\brun\(("[a-z]+"(?:, "[a-z]+")*)([^)]*)\)`).FindAllStringSubmatch(source, -1)
	flag := regexp.MustCompile(`(\w+)=`)
	checked := 0
	for _, c := range calls {
		verb := strings.Split(strings.NewReplacer(`"`, "", ",", "").Replace(c[1]), " ")
		help, err := exec.Command(binary(t), append(verb, "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(help), "choir "+strings.Join(verb, " ")) {
			t.Errorf("choir %s: %v\n%s", strings.Join(verb, " "), err, help)
		}
		for _, f := range append(flag.FindAllStringSubmatch(c[2], -1), []string{"", "format"}) {
			if !strings.Contains(string(help), "--"+f[1]+" ") {
				t.Errorf("choir %s has no flag --%s", strings.Join(verb, " "), f[1])
			}
			checked++
		}
	}
	if checked < 12 {
		t.Errorf("only %d flags of %d calls checked", checked, len(calls))
	}
}
