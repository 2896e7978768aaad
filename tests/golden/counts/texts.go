//go:build ignore

// Profiles of the Go runtime as text: go run -trimpath texts.go FOLDER-OF-GOLDENS
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte

//go:noinline
func keep(n, size int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, size))
	}
}

func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 50; k++ {
				mu.Lock()
				time.Sleep(20 * time.Microsecond)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

func wait(c chan bool) { <-c }

func write(name, kind string) {
	f, err := os.Create(filepath.Join(os.Args[1], name))
	if err != nil {
		panic(err)
	}
	pprof.Lookup(kind).WriteTo(f, 1)
	f.Close()
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.MemProfileRate = 4096
	c := make(chan bool)
	labels := pprof.Labels("handler", "/api \"v1\"", "user", "9")
	pprof.Do(context.Background(), labels, func(context.Context) { go wait(c); go wait(c) })
	go wait(c)
	keep(1000, 100)
	keep(3, 1<<20)
	contend()
	runtime.GC()
	runtime.GC()
	write("heap/go-debug1.txt", "heap")
	write("contention/go-mutex.txt", "mutex")
	write("counts/goroutine-debug1.txt", "goroutine")
	write("counts/threadcreate.txt", "threadcreate")
}
