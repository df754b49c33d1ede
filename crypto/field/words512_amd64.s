//go:build amd64 && !purego

#include "textflag.h"

// The same functions with AVX-512's comparisons of unsigned words into mask
// registers and its masked arithmetic, on vectors of four words: half of the
// instructions. Longer vectors would make some processors lower their clock, for AES
// too. Constants, four times each:
//
//	Y14 = 2^32 - 1      epsilon = 2^64 - p
//	Y13 = p - 1         the largest element
//
// The one branch on the data is on whether a block has a word above Y13, before
// anything of the block is written.

#define CONSTANTS \
	VPCMPEQQ Y15, Y15, Y15 \
	VPSRLQ   $32, Y15, Y14 \
	VPSLLQ   $32, Y15, Y13

#define LOAD \
	VMOVDQU64 0(SI), Y0      \
	VMOVDQU64 32(SI), Y1     \
	VMOVDQU64 64(SI), Y2     \
	VMOVDQU64 96(SI), Y3     \
	VPCMPUQ   $6, Y13, Y0, K1 \
	VPCMPUQ   $6, Y13, Y1, K2 \
	VPCMPUQ   $6, Y13, Y2, K3 \
	VPCMPUQ   $6, Y13, Y3, K4 \
	KORW      K1, K2, K1     \
	KORW      K3, K4, K3     \
	KORTESTW  K1, K3         \
	JNZ       done

#define STORE \
	VMOVDQU64 Y0, 0(DI)  \
	VMOVDQU64 Y1, 32(DI) \
	VMOVDQU64 Y2, 64(DI) \
	VMOVDQU64 Y3, 96(DI)

#define NEXT \
	ADDQ $128, SI \
	ADDQ $128, DI \
	INCQ AX       \
	CMPQ AX, CX   \
	JLT  loop

// ADD4 sets b to a + b mod p: a + (b + epsilon) reaches 2^64 exactly if a + b reaches
// p, and is the sum then; where it doesn't, epsilon comes off again. SUB4 sets b to
// a - b mod p: epsilon comes off where b was larger.
#define ADD4(at, b, a, k) \
	VMOVDQU64 at(DI), a      \
	VPADDQ    Y14, b, b      \
	VPADDQ    a, b, b        \
	VPCMPUQ   $5, a, b, k    \ // b >= a: it didn't reach 2^64
	VPSUBQ    Y14, b, k, b

#define SUB4(at, b, a, k) \
	VMOVDQU64 at(DI), a      \
	VPCMPUQ   $6, a, b, k    \ // b > a
	VPSUBQ    b, a, b        \
	VPSUBQ    Y14, b, k, b

// func addBlocksAVX512(v *Element, src *byte, blocks int) int
TEXT ·addBlocksAVX512(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD
	ADD4(0, Y0, Y4, K1)
	ADD4(32, Y1, Y5, K2)
	ADD4(64, Y2, Y6, K3)
	ADD4(96, Y3, Y7, K4)
	STORE
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func subBlocksAVX512(v *Element, src *byte, blocks int) int
TEXT ·subBlocksAVX512(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	XORQ AX, AX
	CONSTANTS

loop:
	LOAD
	SUB4(0, Y0, Y4, K1)
	SUB4(32, Y1, Y5, K2)
	SUB4(64, Y2, Y6, K3)
	SUB4(96, Y3, Y7, K4)
	STORE
	NEXT

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
