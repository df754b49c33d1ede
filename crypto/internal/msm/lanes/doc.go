// Package lanes computes with eight elements of GF(2^255 - 19) side by side, which is
// what sums of many points of edwards25519 are made of.
//
// # Contract
//
// [Elements] are eight independent elements in radix 2^25.5 (Bernstein, "Curve25519: new
// Diffie-Hellman speed records", PKC 2006, section 4; side by side as in Bernstein and
// Schwabe, "NEON crypto", CHES 2012): element l is
//
//	Σ e[i][l] mod 2^32 · 2^(51i)  +  e[i][l] div 2^32 · 2^(51i+26),   i = 0 ... 4,
//
// an even limb of 26 bits and an odd one of 25 in each word. Limbs are unsigned and may
// be somewhat longer between operations. An element is
//
//	tight  if its even limbs are below 2^26 and its odd ones at most 2^25 + 2^12,
//	loose  if its limbs are at most three times as long as tight ones,
//	wide   if they are at most four times as long.
//
// The operations' requirements and promises, which the formulas of package msm follow:
//
//	Multiply  wide · loose -> tight
//	Square    loose² -> tight
//	Add       tight + tight -> loose (twice as long)
//	Subtract  (twice as long as tight) - tight -> wide; tight - tight -> loose
//
// Why no word overflows is said at each operation; the tests put every limb at these
// bounds.
//
// On amd64 with AVX-512F the operations are assembly ([Fast] says so), elsewhere and with
// the build tag purego plain Go that is written to be compared with and is slow. Both
// give the same limbs. Neither has branches or addresses that depend on elements; [Load]
// and [Store] go where they are told. Package msm says what is public.
package lanes
