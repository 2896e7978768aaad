// cause: locks add
// Goroutines fight for one lock.
package main

import (
	"fmt"
	"sync"
)

type counter struct {
	mu sync.Mutex
	n  map[int]int
}

//go:noinline
func (c *counter) add(k int) {
	c.mu.Lock()
	c.n[k&1]++
	c.mu.Unlock()
}

func main() {
	c := &counter{n: map[int]int{}}
	var wg sync.WaitGroup
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func() {
			for i := 0; i < 1500000; i++ {
				c.add(i)
			}
			wg.Done()
		}()
	}
	wg.Wait()
	fmt.Println(c.n)
}
