# reference.bash: google/pprof with its own tools (addr2line, llvm-symbolizer, objdump), built from the
# copy that Go 1.23 brings along: `go tool pprof` has a disassembler of its own and names no C++.
# Sourced by the tests that compare with it.

# Builds ./google-pprof.
build_reference() {
    local go=/usr/lib/go-1.23/bin/go
    local from=/usr/lib/go-1.23/src/cmd/vendor name
    mkdir -p reference/vendor/github.com/{google,ianlancetaylor}
    cp -r "$from/github.com/google/pprof" reference/vendor/github.com/google/
    cp -r "$from/github.com/ianlancetaylor/demangle" reference/vendor/github.com/ianlancetaylor/
    (
        cd reference || exit 1
        awk '/^# /{on = /google\/pprof|ianlancetaylor\/demangle/} on' "$from/modules.txt" >vendor/modules.txt
        sed -i 's/^## explicit.*/## explicit; go 1.19/' vendor/modules.txt
        {
            printf 'module reference\n\ngo 1.23\n\nrequire (\n'
            awk '/^# /{print "\t" $2, $3}' vendor/modules.txt
            printf ')\n'
        } >go.mod
        awk '/^# /{print; print "## explicit; go 1.19"; next} !/^##/' vendor/modules.txt >m
        mv m vendor/modules.txt
        cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/driver"
)

func main() {
	if err := driver.PProf(&driver.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "pprof:", err)
		os.Exit(2)
	}
}
GO
        GOTOOLCHAIN=local GOFLAGS=-mod=vendor GOCACHE=$PWD/cache CGO_ENABLED=0 $go build -o ../google-pprof .
    )
}
