//go:build amd64 && !purego

#include "textflag.h"

// Each register holds four words. AVX2 compares signed integers only, so words are
// compared with the top bit flipped: x' = x + 2^63. Constants, in every word:
//
//	Y15 = 2^63          flips the top bit
//	Y14 = 2^32 - 1      epsilon = 2^64 - p
//	Y13 = (p-1)'        a word b is not an element if b' > (p-1)'
//	Y12 = 2^63 + p      removes the flip and epsilon
//
// Y0 accumulates whether a block of 16 words contains a word that is not an element.
// The only branch on data depends on it, before any word of the block is written.

#define CONSTANTS \
	VPCMPEQQ Y14, Y14, Y14 \
	VPSLLQ   $63, Y14, Y15 \
	VPSRLQ   $32, Y14, Y14 \
	VPCMPEQQ Y13, Y13, Y13 \
	VPSLLQ   $32, Y13, Y13 \ // p - 1
	VPSUBQ   Y14, Y15, Y12 \ // 2^63 - epsilon = 2^63 + p
	VPXOR    Y15, Y13, Y13

// LOAD sets b to four words of src and flipped to b'.
#define LOAD(at, b, flipped) \
	VMOVDQU at(SI), b        \
	VPXOR   Y15, b, flipped

// ADD4 sets sum to a + b mod p. With t = b + epsilon, a + t reaches 2^64 if and only if
// a + b reaches p, and then a + t - 2^64 is the sum; otherwise epsilon is subtracted
// again. It clobbers b.
#define ADD4(at, b, sum, t) \
	VPXOR    at(DI), Y15, t  \ // a'
	VPADDQ   Y14, b, b       \ // b + epsilon
	VPADDQ   b, t, sum       \ // (a + b + epsilon)'
	VPCMPGTQ sum, t, t       \ // all ones where it reached 2^64
	VPAND    Y14, t, t       \
	VPADDQ   Y12, sum, sum   \
	VPADDQ   t, sum, sum

// SUB4 sets difference to a - b mod p: epsilon is subtracted where b is larger.
#define SUB4(at, b, flipped, difference, t) \
	VMOVDQU  at(DI), t          \
	VPSUBQ   b, t, difference   \
	VPXOR    t, Y15, t          \
	VPCMPGTQ t, flipped, t      \ // all ones where b' > a'
	VPAND    Y14, t, t          \
	VPSUBQ   t, difference, difference

// BAD accumulates in Y0 which of 16 words are not elements and leaves the loop if there
// is one. f0 to f3 hold the flipped words. It clobbers Y1 to Y3.
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

// OUTSIDE sets bad where the signed integers in n are above (p-1)/2, which is in Y12,
// or below -(p-1)/2, which is in Y11.
#define OUTSIDE(n, bad, t) \
	VPCMPGTQ Y12, n, bad \
	VPCMPGTQ n, Y11, t   \
	VPOR     t, bad, bad

// SIGNED adds p to the negative integers in n.
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
