// cause: growing-arrays|joining-text Add
// Text is built with +=.
package main

import "fmt"

type Page struct{ body string }

func (p *Page) Add(line string) { p.body += line + "\n" }

type Writer interface{ Add(string) }

func render(w Writer, lines int) {
	for i := 0; i < lines; i++ {
		w.Add("a line of the page")
	}
}

func main() {
	size := 0
	for i := 0; i < 2; i++ {
		page := &Page{}
		render(page, 16000)
		size += len(page.body)
	}
	fmt.Println(size)
}
