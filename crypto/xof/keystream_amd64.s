//go:build amd64 && !purego

#include "textflag.h"

// AES-256 in counter mode (FIPS 197, SP 800-38A), 8 blocks at a time, whose 16 words are
// combined modulo p with 16 elements as in crypto/field's words_amd64.s: its additions
// run beside AES's rounds, on units that AES doesn't use. A group of 8 blocks with a word that
// is no element is left alone, like everything behind it. Nothing but that is
// branched on, and no address depends on the key.
//
//	X8  chunk, big endian | number of the next block, little endian
//	X9  turns the second half around
//	X10 0 | 1
//	X11 a round's key
//	Y15 2^63, Y14 2^32 - 1, Y13 (p-1) with its top bit flipped, Y12 2^63 + p

DATA turned<>+0(SB)/8, $0x0706050403020100
DATA turned<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL turned<>(SB), RODATA|NOPTR, $16

#define CONSTANTS \
	VPCMPEQQ  Y14, Y14, Y14      \
	VPSLLQ    $63, Y14, Y15      \
	VPSRLQ    $63, X14, X10      \
	VPSLLDQ   $8, X10, X10       \
	VPSLLQ    $32, Y14, Y13      \
	VPSRLQ    $32, Y14, Y14      \
	VPSUBQ    Y14, Y15, Y12      \
	VPXOR     Y15, Y13, Y13      \
	VMOVDQU   turned<>(SB), X9   \
	VMOVQ     DX, X8             \
	VPINSRQ   $1, R8, X8, X8

#define COUNT(x) \
	VPSHUFB X9, X8, x   \
	VPADDQ  X10, X8, X8 \
	VPXOR   X11, x, x

#define ROUND(at) \
	VMOVDQU at(BX), X11  \
	VAESENC X11, X0, X0 \
	VAESENC X11, X1, X1 \
	VAESENC X11, X2, X2 \
	VAESENC X11, X3, X3 \
	VAESENC X11, X4, X4 \
	VAESENC X11, X5, X5 \
	VAESENC X11, X6, X6 \
	VAESENC X11, X7, X7

#define LASTROUND(at) \
	VMOVDQU     at(BX), X11 \
	VAESENCLAST X11, X0, X0 \
	VAESENCLAST X11, X1, X1 \
	VAESENCLAST X11, X2, X2 \
	VAESENCLAST X11, X3, X3 \
	VAESENCLAST X11, X4, X4 \
	VAESENCLAST X11, X5, X5 \
	VAESENCLAST X11, X6, X6 \
	VAESENCLAST X11, X7, X7

// KEYSTREAM leaves 16 words in Y0 to Y3 and goes to done if one is no element.
#define KEYSTREAM \
	VMOVDQU     0(BX), X11      \
	COUNT(X0)                   \
	COUNT(X1)                   \
	COUNT(X2)                   \
	COUNT(X3)                   \
	COUNT(X4)                   \
	COUNT(X5)                   \
	COUNT(X6)                   \
	COUNT(X7)                   \
	ROUND(16)                   \
	ROUND(32)                   \
	ROUND(48)                   \
	ROUND(64)                   \
	ROUND(80)                   \
	ROUND(96)                   \
	ROUND(112)                  \
	ROUND(128)                  \
	ROUND(144)                  \
	ROUND(160)                  \
	ROUND(176)                  \
	ROUND(192)                  \
	ROUND(208)                  \
	LASTROUND(224)              \
	VINSERTI128 $1, X1, Y0, Y0  \
	VINSERTI128 $1, X3, Y2, Y1  \
	VINSERTI128 $1, X5, Y4, Y2  \
	VINSERTI128 $1, X7, Y6, Y3  \
	VPXOR       Y15, Y0, Y4     \
	VPXOR       Y15, Y1, Y5     \
	VPXOR       Y15, Y2, Y6     \
	VPXOR       Y15, Y3, Y7     \
	VPCMPGTQ    Y13, Y4, Y4     \
	VPCMPGTQ    Y13, Y5, Y5     \
	VPCMPGTQ    Y13, Y6, Y6     \
	VPCMPGTQ    Y13, Y7, Y7     \
	VPOR        Y5, Y4, Y4      \
	VPOR        Y7, Y6, Y6      \
	VPOR        Y6, Y4, Y4      \
	VPTEST      Y4, Y4          \
	JNZ         done

// ADD4 and SUB4 are crypto/field's.
#define ADD4(at, b, t) \
	VPXOR    at(DI), Y15, t \
	VPADDQ   Y14, b, b      \
	VPADDQ   b, t, b        \
	VPCMPGTQ b, t, t        \
	VPAND    Y14, t, t      \
	VPADDQ   Y12, b, b      \
	VPADDQ   t, b, b

#define SUB4(at, b, t, u) \
	VPXOR    Y15, b, u      \
	VMOVDQU  at(DI), t      \
	VPXOR    Y15, t, Y11    \
	VPCMPGTQ Y11, u, u      \
	VPSUBQ   b, t, b        \
	VPAND    Y14, u, u      \
	VPSUBQ   u, b, b

#define NEXT \
	VMOVDQU Y0, 0(DI)  \
	VMOVDQU Y1, 32(DI) \
	VMOVDQU Y2, 64(DI) \
	VMOVDQU Y3, 96(DI) \
	ADDQ    $128, DI   \
	INCQ    AX         \
	CMPQ    AX, CX     \
	JLT     loop

#define BEGIN \
	MOVQ   v+0(FP), DI      \
	MOVQ   key+8(FP), BX    \
	MOVQ   chunk+16(FP), DX \
	BSWAPQ DX               \
	MOVQ   block+24(FP), R8 \
	MOVQ   groups+32(FP), CX \
	XORQ   AX, AX           \
	CONSTANTS

// WIPE leaves no keystream and no key in the registers that VZEROUPPER keeps.
#define WIPE \
	VPXOR X0, X0, X0    \
	VPXOR X1, X1, X1    \
	VPXOR X2, X2, X2    \
	VPXOR X3, X3, X3    \
	VPXOR X11, X11, X11 \
	VZEROUPPER

// func addKeystreamAVX2(v *field.Element, key *roundKeys, chunk, block uint64, groups int) int
TEXT ·addKeystreamAVX2(SB), NOSPLIT, $0-48
	BEGIN

loop:
	KEYSTREAM
	ADD4(0, Y0, Y4)
	ADD4(32, Y1, Y5)
	ADD4(64, Y2, Y6)
	ADD4(96, Y3, Y7)
	NEXT

done:
	WIPE
	MOVQ AX, ret+40(FP)
	RET

// func subKeystreamAVX2(v *field.Element, key *roundKeys, chunk, block uint64, groups int) int
TEXT ·subKeystreamAVX2(SB), NOSPLIT, $0-48
	BEGIN

loop:
	KEYSTREAM
	SUB4(0, Y0, Y4, Y5)
	SUB4(32, Y1, Y6, Y7)
	SUB4(64, Y2, Y4, Y5)
	SUB4(96, Y3, Y6, Y7)
	NEXT

done:
	WIPE
	MOVQ AX, ret+40(FP)
	RET

// func subWord(w uint32) uint32
TEXT ·subWord(SB), NOSPLIT, $0-12
	MOVL            w+0(FP), AX
	MOVQ            AX, X0
	PSHUFD          $0, X0, X0
	AESKEYGENASSIST $0, X0, X1
	MOVQ            X1, AX
	MOVL            AX, ret+8(FP)
	RET
