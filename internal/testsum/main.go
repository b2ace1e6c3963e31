// Command testsum passes the output of go test on and ends it with the line
// "name: N passed, N failed, N skipped", counting packages. It fails when one failed.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	name := "test"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	passed, failed, skipped := 0, 0, 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	for in.Scan() {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "ok\t"):
			passed++
		case strings.HasPrefix(line, "FAIL\t"):
			failed++
		case strings.Contains(line, "[no test files]"):
			skipped++
			continue
		}
		fmt.Println(line)
	}
	fmt.Printf("%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped)
	if failed > 0 || passed == 0 || in.Err() != nil {
		os.Exit(1)
	}
}
