# What a person types. The build itself is meson's: see meson.build.
#
# Packages that a target needs and that are missing are installed (tools/deps.txt is the table;
# PITOT_NO_INSTALL=1 only lists them).

prefix ?= $(or $(PREFIX),/usr/local)
# Where Debian's linker looks; meson knows it only where dpkg-dev is installed.
libdir ?= $(patsubst %/,%,lib/$(shell gcc -print-multiarch 2>/dev/null))
FUZZ_SECONDS ?= 30
DEPS := tools/install-deps

.PHONY: all help demo test bench lint fuzz asan tsan torture install dist deb clean

## make           build/pitot and build/libprofiler.so.0, optimised, with debug information
all: build/build.ninja
	@$(DEPS) build
	@ninja -C build

build/build.ninja:
	@$(DEPS) build
	@meson setup build -Dtests=disabled

## make help      this list
help:
	@sed -n 's/^## //p' Makefile

## make demo      build a small program, record it, show where its time goes
demo: build/build.ninja
	@$(DEPS) demo
	@ninja -C build pitot libprofiler.so.0
	@demo/run

## make test      everything that is checked before a change goes in; ONLY=word narrows it
test:
	@$(DEPS) test
	@tools/run-tests $(if $(ONLY),--only '$(ONLY)')

## make bench     speed and memory beside the tools it is measured against
bench: all
	@$(DEPS) bench
	@bench/run $(ROW)

## make lint      layers, headers, format, clang-tidy on changed files; ALL=1 for all files
lint:
	@$(DEPS) lint
	@ALL=$(ALL) tools/run-tests lint

## make asan      build with address and undefined-behaviour sanitizers; unit, cli, fuzz corpora
asan:
	@$(DEPS) asan
	@tools/run-tests asan

## make tsan      build with the thread sanitizer; unit tests
tsan:
	@$(DEPS) tsan
	@tools/run-tests tsan

## make fuzz      run each fuzz target for FUZZ_SECONDS=30; TARGET=name for one
fuzz:
	@$(DEPS) fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run-tests fuzz $(if $(TARGET),--only '$(TARGET)')

## make torture   what takes long; writes its result to docs/torture.md; SEED=n repeats a run;
##                STAGE=lint, tsan, sweep, long or fuzz for one; ONLY=word narrows it
torture:
	@$(DEPS) torture
	@FUZZ_SECONDS=$(FUZZ_SECONDS) PITOT_SEED=$(SEED) tools/record-torture $(STAGE) $(if $(ONLY),--only '$(ONLY)')

## make install   to prefix=/usr/local, below DESTDIR if that is set
install: all
	@meson configure build --prefix=$(prefix) --libdir=$(libdir)
	@ninja -C build
	@DESTDIR=$(DESTDIR) meson install -C build --no-rebuild

## make dist      a tarball of some MB that runs on any Linux, from wherever it is unpacked
dist:
	@$(DEPS) dist
	@tools/make-dist

## make deb       Debian packages: pitot, libprofiler0, libprofiler-dev
deb:
	@$(DEPS) deb
	@tools/make-deb

## make clean     remove everything that was built
clean:
	rm -rf build build-* dist
