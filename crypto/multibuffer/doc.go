// Package multibuffer hashes eight messages side by side: SHA-512 (FIPS 180-4) of many short
// messages at several times the speed of one after the other, as the signatures of a batch
// want it.
//
// It is for public data: how long messages are decides what is hashed together. Where the
// processor hasn't the instructions ([Fast] says so), and with the build tag purego, the
// standard library hashes them one after the other. The digests are the same.
package multibuffer
