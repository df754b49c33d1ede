//go:build amd64 && !purego

#include "textflag.h"

// Blocks of 16 coordinates, four vectors of four. Y12 gathers the OR of all x + half, half in
// each word of Y15; Y11 and Y10 the squares of the coordinates' lower halves, which
// are the coordinates themselves when that OR says so.

// HALF sets each word of Y15 to 2^bit, and clears what is gathered.
#define HALF(bit) \
	VPCMPEQQ Y15, Y15, Y15 \
	VPSRLQ   $63, Y15, Y15 \
	VPSLLQ   $bit, Y15, Y15 \
	VPXOR    Y12, Y12, Y12 \
	VPXOR    Y11, Y11, Y11 \
	VPXOR    Y10, Y10, Y10

// MOVED takes x into the OR.
#define MOVED(x, t) \
	VPADDQ Y15, x, t   \
	VPOR   t, Y12, Y12

// SQUARE takes it into a sum of squares.
#define SQUARE(x, t, sum) \
	VPMULDQ x, x, t     \
	VPADDQ  t, sum, sum

// TAKE does both with the block's 16, in Y0 to Y3.
#define TAKE \
	MOVED(Y0, Y4)       \
	MOVED(Y1, Y5)       \
	MOVED(Y2, Y6)       \
	MOVED(Y3, Y7)       \
	SQUARE(Y0, Y4, Y11) \
	SQUARE(Y1, Y5, Y10) \
	SQUARE(Y2, Y6, Y11) \
	SQUARE(Y3, Y7, Y10)

#define LOAD \
	VMOVDQU 0(SI), Y0  \
	VMOVDQU 32(SI), Y1 \
	VMOVDQU 64(SI), Y2 \
	VMOVDQU 96(SI), Y3

// OR brings the OR of Y12's words to AX.
#define OR \
	VEXTRACTI128 $1, Y12, X0 \
	VPOR         X0, X12, X12 \
	VPSRLDQ      $8, X12, X0 \
	VPOR         X0, X12, X12 \
	VMOVQ        X12, AX

// SUM brings the sum of Y11's and Y10's words to DX.
#define SUM \
	VPADDQ       Y10, Y11, Y11 \
	VEXTRACTI128 $1, Y11, X0 \
	VPADDQ       X0, X11, X11 \
	VPSRLDQ      $8, X11, X0 \
	VPADDQ       X0, X11, X11 \
	VMOVQ        X11, DX

// TURN takes x^2x into the OR.
#define TURN(x, t) \
	VPADDQ x, x, t     \
	VPXOR  t, x, x     \
	VPOR   x, Y12, Y12

// func turnsAVX2(v *int64, blocks int) (turned uint64)
TEXT ·turnsAVX2(SB), NOSPLIT, $0-24
	MOVQ  v+0(FP), SI
	MOVQ  blocks+8(FP), CX
	VPXOR Y12, Y12, Y12

loop:
	LOAD
	TURN(Y0, Y4)
	TURN(Y1, Y5)
	TURN(Y2, Y6)
	TURN(Y3, Y7)
	ADDQ $128, SI
	DECQ CX
	JNZ  loop
	OR
	VZEROUPPER
	MOVQ AX, turned+16(FP)
	RET

// order<> puts the eight pairs of coordinates that packing leaves in two lanes in order.
DATA order<>+0(SB)/4, $0
DATA order<>+4(SB)/4, $4
DATA order<>+8(SB)/4, $1
DATA order<>+12(SB)/4, $5
DATA order<>+16(SB)/4, $2
DATA order<>+20(SB)/4, $6
DATA order<>+24(SB)/4, $3
DATA order<>+28(SB)/4, $7
GLOBL order<>(SB), RODATA|NOPTR, $32

// func packTwosAVX2(dst *byte, v *int64, blocks int) (squares, moved uint64)
TEXT ·packTwosAVX2(SB), NOSPLIT, $0-40
	MOVQ     dst+0(FP), DI
	MOVQ     v+8(FP), SI
	MOVQ     blocks+16(FP), CX
	HALF(15)
	VPCMPEQQ Y14, Y14, Y14
	VPSRLQ   $48, Y14, Y14
	VMOVDQU  order<>(SB), Y13

loop:
	LOAD
	TAKE
	VPAND     Y14, Y0, Y0
	VPAND     Y14, Y1, Y1
	VPAND     Y14, Y2, Y2
	VPAND     Y14, Y3, Y3
	VPACKUSDW Y1, Y0, Y0
	VPACKUSDW Y3, Y2, Y2
	VPACKUSDW Y2, Y0, Y0
	VPERMD    Y0, Y13, Y0
	VMOVDQU   Y0, 0(DI)
	ADDQ      $128, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       loop
	OR
	SUM
	VZEROUPPER
	MOVQ DX, squares+24(FP)
	MOVQ AX, moved+32(FP)
	RET

// lowest<> gathers the lowest three bytes of the two words of a lane.
DATA lowest<>+0(SB)/8, $0x80800a0908020100
DATA lowest<>+8(SB)/8, $0x8080808080808080
DATA lowest<>+16(SB)/8, $0x80800a0908020100
DATA lowest<>+24(SB)/8, $0x8080808080808080
GLOBL lowest<>(SB), RODATA|NOPTR, $32

// func packThreesAVX2(dst *byte, v *int64, blocks int) (squares, moved uint64)
TEXT ·packThreesAVX2(SB), NOSPLIT, $0-40
	MOVQ    dst+0(FP), DI
	MOVQ    v+8(FP), SI
	MOVQ    blocks+16(FP), CX
	HALF(23)
	VMOVDQU lowest<>(SB), Y13

loop:
	LOAD
	TAKE
	VPSHUFB      Y13, Y0, Y0
	VPSHUFB      Y13, Y1, Y1
	VPSHUFB      Y13, Y2, Y2
	VPSHUFB      Y13, Y3, Y3
	VEXTRACTI128 $1, Y0, X4
	VEXTRACTI128 $1, Y1, X5
	VEXTRACTI128 $1, Y2, X6
	VEXTRACTI128 $1, Y3, X7
	VMOVQ        X0, 0(DI) // each writes two bytes more than it has, which the next one overwrites
	VMOVQ        X4, 6(DI)
	VMOVQ        X1, 12(DI)
	VMOVQ        X5, 18(DI)
	VMOVQ        X2, 24(DI)
	VMOVQ        X6, 30(DI)
	VMOVQ        X3, 36(DI)
	VMOVQ        X7, 42(DI)
	ADDQ         $128, SI
	ADDQ         $48, DI
	DECQ         CX
	JNZ          loop
	OR
	SUM
	VZEROUPPER
	MOVQ DX, squares+24(FP)
	MOVQ AX, moved+32(FP)
	RET

// func addTwosAVX2(dst, samples *int64, words *byte, blocks int)
TEXT ·addTwosAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ samples+8(FP), SI
	MOVQ words+16(FP), BX
	MOVQ blocks+24(FP), CX

loop:
	VPMOVSXWQ 0(BX), Y0
	VPMOVSXWQ 8(BX), Y1
	VPMOVSXWQ 16(BX), Y2
	VPMOVSXWQ 24(BX), Y3
	VPADDQ    0(SI), Y0, Y0
	VPADDQ    32(SI), Y1, Y1
	VPADDQ    64(SI), Y2, Y2
	VPADDQ    96(SI), Y3, Y3
	VMOVDQU   Y0, 0(DI)
	VMOVDQU   Y1, 32(DI)
	VMOVDQU   Y2, 64(DI)
	VMOVDQU   Y3, 96(DI)
	ADDQ      $32, BX
	ADDQ      $128, SI
	ADDQ      $128, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET

// highest<> puts four coordinates of three bytes into the highest three bytes of four
// words of 32 bits.
DATA highest<>+0(SB)/8, $0x0504038002010080
DATA highest<>+8(SB)/8, $0x0b0a098008070680
GLOBL highest<>(SB), RODATA|NOPTR, $16

// WIDEN sets x to the four coordinates of three bytes at a place, of which it reads 16.
#define WIDEN(at, xmm, ymm) \
	VMOVDQU   at(BX), xmm   \
	VPSHUFB   X13, xmm, xmm \
	VPSRAD    $8, xmm, xmm  \
	VPMOVSXDQ xmm, ymm

// func addThreesAVX2(dst, samples *int64, words *byte, blocks int)
TEXT ·addThreesAVX2(SB), NOSPLIT, $0-32
	MOVQ    dst+0(FP), DI
	MOVQ    samples+8(FP), SI
	MOVQ    words+16(FP), BX
	MOVQ    blocks+24(FP), CX
	VMOVDQU highest<>(SB), X13

loop:
	WIDEN(0, X0, Y0)
	WIDEN(12, X1, Y1)
	WIDEN(24, X2, Y2)
	WIDEN(36, X3, Y3)
	VPADDQ  0(SI), Y0, Y0
	VPADDQ  32(SI), Y1, Y1
	VPADDQ  64(SI), Y2, Y2
	VPADDQ  96(SI), Y3, Y3
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $48, BX
	ADDQ    $128, SI
	ADDQ    $128, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// PAIR sets x to the elements of the pairs in x and y: firsts and seconds are taken apart,
// seconds shifted and added, p added to what is negative (2^32 - 1 taken off), and the four
// put in order. Y14 is zero.
#define PAIR(x, y, t) \
	VPUNPCKHQDQ y, x, t      \
	VPUNPCKLQDQ y, x, x      \
	VPSLLQ      $32, t, t    \
	VPADDQ      t, x, x      \
	VPCMPGTQ    x, Y14, t    \
	VPSRLQ      $32, t, t    \
	VPSUBQ      t, x, x      \
	VPERMQ      $0xd8, x, x

// func pairsAVX2(dst *field.Element, v *int64, blocks int) (moved uint64)
TEXT ·pairsAVX2(SB), NOSPLIT, $0-32
	MOVQ  dst+0(FP), DI
	MOVQ  v+8(FP), SI
	MOVQ  blocks+16(FP), CX
	HALF(30)
	VPXOR Y14, Y14, Y14

loop:
	LOAD
	MOVED(Y0, Y4)
	MOVED(Y1, Y5)
	MOVED(Y2, Y6)
	MOVED(Y3, Y7)
	PAIR(Y0, Y1, Y4)
	PAIR(Y2, Y3, Y5)
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y2, 32(DI)
	ADDQ    $128, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     loop
	OR
	VZEROUPPER
	MOVQ AX, moved+24(FP)
	RET

// ROUND sets x to the integers nearest to the products at a place.
#define ROUND(at, x) \
	VMULPD at(SI), Y9, x \
	VADDPD Y8, x, x      \
	VPSUBQ Y8, x, x

// func roundSquaresAVX2(dst *int64, x *float64, scale float64, blocks int) (squares, moved uint64)
TEXT ·roundSquaresAVX2(SB), NOSPLIT, $0-48
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSD scale+16(FP), Y9
	MOVQ         blocks+24(FP), CX
	HALF(27)
	MOVQ         $0x4338000000000000, AX // 3 * 2^51
	VMOVQ        AX, X8
	VPBROADCASTQ X8, Y8

loop:
	ROUND(0, Y0)
	ROUND(32, Y1)
	ROUND(64, Y2)
	ROUND(96, Y3)
	TAKE
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	DECQ    CX
	JNZ     loop
	OR
	SUM
	VZEROUPPER
	MOVQ DX, squares+32(FP)
	MOVQ AX, moved+40(FP)
	RET
