package dense

import "github.com/klauspost/cpuid/v2"

//go:noescape
func dotAVX2(a, b *float32, aStride, bStride, blocks, n int, out *float32)

//go:noescape
func l2AVX2(a, b *float32, aStride, bStride, blocks, n int, out *float32)

//go:noescape
func dotAVX512(a, b *float32, aStride, bStride, blocks, n int, out *float32)

//go:noescape
func l2AVX512(a, b *float32, aStride, bStride, blocks, n int, out *float32)

// available lists the implementations this CPU can run, the best first.
func available() []kernels {
	var list []kernels
	if cpuid.CPU.Supports(cpuid.AVX512F) {
		list = append(list, kernels{name: "avx512", dot: dotAVX512, l2: l2AVX512})
	}
	if cpuid.CPU.Supports(cpuid.AVX2) {
		list = append(list, kernels{name: "avx2", dot: dotAVX2, l2: l2AVX2})
	}
	return append(list, goKernels)
}

func choose() kernels { return available()[0] }
