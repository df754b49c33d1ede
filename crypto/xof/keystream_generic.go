//go:build !amd64 || purego

package xof

import "choir/crypto/field"

func accelerated() bool { return false }

func expandKey(_ *[KeySize]byte) *roundKeys { return nil }

// Without round keys nobody calls these.

func addKeystreamAVX2(_ *field.Element, _ *roundKeys, _, _ uint64, _ int) int { return 0 }

func subKeystreamAVX2(_ *field.Element, _ *roundKeys, _, _ uint64, _ int) int { return 0 }
