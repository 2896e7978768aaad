// inlines.go: functions that Go inlines, two deep, in one that it does not.
package main

import "os"

type vector struct{ x, y int }

func (v vector) dot(o vector) int { return v.x*o.x + v.y*o.y }

func lengthSquared(v vector) int { return v.dot(v) }

//go:noinline
func total(all []vector) int {
	sum := 0
	for _, v := range all {
		if sum%2 == 0 {
			sum += lengthSquared(v)
		}
	}
	return sum
}

func main() {
	println(total([]vector{{len(os.Args), 2}, {3, 4}}))
}
