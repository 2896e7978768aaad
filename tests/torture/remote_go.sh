#!/usr/bin/env bash
# Profiles of a Go program that serves them itself (net/http/pprof), over loopback. Go takes 40 CPU seconds to compile
# its library the first time.
. "$(dirname "$0")/../cli/lib.sh"

"$PITOT" version --features | grep -q '^servers *libcurl [0-9]' || skip_all 'built without libcurl'
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export PPROF_TMPDIR=$PWD/kept

go=go
[ -x /usr/lib/go-1.23/bin/go ] && go=/usr/lib/go-1.23/bin/go
command -v "$go" >/dev/null || skip_all 'Go is not installed'
mkdir go
cat >go/main.go <<'END'
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"time"
)

func spin() int {
	s := 0
	for i := 0; ; i++ {
		s += i * i
	}
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr().String())
	go spin()
	time.AfterFunc(30*time.Minute, func() { panic("nobody stopped this") })
	http.Serve(l, nil)
}
END
# The cache is one for all: what is compiled of Go's library is the same, whoever tests.
(cd go && HOME=$PWD GOFLAGS=-mod=mod CGO_ENABLED=0 GOCACHE=$PITOT_ROOT/build-test/go-cache "$go" build -o server main.go) \
    >go.log 2>&1 || skip_all 'Go cannot build a server here'
./go/server >go/address &
server=$!
trap 'kill $server 2>/dev/null; t_end' EXIT
eventually [ -s go/address ]
go_address=$(cat go/address)

it 'shows where a Go program spends its time'
run pitot top "$go_address" --seconds=1 -n 5
expect_status 0
expect_stdout_line '*main.spin*'
expect_stderr_line "pitot: fetching http://$go_address/debug/pprof/profile?seconds=1*"

it 'reads every profile of a Go program, binary and text'
for kind in heap allocs goroutine threadcreate mutex block; do
    for form in 0 1; do
        run pitot info "http://$go_address/debug/pprof/$kind?debug=$form"
        expect_status 0
    done
done

it 'finds the program behind a Go text profile by its comments'
run pitot top "http://$go_address/debug/pprof/goroutine?debug=1" -n 0
expect_stdout_line '*main.main*'
