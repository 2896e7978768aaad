// cause: compiling-expressions isValid
// A regular expression is compiled for each line.
package main

import (
	"fmt"
	"regexp"
)

type checker struct{ field string }

func (c checker) isValid(line string) bool {
	return regexp.MustCompile(`^` + c.field + `=[a-z0-9_]{1,20}(\.[a-z]+)*$`).MatchString(line)
}

func main() {
	good := 0
	for i := 0; i < 30000; i++ {
		if (checker{"user"}).isValid(fmt.Sprint("user=name", i)) {
			good++
		}
	}
	fmt.Println(good)
}
