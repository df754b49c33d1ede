package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"choir/internal/atomicfile"
	"choir/lab/report"
	"choir/protocol"
)

const reportLong = `Write one HTML file about a demonstration's folder, a member's results, a plan
file, a study's folder or a benchmark's folder: the verdict, scores and curve,
coefficients with intervals, who could learn what, what was verified and how to
repeat it. The file needs no network and has no script.

Exits with 7 when a session's transcript does not verify; the report says so.`

func (a *tools) report() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use:   "report DIR|PLAN",
		Short: "Write an HTML report of a session, plan, study or benchmark", Long: reportLong,
		Example: "  choir report choir-out/2026-11-22T13-00-00\n  choir report plan.choir --out plan.html",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			page, err := report.Of(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = reportFile(args[0])
			}
			if err := writeReport(page, out); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, out)
			return page.Fault
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write; default report.html in DIR, or beside PLAN")
	return cmd
}

// reportFile is where the report of a folder or a file goes.
func reportFile(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	}
	return filepath.Join(path, "report.html")
}

func writeReport(page *report.Page, out string) error {
	html, err := page.HTML()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(out, html); err != nil {
		return protocol.Fail(protocol.ClassInput, "out: %w", err)
	}
	return nil
}

// reportIn leaves a report in a demonstration's folder.
func reportIn(dir string) error {
	page, err := report.Of(dir)
	if err != nil {
		return err
	}
	if err := writeReport(page, filepath.Join(dir, "report.html")); err != nil {
		return err
	}
	return page.Fault
}

// repeatable is the command line of a verb without the flags for its output, and without
// the folders of its files.
func repeatable(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "out" || f.Name == "format" {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, v := range values {
			if f.Name == "data" || f.Name == "schema" {
				v = filepath.Base(v)
			}
			if strings.ContainsAny(v, " '\"|&;<>()$`*?\\") || v == "" {
				v = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
			}
			line += " --" + f.Name + "=" + v
		}
	})
	return line
}
