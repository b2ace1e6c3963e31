package dense

import "unsafe"

// lanes is the number of elements a kernel takes at a time.
const lanes = 64

// kernel computes n sums over blocks·64 elements: out[r] of the vector at
// a + r·aStride and the one at b + r·bStride. Strides are in elements. blocks
// and n are at least 1.
type kernel func(a, b *float32, aStride, bStride, blocks, n int, out *float32)

// kernels is one implementation of both sums.
type kernels struct {
	name    string
	dot, l2 kernel
}

// use is the best implementation of this CPU, chosen once.
var use = choose()

// KernelName says which kernels run: avx512, avx2 or go.
func KernelName() string { return use.name }

// dotRows is the inner product of q with each row.
func dotRows(q, rows []float32, dim int, out []float32) {
	runRows(use.dot, q, 0, rows, dim, out, mulTail)
}

// normRows is the inner product of each row with itself.
func normRows(rows []float32, dim int, out []float32) {
	runRows(use.dot, rows, dim, rows, dim, out, mulTail)
}

// l2Rows is the squared distance of q to each row.
func l2Rows(q, rows []float32, dim int, out []float32) {
	runRows(use.l2, q, 0, rows, dim, out, squareTail)
}

func dot1(a, b []float32) float32 {
	var out [1]float32
	if len(a) > 0 {
		dotRows(a, b, len(a), out[:])
	}
	return out[0]
}

// runRows sums the whole blocks in the kernel and the tail element by element.
// a must hold len(out) vectors aStride apart, b as many dim apart.
func runRows(k kernel, a []float32, aStride int, b []float32, dim int, out []float32, tail func(a, b, sum float32) float32) {
	n, blocks := len(out), dim/lanes
	if n == 0 {
		return
	}
	_, _ = a[(n-1)*aStride+dim-1], b[n*dim-1] // the kernels do not check
	if blocks > 0 {
		k(unsafe.SliceData(a), unsafe.SliceData(b), aStride, dim, blocks, n, unsafe.SliceData(out))
	} else {
		clear(out)
	}
	if dim%lanes == 0 {
		return
	}
	for r := range out {
		sum := out[r]
		for i := blocks * lanes; i < dim; i++ {
			sum = tail(a[r*aStride+i], b[r*dim+i], sum)
		}
		out[r] = sum
	}
}

func mulTail(a, b, sum float32) float32 { return sum + float32(a*b) }

func squareTail(a, b, sum float32) float32 {
	d := a - b
	return sum + float32(d*d)
}
