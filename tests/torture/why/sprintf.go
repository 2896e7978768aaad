// cause: formatting-text makeKey
// A key is printed for each look-up.
package main

import "fmt"

//go:noinline
func makeKey(i int) string { return fmt.Sprintf("user-%08d-%s-%f", i, "name", float64(i)/3) }

func main() {
	n := 0
	for i := 0; i < 1500000; i++ {
		n += len(makeKey(i))
	}
	if n == 42 {
		panic(n)
	}
}
