//go:build !amd64

package dense

func choose() kernels { return goKernels }

func available() []kernels { return []kernels{goKernels} }
