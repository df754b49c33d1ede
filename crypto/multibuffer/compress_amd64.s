//go:build amd64 && !purego

#include "textflag.h"

// Z0 ... Z7 are the state's words a ... h of eight messages, Z8 ... Z23 the sixteen words of
// their schedules that come next. Z24 ... Z27 are for intermediate values.

// PARITY sets z to x ^ y ^ z.
#define PARITY(x, y, z) \
	VPTERNLOGQ $0x96, x, y, z

// ROUND is FIPS 180-4, section 6.4.2, step 3, with h's sum in place: what is called h and d
// before it is called a and e in the next round.
#define ROUND(a, b, c, d, e, f, g, h, w, k) \
	VPADDQ      w, h, h          \
	VPADDQ.BCST k(CX), h, h      \
	VPRORQ      $14, e, Z24      \
	VPRORQ      $18, e, Z25      \
	VPRORQ      $41, e, Z26      \
	VMOVDQA64   e, Z27           \
	PARITY(Z24, Z25, Z26)        \
	VPTERNLOGQ  $0xca, g, f, Z27 \
	VPADDQ      Z26, h, h        \
	VPADDQ      Z27, h, h        \
	VPADDQ      h, d, d          \
	VPRORQ      $28, a, Z24      \
	VPRORQ      $34, a, Z25      \
	VPRORQ      $39, a, Z26      \
	VMOVDQA64   a, Z27           \
	PARITY(Z24, Z25, Z26)        \
	VPTERNLOGQ  $0xe8, c, b, Z27 \
	VPADDQ      Z26, h, h        \
	VPADDQ      Z27, h, h

// EXPAND makes of w_t, given w_{t+1}, w_{t+9} and w_{t+14}, w_{t+16}: step 1.
#define EXPAND(w, w1, w9, w14) \
	VPADDQ w9, w, w       \
	VPRORQ $1, w1, Z24    \
	VPRORQ $8, w1, Z25    \
	VPSRLQ $7, w1, Z26    \
	PARITY(Z24, Z25, Z26) \
	VPADDQ Z26, w, w      \
	VPRORQ $19, w14, Z24  \
	VPRORQ $61, w14, Z25  \
	VPSRLQ $6, w14, Z26   \
	PARITY(Z24, Z25, Z26) \
	VPADDQ Z26, w, w

// func compressAVX512(state *[8][8]uint64, block *[16][8]uint64, constants *[80]uint64)
TEXT ·compressAVX512(SB), NOSPLIT, $0-24
	MOVQ state+0(FP), DI
	MOVQ block+8(FP), SI
	MOVQ constants+16(FP), CX
	VMOVDQU64 0(DI), Z0
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z2
	VMOVDQU64 192(DI), Z3
	VMOVDQU64 256(DI), Z4
	VMOVDQU64 320(DI), Z5
	VMOVDQU64 384(DI), Z6
	VMOVDQU64 448(DI), Z7
	VMOVDQU64 0(SI), Z8
	VMOVDQU64 64(SI), Z9
	VMOVDQU64 128(SI), Z10
	VMOVDQU64 192(SI), Z11
	VMOVDQU64 256(SI), Z12
	VMOVDQU64 320(SI), Z13
	VMOVDQU64 384(SI), Z14
	VMOVDQU64 448(SI), Z15
	VMOVDQU64 512(SI), Z16
	VMOVDQU64 576(SI), Z17
	VMOVDQU64 640(SI), Z18
	VMOVDQU64 704(SI), Z19
	VMOVDQU64 768(SI), Z20
	VMOVDQU64 832(SI), Z21
	VMOVDQU64 896(SI), Z22
	VMOVDQU64 960(SI), Z23
	MOVQ $4, DX

sixteen:
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, 0)
	EXPAND(Z8, Z9, Z17, Z22)
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z9, 8)
	EXPAND(Z9, Z10, Z18, Z23)
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z10, 16)
	EXPAND(Z10, Z11, Z19, Z8)
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z11, 24)
	EXPAND(Z11, Z12, Z20, Z9)
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z12, 32)
	EXPAND(Z12, Z13, Z21, Z10)
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z13, 40)
	EXPAND(Z13, Z14, Z22, Z11)
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z14, 48)
	EXPAND(Z14, Z15, Z23, Z12)
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z15, 56)
	EXPAND(Z15, Z16, Z8, Z13)
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, 64)
	EXPAND(Z16, Z17, Z9, Z14)
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z17, 72)
	EXPAND(Z17, Z18, Z10, Z15)
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z18, 80)
	EXPAND(Z18, Z19, Z11, Z16)
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z19, 88)
	EXPAND(Z19, Z20, Z12, Z17)
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z20, 96)
	EXPAND(Z20, Z21, Z13, Z18)
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z21, 104)
	EXPAND(Z21, Z22, Z14, Z19)
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z22, 112)
	EXPAND(Z22, Z23, Z15, Z20)
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z23, 120)
	EXPAND(Z23, Z8, Z16, Z21)
	ADDQ $128, CX
	DECQ DX
	JNE  sixteen

	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, 0)
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z9, 8)
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z10, 16)
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z11, 24)
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z12, 32)
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z13, 40)
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z14, 48)
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z15, 56)
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, 64)
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z17, 72)
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z18, 80)
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z19, 88)
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z20, 96)
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z21, 104)
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z22, 112)
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z23, 120)

	VPADDQ 0(DI), Z0, Z0
	VPADDQ 64(DI), Z1, Z1
	VPADDQ 128(DI), Z2, Z2
	VPADDQ 192(DI), Z3, Z3
	VPADDQ 256(DI), Z4, Z4
	VPADDQ 320(DI), Z5, Z5
	VPADDQ 384(DI), Z6, Z6
	VPADDQ 448(DI), Z7, Z7
	VMOVDQU64 Z0, 0(DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VMOVDQU64 Z5, 320(DI)
	VMOVDQU64 Z6, 384(DI)
	VMOVDQU64 Z7, 448(DI)
	VZEROUPPER
	RET
