package global

import "math"

// exp returns e^x for |x| <= 700 by additions and multiplications only, each rounded
// separately, so that it is the same on every machine; math.Exp is in assembly on some. Its
// relative error is below 2^-50.
func exp(x float64) float64 {
	// ln 2, the high part of 33 bits
	const ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	k := math.RoundToEven(x / math.Ln2)
	r := x - float64(k*ln2Hi) - float64(k*ln2Lo) // |r| <= 0.35
	sum := 1.0
	for n := 15.0; n >= 1; n-- { // Taylor's series by Horner: the remainder is below 0.35^16/16! < 2^-60
		sum = 1 + float64(float64(sum*r)/n)
	}
	return math.Ldexp(sum, int(k))
}
