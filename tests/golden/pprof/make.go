// make.go: a small program that profiles itself with Go's runtime/pprof, for golden files.
//
//	go run make.go FOLDER
//
// writes cpu.pb.gz (a CPU profile with labels), heap.pb.gz (four values a sample) and
// goroutine.pb.gz. The README beside it has the commands and versions.
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

var sink [][]byte

//go:noinline
func spin(until time.Time) (sum int) {
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			sum += i * i
		}
	}
	return sum
}

//go:noinline
func keep() {
	for i := 0; i < 64; i++ {
		sink = append(sink, make([]byte, 64<<10))
	}
}

func create(name string) *os.File {
	f, err := os.Create(filepath.Join(os.Args[1], name))
	if err != nil {
		panic(err)
	}
	return f
}

func main() {
	cpu := create("cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	pprof.Do(context.Background(), pprof.Labels("phase", "one"), func(context.Context) {
		spin(time.Now().Add(150 * time.Millisecond))
	})
	spin(time.Now().Add(100 * time.Millisecond))
	pprof.StopCPUProfile()
	cpu.Close()

	keep()
	for _, name := range []string{"heap", "goroutine"} {
		f := create(name + ".pb.gz")
		pprof.Lookup(name).WriteTo(f, 0)
		f.Close()
	}
}
