//go:build amd64 && !purego

#include "textflag.h"

// Vectors of four words. AVX2 compares signed integers only, so that words are
// compared with their top bit flipped: x' = x + 2^63. Constants, four times each:
//
//	Y15 = 2^63          flips the top bit
//	Y14 = 2^32 - 1      epsilon = 2^64 - p
//	Y13 = (p-1)'        a word b is no element when b' > (p-1)'
//	Y12 = 2^63 + p      takes the flip and epsilon off again
//
// Y0 collects, for a block of 16 words, whether there is one that is no element. The
// one branch on the data is on that, before anything of the block is written.

#define CONSTANTS \
	VPCMPEQQ Y14, Y14, Y14 \
	VPSLLQ   $63, Y14, Y15 \
	VPSRLQ   $32, Y14, Y14 \
	VPCMPEQQ Y13, Y13, Y13 \
	VPSLLQ   $32, Y13, Y13 \ // p - 1
	VPSUBQ   Y14, Y15, Y12 \ // 2^63 - epsilon = 2^63 + p
	VPXOR    Y15, Y13, Y13

// b and b': four words of src, and whether one of them is no element.
#define LOAD(at, b, flipped) \
	VMOVDQU at(SI), b        \
	VPXOR   Y15, b, flipped

// sum = a + b mod p. With t = b + epsilon, a + t reaches 2^64 exactly if a + b
// reaches p, and a + t - 2^64 is the sum then; otherwise epsilon comes off again.
// Clobbers b.
#define ADD4(at, b, sum, t) \
	VPXOR    at(DI), Y15, t  \ // a'
	VPADDQ   Y14, b, b       \ // b + epsilon
	VPADDQ   b, t, sum       \ // (a + b + epsilon)'
	VPCMPGTQ sum, t, t       \ // all ones: it reached 2^64
	VPAND    Y14, t, t       \
	VPADDQ   Y12, sum, sum   \
	VPADDQ   t, sum, sum

// difference = a - b mod p: epsilon comes off when b is larger.
#define SUB4(at, b, flipped, difference, t) \
	VMOVDQU  at(DI), t          \
	VPSUBQ   b, t, difference   \
	VPXOR    t, Y15, t          \
	VPCMPGTQ t, flipped, t      \ // all ones: b' > a'
	VPAND    Y14, t, t          \
	VPSUBQ   t, difference, difference

// BAD gathers in Y0 which of four vectors' words are no elements, and leaves the
// loop if there is one. It clobbers Y1 to Y3; the words' flipped forms are in f0 to f3.
#define BAD(f0, f1, f2, f3) \
	VPCMPGTQ Y13, f0, Y0  \
	VPCMPGTQ Y13, f1, Y1  \
	VPCMPGTQ Y13, f2, Y2  \
	VPCMPGTQ Y13, f3, Y3  \
	VPOR     Y1, Y0, Y0   \
	VPOR     Y3, Y2, Y2   \
	VPOR     Y2, Y0, Y0   \
	VPTEST   Y0, Y0       \
	JNZ      done

#define NEXT \
	ADDQ $128, SI \
	ADDQ $128, DI \
	INCQ AX       \
	CMPQ AX, CX   \
	JLT  loop

// func setBlocksAVX2(v *Element, src *byte, blocks int) int
TEXT ·setBlocksAVX2(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD(0, Y4, Y8)
	LOAD(32, Y5, Y9)
	LOAD(64, Y6, Y10)
	LOAD(96, Y7, Y11)
	BAD(Y8, Y9, Y10, Y11)
	VMOVDQU Y4, 0(DI)
	VMOVDQU Y5, 32(DI)
	VMOVDQU Y6, 64(DI)
	VMOVDQU Y7, 96(DI)
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func addBlocksAVX2(v *Element, src *byte, blocks int) int
TEXT ·addBlocksAVX2(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD(0, Y4, Y8)
	LOAD(32, Y5, Y9)
	LOAD(64, Y6, Y10)
	LOAD(96, Y7, Y11)
	BAD(Y8, Y9, Y10, Y11)
	ADD4(0, Y4, Y8, Y0)
	ADD4(32, Y5, Y9, Y1)
	ADD4(64, Y6, Y10, Y2)
	ADD4(96, Y7, Y11, Y3)
	VMOVDQU Y8, 0(DI)
	VMOVDQU Y9, 32(DI)
	VMOVDQU Y10, 64(DI)
	VMOVDQU Y11, 96(DI)
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func subBlocksAVX2(v *Element, src *byte, blocks int) int
TEXT ·subBlocksAVX2(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD(0, Y4, Y8)
	LOAD(32, Y5, Y9)
	LOAD(64, Y6, Y10)
	LOAD(96, Y7, Y11)
	BAD(Y8, Y9, Y10, Y11)
	SUB4(0, Y4, Y8, Y4, Y0)
	SUB4(32, Y5, Y9, Y5, Y1)
	SUB4(64, Y6, Y10, Y6, Y2)
	SUB4(96, Y7, Y11, Y7, Y3)
	VMOVDQU Y4, 0(DI)
	VMOVDQU Y5, 32(DI)
	VMOVDQU Y6, 64(DI)
	VMOVDQU Y7, 96(DI)
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func canonicalBlocksAVX2(src *byte, blocks int) int
TEXT ·canonicalBlocksAVX2(SB), NOSPLIT, $0-24
	MOVQ src+0(FP), SI
	MOVQ blocks+8(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD(0, Y4, Y8)
	LOAD(32, Y5, Y9)
	LOAD(64, Y6, Y10)
	LOAD(96, Y7, Y11)
	BAD(Y8, Y9, Y10, Y11)
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET

// OUTSIDE sets bad where the four signed integers in n are beyond (p-1)/2, which
// Y12 holds, or beyond -(p-1)/2, which Y11 holds.
#define OUTSIDE(n, bad, t) \
	VPCMPGTQ Y12, n, bad \
	VPCMPGTQ n, Y11, t   \
	VPOR     t, bad, bad

// SIGNED adds p to what is negative.
#define SIGNED(n, t) \
	VPCMPGTQ n, Y15, t \
	VPAND    Y14, t, t \
	VPADDQ   t, n, n

// func setSignedBlocksAVX2(v *Element, x *int64, blocks int) int
TEXT ·setSignedBlocksAVX2(SB), NOSPLIT, $0-32
	MOVQ     v+0(FP), DI
	MOVQ     x+8(FP), SI
	MOVQ     blocks+16(FP), CX
	XORQ     AX, AX
	VPXOR    Y15, Y15, Y15
	VPCMPEQQ Y13, Y13, Y13
	VPSRLQ   $63, Y13, Y11
	VPSLLQ   $32, Y13, Y14
	VPADDQ   Y11, Y14, Y14 // p = 2^64 - 2^32 + 1
	VPSRLQ   $1, Y14, Y12
	VPSUBQ   Y12, Y15, Y11

loop:
	VMOVDQU 0(SI), Y4
	VMOVDQU 32(SI), Y5
	VMOVDQU 64(SI), Y6
	VMOVDQU 96(SI), Y7
	OUTSIDE(Y4, Y0, Y8)
	OUTSIDE(Y5, Y1, Y9)
	OUTSIDE(Y6, Y2, Y10)
	OUTSIDE(Y7, Y3, Y8)
	VPOR    Y1, Y0, Y0
	VPOR    Y3, Y2, Y2
	VPOR    Y2, Y0, Y0
	VPTEST  Y0, Y0
	JNZ     done
	SIGNED(Y4, Y0)
	SIGNED(Y5, Y1)
	SIGNED(Y6, Y2)
	SIGNED(Y7, Y3)
	VMOVDQU Y4, 0(DI)
	VMOVDQU Y5, 32(DI)
	VMOVDQU Y6, 64(DI)
	VMOVDQU Y7, 96(DI)
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
