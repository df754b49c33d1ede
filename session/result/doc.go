// Package result has what a session leaves: the model files, predictions from
// them, and the offline verification of transcript and model files. The checks of
// the transcript itself are those of package verify; this one adds the model that
// it leads to, warnings about it, and tables for people.
package result
