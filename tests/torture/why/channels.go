// cause: switching-tasks sumOf
// Each number goes through an unbuffered channel.
package main

import "fmt"

func numbers(count int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for i := 0; i < count; i++ {
			out <- i
		}
	}()
	return out
}

func sumOf(in <-chan int) int {
	sum := 0
	for n := range in {
		sum += n
	}
	return sum
}

func main() { fmt.Println(sumOf(numbers(5000000))) }
