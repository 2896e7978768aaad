// cause: allocating|collecting-garbage walk
// Small objects are made for each step.
package main

import "fmt"

type Point struct{ X, Y, Z float64 }

type Mover interface{ Move() Mover }

func (p *Point) Move() Mover { return &Point{p.X + 1, p.Y + 2, p.Z + 3} }

func walk(m Mover, steps int) Mover {
	for i := 0; i < steps; i++ {
		m = m.Move()
	}
	return m
}

func main() { fmt.Println(walk(&Point{}, 25000000).(*Point).X) }
