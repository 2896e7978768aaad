#!/usr/bin/env bash
# Names made shorter for narrow boxes: web/src/text.ts, run by node.
. "$(dirname "$0")/../cli/lib.sh"

# forms NAME: its shorter forms, one a line, without the name itself.
forms() { node --input-type=module -e "import { shorterForms } from '$PWD/text.mjs';
    for (const form of shorterForms(process.argv[1]).slice(1)) console.log(form);" -- "$1"; }

ready=1
for tool in esbuild node; do command -v $tool >/dev/null || ready=0; done
[ $ready = 1 ] || skip_all 'esbuild and node are not installed'
esbuild --bundle --format=esm --log-level=warning "$PITOT_ROOT/web/src/text.ts" --outfile=text.mjs

it 'drops arguments, then template arguments, then the path'
run forms 'std::vector<int, std::allocator<int>>::push_back(int const&)'
expect_stdout 'std::vector<int, std::allocator<int>>::push_back
std::vector::push_back
vector::push_back
push_back'

it 'drops the return type of a template'
run forms 'void std::sort<int*>(int*, int*)'
expect_stdout 'void std::sort<int*>
std::sort
sort'

it 'knows that operators may look like brackets'
run forms 'std::vector<_State<char>, std::allocator<_State<char> > >::operator[](unsigned long) const'
expect_stdout 'std::vector<_State<char>, std::allocator<_State<char> > >::operator[]
std::vector::operator[]
vector::operator[]
operator[]'
run forms 'a::F<int>::operator()(b::C<int> const&)'
expect_stdout 'a::F<int>::operator()
a::F::operator()
F::operator()
operator()'
run forms 'bool a::operator<(a::X<1>, a::X<2>)'
expect_stdout 'bool a::operator<
a::operator<
operator<'

it 'keeps an anonymous namespace'
run forms '(anonymous namespace)::run(int)'
expect_stdout '(anonymous namespace)::run
run'

it 'drops the path of a Go package'
run forms 'github.com/foo/bar.(*T).Method'
expect_stdout 'bar.(*T).Method'

it 'leaves addresses, plain names and what it does not understand'
for name in '[libfoo/bar.so+0x1234]' memcpy 'a<b' 'a>b' ''; do
    run forms "$name"
    expect_stdout ''
done
