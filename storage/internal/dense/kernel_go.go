package dense

import "unsafe"

// goKernels are the plain-Go twins: every machine has them.
var goKernels = kernels{name: "go", dot: dotGo, l2: l2Go}

func dotGo(a, b *float32, aStride, bStride, blocks, n int, out *float32) {
	eachRow(a, b, aStride, bStride, blocks, n, out, dotLanes)
}

func l2Go(a, b *float32, aStride, bStride, blocks, n int, out *float32) {
	eachRow(a, b, aStride, bStride, blocks, n, out, l2Lanes)
}

func eachRow(a, b *float32, aStride, bStride, blocks, n int, out *float32, sum func(a, b []float32, acc *[lanes]float32)) {
	size := blocks * lanes
	as := unsafe.Slice(a, (n-1)*aStride+size)
	bs := unsafe.Slice(b, (n-1)*bStride+size)
	outs := unsafe.Slice(out, n)
	var acc [lanes]float32
	for r := range outs {
		sum(as[r*aStride:][:size], bs[r*bStride:][:size], &acc)
		outs[r] = reduce(&acc)
	}
}

// dotLanes keeps four lanes in registers at a time and walks all blocks for them.
func dotLanes(a, b []float32, acc *[lanes]float32) {
	for j := 0; j < lanes; j += 4 {
		var s0, s1, s2, s3 float32
		for i := j; i+4 <= len(a) && i+4 <= len(b); i += lanes {
			x, y := a[i:i+4:i+4], b[i:i+4:i+4]
			s0 += float32(x[0] * y[0])
			s1 += float32(x[1] * y[1])
			s2 += float32(x[2] * y[2])
			s3 += float32(x[3] * y[3])
		}
		acc[j], acc[j+1], acc[j+2], acc[j+3] = s0, s1, s2, s3
	}
}

func l2Lanes(a, b []float32, acc *[lanes]float32) {
	for j := 0; j < lanes; j += 4 {
		var s0, s1, s2, s3 float32
		for i := j; i+4 <= len(a) && i+4 <= len(b); i += lanes {
			x, y := a[i:i+4:i+4], b[i:i+4:i+4]
			d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
			s0 += float32(d0 * d0)
			s1 += float32(d1 * d1)
			s2 += float32(d2 * d2)
			s3 += float32(d3 * d3)
		}
		acc[j], acc[j+1], acc[j+2], acc[j+3] = s0, s1, s2, s3
	}
}

// reduce adds the lanes: 64 → 16 as (A+B)+(C+D) of the four quarters, then
// halves until one is left.
func reduce(acc *[lanes]float32) float32 {
	var s [16]float32
	for i := range s {
		s[i] = (acc[i] + acc[16+i]) + (acc[32+i] + acc[48+i])
	}
	for half := 8; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[half+i]
		}
	}
	return s[0]
}
