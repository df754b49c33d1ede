//go:build amd64 && !purego

#include "textflag.h"

// Eight lanes of 64 bits. VPMULUDQ multiplies the lower 32 bits of each, so that a word
// with two limbs is its even limb, and shifted by 32 its odd one. A product of ten limbs
// and ten is a sum of ten rows, one for each limb of f:
//
//	Z0  ... Z9   h_0 ... h_9, the sums
//	Z10 ... Z19  g_0 ... g_9
//	Z20 ... Z28  19·g_1 ... 19·g_9
//	Z29, Z30     f_i, and 2·f_i for i odd
//
// The formulas, and why no sum overflows, are at multiplyGo.

#define MAC(a, b, h) \
	VPMULUDQ a, b, Z31 \
	VPADDQ   Z31, h, h

// ROW adds a·b_k to h_k for k odd, and e·b_k for k even. In row i, b_k is g_{k-i} or
// 19·g_{k-i+10}; where i is odd and k even, k-i is odd and e = 2·f_i.
#define ROW(a, e, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9) \
	MAC(e, b0, Z0) \
	MAC(a, b1, Z1) \
	MAC(e, b2, Z2) \
	MAC(a, b3, Z3) \
	MAC(e, b4, Z4) \
	MAC(a, b5, Z5) \
	MAC(e, b6, Z6) \
	MAC(a, b7, Z7) \
	MAC(e, b8, Z8) \
	MAC(a, b9, Z9)

#define EVEN(at) \
	VMOVDQU64 at(SI), Z29

#define ODD(at) \
	VPSRLQ $32, at(SI), Z29  \
	VPADDQ Z29, Z29, Z30

// LIMBS loads the ten limbs of an element.
#define LIMBS(from, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9) \
	VMOVDQU64 0(from), l0    \
	VMOVDQU64 64(from), l2   \
	VMOVDQU64 128(from), l4  \
	VMOVDQU64 192(from), l6  \
	VMOVDQU64 256(from), l8  \
	VPSRLQ    $32, l0, l1    \
	VPSRLQ    $32, l2, l3    \
	VPSRLQ    $32, l4, l5    \
	VPSRLQ    $32, l6, l7    \
	VPSRLQ    $32, l8, l9

// The carries of carryGo: EVENCARRY from an even limb h of 26 bits, ODDCARRY from an
// odd one of 25. Z29 and Z30 are the limbs' masks.
#define EVENCARRY(h, next) \
	VPSRLQ $26, h, Z31       \
	VPANDQ Z29, h, h         \
	VPADDQ Z31, next, next

#define ODDCARRY(h, next) \
	VPSRLQ $25, h, Z31       \
	VPANDQ Z30, h, h         \
	VPADDQ Z31, next, next

#define MASKS \
	VPTERNLOGQ $0xff, Z29, Z29, Z29 \
	VPSRLQ     $39, Z29, Z30        \
	VPSRLQ     $38, Z29, Z29

// CARRY makes the limbs tight; it needs MASKS and clobbers t. From limb 9 to 0 the carry
// counts 19 = 16 + 2 + 1 times.
#define CARRY(t) \
	EVENCARRY(Z0, Z1)        \
	EVENCARRY(Z4, Z5)        \
	ODDCARRY(Z1, Z2)         \
	ODDCARRY(Z5, Z6)         \
	EVENCARRY(Z2, Z3)        \
	EVENCARRY(Z6, Z7)        \
	ODDCARRY(Z3, Z4)         \
	ODDCARRY(Z7, Z8)         \
	EVENCARRY(Z4, Z5)        \
	EVENCARRY(Z8, Z9)        \
	VPSRLQ $25, Z9, Z31      \
	VPANDQ Z30, Z9, Z9       \
	VPADDQ Z31, Z0, Z0       \
	VPADDQ Z31, Z31, t       \
	VPSLLQ $4, Z31, Z31      \
	VPADDQ t, Z0, Z0         \
	VPADDQ Z31, Z0, Z0       \
	EVENCARRY(Z0, Z1)

// STORE writes the limbs, two to a word.
#define STORE \
	VPSLLQ    $32, Z1, Z1    \
	VPSLLQ    $32, Z3, Z3    \
	VPSLLQ    $32, Z5, Z5    \
	VPSLLQ    $32, Z7, Z7    \
	VPSLLQ    $32, Z9, Z9    \
	VPORQ     Z1, Z0, Z0     \
	VPORQ     Z3, Z2, Z2     \
	VPORQ     Z5, Z4, Z4     \
	VPORQ     Z7, Z6, Z6     \
	VPORQ     Z9, Z8, Z8     \
	VMOVDQU64 Z0, 0(DI)      \
	VMOVDQU64 Z2, 64(DI)     \
	VMOVDQU64 Z4, 128(DI)    \
	VMOVDQU64 Z6, 192(DI)    \
	VMOVDQU64 Z8, 256(DI)

// func multiplyAVX512(out, x, y *Elements)
TEXT ·multiplyAVX512(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	LIMBS(DX, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19)
	MOVQ         $19, AX
	VPBROADCASTQ AX, Z31
	VPMULUDQ     Z31, Z11, Z20
	VPMULUDQ     Z31, Z12, Z21
	VPMULUDQ     Z31, Z13, Z22
	VPMULUDQ     Z31, Z14, Z23
	VPMULUDQ     Z31, Z15, Z24
	VPMULUDQ     Z31, Z16, Z25
	VPMULUDQ     Z31, Z17, Z26
	VPMULUDQ     Z31, Z18, Z27
	VPMULUDQ     Z31, Z19, Z28

	EVEN(0)
	VPMULUDQ Z29, Z10, Z0
	VPMULUDQ Z29, Z11, Z1
	VPMULUDQ Z29, Z12, Z2
	VPMULUDQ Z29, Z13, Z3
	VPMULUDQ Z29, Z14, Z4
	VPMULUDQ Z29, Z15, Z5
	VPMULUDQ Z29, Z16, Z6
	VPMULUDQ Z29, Z17, Z7
	VPMULUDQ Z29, Z18, Z8
	VPMULUDQ Z29, Z19, Z9
	ODD(0)
	ROW(Z29, Z30, Z28, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18)
	EVEN(64)
	ROW(Z29, Z29, Z27, Z28, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17)
	ODD(64)
	ROW(Z29, Z30, Z26, Z27, Z28, Z10, Z11, Z12, Z13, Z14, Z15, Z16)
	EVEN(128)
	ROW(Z29, Z29, Z25, Z26, Z27, Z28, Z10, Z11, Z12, Z13, Z14, Z15)
	ODD(128)
	ROW(Z29, Z30, Z24, Z25, Z26, Z27, Z28, Z10, Z11, Z12, Z13, Z14)
	EVEN(192)
	ROW(Z29, Z29, Z23, Z24, Z25, Z26, Z27, Z28, Z10, Z11, Z12, Z13)
	ODD(192)
	ROW(Z29, Z30, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z10, Z11, Z12)
	EVEN(256)
	ROW(Z29, Z29, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z10, Z11)
	ODD(256)
	ROW(Z29, Z30, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z10)
	MASKS
	CARRY(Z10)
	STORE
	VZEROUPPER
	RET

// func squareAVX512(out, x *Elements, n int)
//
// Z10 ... Z19 are the limbs and Z20 ... Z24 19 times f_5 ... f_9. Row i is the products
// f_i·f_j for j >= i, doubled for j > i: Z25 = 2·f_i and, for i and j odd, Z26 = 4·f_i.
TEXT ·squareAVX512(SB), NOSPLIT, $0-24
	MOVQ         out+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	LIMBS(SI, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19)
	MOVQ         $19, AX
	VPBROADCASTQ AX, Z28
	MASKS

loop:
	VPMULUDQ Z28, Z15, Z20
	VPMULUDQ Z28, Z16, Z21
	VPMULUDQ Z28, Z17, Z22
	VPMULUDQ Z28, Z18, Z23
	VPMULUDQ Z28, Z19, Z24

	VPADDQ   Z10, Z10, Z25
	VPMULUDQ Z10, Z10, Z0
	VPMULUDQ Z25, Z11, Z1
	VPMULUDQ Z25, Z12, Z2
	VPMULUDQ Z25, Z13, Z3
	VPMULUDQ Z25, Z14, Z4
	VPMULUDQ Z25, Z15, Z5
	VPMULUDQ Z25, Z16, Z6
	VPMULUDQ Z25, Z17, Z7
	VPMULUDQ Z25, Z18, Z8
	VPMULUDQ Z25, Z19, Z9

	VPADDQ Z11, Z11, Z25
	VPADDQ Z25, Z25, Z26
	MAC(Z25, Z11, Z2)
	MAC(Z25, Z12, Z3)
	MAC(Z26, Z13, Z4)
	MAC(Z25, Z14, Z5)
	MAC(Z26, Z15, Z6)
	MAC(Z25, Z16, Z7)
	MAC(Z26, Z17, Z8)
	MAC(Z25, Z18, Z9)
	MAC(Z26, Z24, Z0)

	VPADDQ Z12, Z12, Z25
	MAC(Z12, Z12, Z4)
	MAC(Z25, Z13, Z5)
	MAC(Z25, Z14, Z6)
	MAC(Z25, Z15, Z7)
	MAC(Z25, Z16, Z8)
	MAC(Z25, Z17, Z9)
	MAC(Z25, Z23, Z0)
	MAC(Z25, Z24, Z1)

	VPADDQ Z13, Z13, Z25
	VPADDQ Z25, Z25, Z26
	MAC(Z25, Z13, Z6)
	MAC(Z25, Z14, Z7)
	MAC(Z26, Z15, Z8)
	MAC(Z25, Z16, Z9)
	MAC(Z26, Z22, Z0)
	MAC(Z25, Z23, Z1)
	MAC(Z26, Z24, Z2)

	VPADDQ Z14, Z14, Z25
	MAC(Z14, Z14, Z8)
	MAC(Z25, Z15, Z9)
	MAC(Z25, Z21, Z0)
	MAC(Z25, Z22, Z1)
	MAC(Z25, Z23, Z2)
	MAC(Z25, Z24, Z3)

	VPADDQ Z15, Z15, Z25
	VPADDQ Z25, Z25, Z26
	MAC(Z25, Z20, Z0)
	MAC(Z25, Z21, Z1)
	MAC(Z26, Z22, Z2)
	MAC(Z25, Z23, Z3)
	MAC(Z26, Z24, Z4)

	VPADDQ Z16, Z16, Z25
	MAC(Z16, Z21, Z2)
	MAC(Z25, Z22, Z3)
	MAC(Z25, Z23, Z4)
	MAC(Z25, Z24, Z5)

	VPADDQ Z17, Z17, Z25
	VPADDQ Z25, Z25, Z26
	MAC(Z25, Z22, Z4)
	MAC(Z25, Z23, Z5)
	MAC(Z26, Z24, Z6)

	VPADDQ Z18, Z18, Z25
	MAC(Z18, Z23, Z6)
	MAC(Z25, Z24, Z7)

	VPADDQ Z19, Z19, Z25
	MAC(Z25, Z24, Z8)

	CARRY(Z25)
	DECQ CX
	JZ   done
	VMOVDQA64 Z0, Z10
	VMOVDQA64 Z1, Z11
	VMOVDQA64 Z2, Z12
	VMOVDQA64 Z3, Z13
	VMOVDQA64 Z4, Z14
	VMOVDQA64 Z5, Z15
	VMOVDQA64 Z6, Z16
	VMOVDQA64 Z7, Z17
	VMOVDQA64 Z8, Z18
	VMOVDQA64 Z9, Z19
	JMP  loop

done:
	STORE
	VZEROUPPER
	RET

// func addAVX512(out, x, y *Elements)
TEXT ·addAVX512(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVDQU64 256(SI), Z4
	VPADDQ 0(DX), Z0, Z0
	VPADDQ 64(DX), Z1, Z1
	VPADDQ 128(DX), Z2, Z2
	VPADDQ 192(DX), Z3, Z3
	VPADDQ 256(DX), Z4, Z4
	VMOVDQU64 Z0, 0(DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VZEROUPPER
	RET

// func subtractAVX512(out, x, y *Elements)
//
// Z5 is the limbs of 2p but for the first word, Z6: limbs of 2^27 - 2 and 2^26 - 2, the
// lowest 36 less.
TEXT ·subtractAVX512(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ $0x03fffffe07fffffe, AX
	VPBROADCASTQ AX, Z5
	SUBQ $36, AX
	VPBROADCASTQ AX, Z6
	VPADDQ 0(SI), Z6, Z0
	VPADDQ 64(SI), Z5, Z1
	VPADDQ 128(SI), Z5, Z2
	VPADDQ 192(SI), Z5, Z3
	VPADDQ 256(SI), Z5, Z4
	VPSUBQ 0(DX), Z0, Z0
	VPSUBQ 64(DX), Z1, Z1
	VPSUBQ 128(DX), Z2, Z2
	VPSUBQ 192(DX), Z3, Z3
	VPSUBQ 256(DX), Z4, Z4
	VMOVDQU64 Z0, 0(DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VZEROUPPER
	RET

// func chooseAVX512(out *Elements, p, q *Packed, mask uint8)
TEXT ·chooseAVX512(SB), NOSPLIT, $0-25
	MOVQ out+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ q+16(FP), DX
	MOVBLZX mask+24(FP), AX
	KMOVW AX, K1
	VPBROADCASTQ 0(SI), Z0
	VPBROADCASTQ 8(SI), Z1
	VPBROADCASTQ 16(SI), Z2
	VPBROADCASTQ 24(SI), Z3
	VPBROADCASTQ 32(SI), Z4
	VPBROADCASTQ 0(DX), K1, Z0
	VPBROADCASTQ 8(DX), K1, Z1
	VPBROADCASTQ 16(DX), K1, Z2
	VPBROADCASTQ 24(DX), K1, Z3
	VPBROADCASTQ 32(DX), K1, Z4
	VMOVDQU64 Z0, 0(DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VZEROUPPER
	RET
