// cause: formatting-text keyOf
// Keys of a map are formatted.
package main

import "fmt"

func keyOf(a, b int) string { return fmt.Sprintf("%d:%d", a, b) }

func main() {
	seen := map[string]int{}
	for i := 0; i < 3000000; i++ {
		seen[keyOf(i%50, i%70)]++
	}
	fmt.Println(len(seen))
}
