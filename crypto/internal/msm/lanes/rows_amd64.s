//go:build amd64 && !purego

#include "textflag.h"

// ADDRESS sets r to the address of row 8·at[lane] + lane of the table at SI, a row being
// 24 words: SI + 1536·at[lane] + 192·lane.
#define ADDRESS(lane, r) \
	MOVBLZX lane(DX), r      \
	LEAQ    (r)(r*2), r      \
	SHLQ    $9, r            \
	LEAQ    (192*lane)(SI)(r*1), r

#define ADDRESSES \
	ADDRESS(0, AX)  \
	ADDRESS(1, BX)  \
	ADDRESS(2, CX)  \
	ADDRESS(3, R8)  \
	ADDRESS(4, R9)  \
	ADDRESS(5, R10) \
	ADDRESS(6, R11) \
	ADDRESS(7, R12)

// TRANSPOSE sets Z0 ... Z7 to the columns of the matrix with these rows. First pairs of
// rows are interleaved (Z8 ... Z15: words 0, 2, 4, 6 or 1, 3, 5, 7 of both), then pairs of
// pairs (Z16 ... Z23: of four rows words i and i+4), then both halves.
#define TRANSPOSE \
	VPUNPCKLQDQ Z1, Z0, Z8           \
	VPUNPCKHQDQ Z1, Z0, Z9           \
	VPUNPCKLQDQ Z3, Z2, Z10          \
	VPUNPCKHQDQ Z3, Z2, Z11          \
	VPUNPCKLQDQ Z5, Z4, Z12          \
	VPUNPCKHQDQ Z5, Z4, Z13          \
	VPUNPCKLQDQ Z7, Z6, Z14          \
	VPUNPCKHQDQ Z7, Z6, Z15          \
	VSHUFI64X2  $0x88, Z10, Z8, Z16  \ // words 0 and 4 of rows 0 to 3
	VSHUFI64X2  $0xdd, Z10, Z8, Z17  \ // words 2 and 6
	VSHUFI64X2  $0x88, Z11, Z9, Z18  \ // words 1 and 5
	VSHUFI64X2  $0xdd, Z11, Z9, Z19  \ // words 3 and 7
	VSHUFI64X2  $0x88, Z14, Z12, Z20 \ // the same of rows 4 to 7
	VSHUFI64X2  $0xdd, Z14, Z12, Z21 \
	VSHUFI64X2  $0x88, Z15, Z13, Z22 \
	VSHUFI64X2  $0xdd, Z15, Z13, Z23 \
	VSHUFI64X2  $0x88, Z20, Z16, Z0  \
	VSHUFI64X2  $0x88, Z22, Z18, Z1  \
	VSHUFI64X2  $0x88, Z21, Z17, Z2  \
	VSHUFI64X2  $0x88, Z23, Z19, Z3  \
	VSHUFI64X2  $0xdd, Z20, Z16, Z4  \
	VSHUFI64X2  $0xdd, Z22, Z18, Z5  \
	VSHUFI64X2  $0xdd, Z21, Z17, Z6  \
	VSHUFI64X2  $0xdd, Z23, Z19, Z7

// GATHER and SCATTER move words w ... w+7 of all eight rows.
#define GATHER(w) \
	VMOVDQU64 (8*w)(AX), Z0     \
	VMOVDQU64 (8*w)(BX), Z1     \
	VMOVDQU64 (8*w)(CX), Z2     \
	VMOVDQU64 (8*w)(R8), Z3     \
	VMOVDQU64 (8*w)(R9), Z4     \
	VMOVDQU64 (8*w)(R10), Z5    \
	VMOVDQU64 (8*w)(R11), Z6    \
	VMOVDQU64 (8*w)(R12), Z7    \
	TRANSPOSE                   \
	VMOVDQU64 Z0, (64*w+0)(DI)   \
	VMOVDQU64 Z1, (64*w+64)(DI)  \
	VMOVDQU64 Z2, (64*w+128)(DI) \
	VMOVDQU64 Z3, (64*w+192)(DI) \
	VMOVDQU64 Z4, (64*w+256)(DI) \
	VMOVDQU64 Z5, (64*w+320)(DI) \
	VMOVDQU64 Z6, (64*w+384)(DI) \
	VMOVDQU64 Z7, (64*w+448)(DI)

#define SCATTER(w) \
	VMOVDQU64 (64*w+0)(DI), Z0   \
	VMOVDQU64 (64*w+64)(DI), Z1  \
	VMOVDQU64 (64*w+128)(DI), Z2 \
	VMOVDQU64 (64*w+192)(DI), Z3 \
	VMOVDQU64 (64*w+256)(DI), Z4 \
	VMOVDQU64 (64*w+320)(DI), Z5 \
	VMOVDQU64 (64*w+384)(DI), Z6 \
	VMOVDQU64 (64*w+448)(DI), Z7 \
	TRANSPOSE                    \
	VMOVDQU64 Z0, (8*w)(AX)      \
	VMOVDQU64 Z1, (8*w)(BX)      \
	VMOVDQU64 Z2, (8*w)(CX)      \
	VMOVDQU64 Z3, (8*w)(R8)      \
	VMOVDQU64 Z4, (8*w)(R9)      \
	VMOVDQU64 Z5, (8*w)(R10)     \
	VMOVDQU64 Z6, (8*w)(R11)     \
	VMOVDQU64 Z7, (8*w)(R12)

// func loadAVX512(out *Rows, table *Row, at *[8]uint8)
TEXT ·loadAVX512(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ table+8(FP), SI
	MOVQ at+16(FP), DX
	ADDRESSES
	GATHER(0)
	GATHER(8)
	GATHER(16)
	VZEROUPPER
	RET

// func storeAVX512(table *Row, in *Rows, at *[8]uint8)
TEXT ·storeAVX512(SB), NOSPLIT, $0-24
	MOVQ table+0(FP), SI
	MOVQ in+8(FP), DI
	MOVQ at+16(FP), DX
	ADDRESSES
	SCATTER(0)
	SCATTER(8)
	SCATTER(16)
	VZEROUPPER
	RET
