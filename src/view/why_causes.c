/* why_causes.c: see why_causes.h. */
#include "view/why_causes.h"

#include <string.h>

#include "base/text.h"
#include "view/own_code.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Ranks: a cause that shows the program's intent outranks one that shows only the mechanism. */
enum { MACHINE = 1, SYSTEM, LIBRARY, INTENT, DEFINITE };

const pt_why_cause pt_why_causes[] = {
    [PT_WHY_NO_CAUSE] = {.id = "own-code"},
    [PT_WHY_INTERPRETER] = /* and the beginning of programs and threads */
    {
        .id = "interpreter",
        .functions = NAMES("PyEval_EvalFrameDefault", "PyEval_EvalFrame", "PyEval_Vector",
                           "PyEval_EvalCode*", "PyFunction_Vectorcall", "PyObject_Vectorcall*",
                           "PyObject_MakeTpCall", "PyObject_Call", "PyObject_FastCall*",
                           "Builtin:InterpreterEntryTrampoline", "Builtin:JSEntry*", "execute_ex",
                           "vm_exec_core", "start", "start_call_main", "start_main*",
                           "start_thread", "clone", "clone3"),
    },
    /* ---- The program's intent ---- */
    {
        .id = "compiling-expressions",
        .doing = "compiling regular expressions",
        .advice = "compile each expression once and keep it",
        .rank = DEFINITE,
        .functions = NAMES(
            "regcomp", "re_compile_internal", "re_compile_pattern", "re_compile_fastmap",
            "std::__detail::_Compiler*", "std::__cxx11::basic_regex*::basic_regex",
            "std::__cxx11::basic_regex*::_M_compile", "std::basic_regex*::basic_regex",
            "std::__detail::_NFA*", "std::__detail::_Scanner*", "pcre_compile*", "pcre2_compile*",
            "regexp.Compile", "regexp.MustCompile", "regexp.compile", "regexp/syntax.Parse",
            "regexp/syntax.Compile", "regexp.onePassCopy", "regex::regex::string::Regex::new",
            "regex_automata::meta::regex::Builder*", "regex_syntax::*", "file:/re/_compiler.py",
            "file:/re/_parser.py", "file:/sre_compile.py", "file:/sre_parse.py",
            "v8::internal::RegExp::Compile*", "v8::internal::RegExpImpl::Compile*",
            "v8::internal::RegExpCompiler*", "v8::internal::RegExpParser*"),
    },
    {
        .id = "exceptions",
        .doing = "throwing and catching exceptions",
        .advice = "return an error for what happens often",
        .rank = INTENT,
        .functions = NAMES(
            "cxa_throw", "cxa_rethrow", "cxa_allocate_exception", "cxa_end_catch",
            "Unwind_RaiseException*", "Unwind_Resume", "Unwind_Find_FDE", "gxx_personality_v0",
            "rust_panic*", "runtime.gopanic", "v8::internal::Isolate::Throw*",
            "v8::internal::Isolate::CaptureSimpleStackTrace", "v8::internal::ErrorUtils*",
            "PyErr_Format*", "PyErr_SetObject", "PyErr_SetString", "PyErr_SetNone",
            "PyErr_NormalizeException", "PyErr_SetRaisedException", "PyTraceBack_Here",
            "BaseException_new", "BaseException_dealloc", "tb_dealloc"),
    },
    {
        .id = "starting-programs",
        .doing = "starting and ending processes",
        .advice = "start fewer programs: let one process do more of the work",
        .rank = INTENT,
        .in_kernel = true,
        .functions = NAMES(
            "execve", "execveat", "posix_spawn", "posix_spawnp", "spawni", "spawnix", "fork",
            "vfork", "Fork", "system", "popen", "dl_start", "dl_start_user", "dl_main",
            "dl_sysdep_start", "dl_relocate_object", "do_execveat_common*", "load_elf_binary",
            "begin_new_exec", "bprm_execve", "kernel_clone", "copy_process", "dup_mm", "exit_mmap",
            "do_exit", "do_group_exit", "mmput", "x64_sys_execve", "x64_sys_clone*",
            "x64_sys_vfork", "x64_sys_exit_group", "do_sys_execve", "do_sys_clone*",
            "ret_from_fork*", "schedule_tail", "file:/subprocess.py", "os.StartProcess",
            "syscall.forkExec", "make_child", "[not sampled: fork, exec, loader]"),
    },
    {
        .id = "loading-libraries",
        .doing = "loading shared libraries while the program runs",
        .advice = "load fewer libraries, or load each when it is first needed",
        .rank = INTENT,
        .functions = NAMES("dlopen", "dlmopen", "dl_open", "dl_open_worker*", "dlopen_doit",
                           "dlopen_implementation"),
    },
    {
        .id = "collecting-garbage",
        .doing = "collecting garbage",
        .advice = "make fewer objects that live short, or allow the heap to grow",
        .rank = INTENT,
        .functions = NAMES(
            "runtime.gcBgMarkWorker*", "runtime.gcDrain*", "runtime.gcAssistAlloc*",
            "runtime.bgsweep", "runtime.sweepone", "runtime.scanobject", "runtime.gcStart",
            "v8::internal::Heap::CollectGarbage*", "v8::internal::Heap::CollectAllGarbage*",
            "v8::internal::Scavenger*", "v8::internal::MarkCompact*", "v8::internal::Sweeper*",
            "v8::internal::ScavengerCollector*", "v8::internal::MinorMarkSweep*",
            "v8::internal::ConcurrentMarking*", "gc_collect_main", "gc_collect_generations",
            "collect_with_callback", "gc_collect_region", "gc_start", "gc_marks*", "gc_sweep*",
            "G1ParScanThreadState*", "G1CollectedHeap*", "G1Conc*", "PSParallelCompact*",
            "PSPromotionManager*", "zend_gc_collect_cycles", "GC_collect*", "GC_mark*",
            "System.GC.Collect"),
    },
    {
        .id = "flushing-lines",
        .doing = "writing output line by line",
        .advice = "write '\\n' in place of std::endl, or buffer the output",
        .rank = DEFINITE,
        .functions = NAMES("std::endl*", "std::flush*", "std::ostream::flush", "fflush",
                           "IO_fflush", "fflush_unlocked"),
    },
    {
        .id = "waiting-for-disk",
        .doing = "bringing files to the disk (fsync)",
        .advice = "gather several changes before each fsync",
        .rank = DEFINITE,
        .in_kernel = true,
        .functions = NAMES("fsync", "fdatasync", "do_fsync", "ksys_sync", "sync_file_range",
                           "msync", "x64_sys_fsync", "x64_sys_fdatasync", "do_sys_fsync",
                           "vfs_fsync_range", "os.(*File).Sync"),
    },
    {
        .id = "formatting-text",
        .doing = "formatting text",
        .advice = "format less often, or with a cheaper function (std::to_chars, writes of bytes)",
        .rank = INTENT,
        .functions = NAMES(
            "printf", "fprintf", "sprintf", "snprintf", "asprintf", "vprintf", "vfprintf",
            "vsprintf", "vsnprintf", "vasprintf", "vfprintf_internal", "printf_chk", "fprintf_chk",
            "sprintf_chk", "snprintf_chk", "vsnprintf_chk", "vfprintf_chk", "vsnprintf_internal",
            "printf_fp*", "strfroml", "std::to_string*", "std::ostream::operator<<",
            "std::operator<<*", "std::basic_ostream*", "std::num_put*", "std::__ostream_insert*",
            "std::format*", "std::vformat*", "std::__cxx11::basic_stringstream*",
            "std::__cxx11::basic_ostringstream*", "fmt::v*", "fmt.Sprintf", "fmt.Fprintf",
            "fmt.Printf", "fmt.Sprint*", "fmt.Errorf", "fmt.(*pp)*", "core::fmt::*",
            "<*core::fmt::*", "alloc::fmt::*", "PyUnicode_Format", "PyUnicode_FromFormat*",
            "PyUnicode_Format*", "unicode_format", "do_string_format", "MarkupIterator_next",
            "long_to_decimal_string_internal", "float_repr_style*", "PyOS_double_to_string",
            "file:/pprint.py", "file:/textwrap.py", "file:/string.py"),
    },
    {
        .id = "logging",
        .doing = "writing log messages",
        .advice = "log less, or check the level before the message is made",
        .rank = INTENT,
        .functions =
            NAMES("file:/logging/__init__.py", "file:/logging/handlers.py", "syslog", "vsyslog",
                  "vsyslog_internal", "log.(*Logger)*", "log.Printf", "log/slog.*"),
    },
    {
        .id = "json",
        .doing = "reading and writing JSON",
        .advice = "exchange less, keep what was decoded, or take a faster library",
        .rank = INTENT,
        .functions =
            NAMES("file:/json/decoder.py", "file:/json/encoder.py", "file:/json/__init__.py",
                  "file:/json/scanner.py", "encoding/json.*", "v8::internal::JsonParser*",
                  "v8::internal::JsonParse*", "v8::internal::JsonStringif*", "Builtin:JsonParse",
                  "Builtin:JsonStringify", "nlohmann::*", "rapidjson::*", "serde_json::*",
                  "json_loads", "json_load", "json_dumps", "json_tokener_parse*", "php_json_*",
                  "yyjson_*", "cJSON_*", "simdjson::*"),
    },
    {
        .id = "importing",
        .doing = "importing modules",
        .advice = "import fewer modules, or import them where they are used",
        .rank = INTENT,
        .functions = NAMES("find_and_load", "py::_find_and_load:*", "PyImport_ImportModule*",
                           "import_find_and_load"),
    },
    {
        .id = "serializing",
        .doing = "copying object trees (pickle, deepcopy)",
        .advice = "share objects, or copy only the parts that change",
        .rank = INTENT,
        .functions = NAMES("file:/copy.py", "file:/pickle.py", "file:/copyreg.py", "encoding/gob.*",
                           "v8::internal::ValueSerializer*", "v8::internal::ValueDeserializer*"),
    },
    /* ---- Work of libraries ---- */
    {
        .id = "growing-arrays",
        .doing = "moving arrays and strings to larger memory as they grow",
        .advice = "reserve the size before the loop that appends",
        .rank = LIBRARY,
        .functions =
            NAMES("*::_M_realloc_insert*", "*::_M_realloc_append*", "*::_M_default_append*",
                  "*::_M_reallocate_map*", "*::_M_mutate", "*basic_string*::reserve", "realloc",
                  "reallocarray", "int_realloc", "je_realloc", "tc_realloc", "mi_realloc*",
                  "runtime.growslice", "alloc::raw_vec::*grow*", "alloc::raw_vec::*reserve*",
                  "<alloc::raw_vec::*grow*", "<alloc::raw_vec::*reserve*", "Builtin:GrowFast*",
                  "runtime.concatstring*", "bytes.(*Buffer).grow", "strings.(*Builder).grow"),
    },
    {
        .id = "joining-text",
        .doing = "building text by joining strings",
        .advice = "collect the parts and join them once",
        .rank = LIBRARY,
        .functions = NAMES("strcat", "strncat", "strcat_chk", "unicode_concatenate",
                           "PyUnicode_Concat", "PyUnicode_Append", "bytes_concat",
                           "std::operator+*", "std::__cxx11::basic_string*::append",
                           "Builtin:StringAdd*", "v8::internal::String::Flatten",
                           "v8::internal::String::SlowFlatten", "Builtin:StringPrototypeConcat"),
    },
    {
        .id = "counting-references",
        .doing = "counting the references of shared objects",
        .advice = "pass a shared pointer by reference, or a plain pointer where nothing is kept",
        .rank = MACHINE, /* what happens to the object at its end outranks it */
        .functions = NAMES("std::shared_ptr*::shared_ptr", "std::shared_ptr*::~shared_ptr",
                           "std::shared_ptr*::operator=", "std::__shared_ptr*::__shared_ptr",
                           "std::__shared_ptr*::~__shared_ptr", "std::__shared_count*",
                           "std::_Sp_counted_*", "<alloc::sync::Arc*", "<alloc::rc::Rc*"),
    },
    {
        .id = "copying-objects",
        .doing = "copying objects",
        .advice = "pass by reference, move, or keep one copy",
        .rank = LIBRARY,
        .is_of_memory = true,
        .functions =
            NAMES("copy-constructor", "list_slice", "list___copy__", "list_copy", "PyDict_Copy",
                  "dict_copy", "set_copy", "list_extend", "Builtin:CloneFastJSArray*",
                  "Builtin:IterableToList*", "<*as core::clone::Clone>::clone",
                  "alloc::slice::*to_vec*", "v8::internal::Runtime_CloneObject*"),
    },
    {
        .id = "sorting",
        .doing = "sorting",
        .advice = "sort once, sort fewer elements, or make the comparison cheaper",
        .rank = LIBRARY,
        .calls_back = true,
        .functions = NAMES(
            "Perl_pp_sort", "Perl_sortsv*", "qsort", "qsort_r", "msort_with_tmp*", "std::sort*",
            "std::stable_sort*", "std::__sort*", "std::__introsort_loop*", "std::__insertion_sort*",
            "std::__final_insertion_sort*", "std::__unguarded_*", "std::__move_merge*",
            "std::__merge_*", "std::__adjust_heap*", "std::__inplace_*", "std::partial_sort*",
            "std::__make_heap*", "sort.*", "slices.Sort*", "slices.pdq*", "slices.insertionSort*",
            "core::slice::sort::*", "alloc::slice::stable_sort*", "list_sort", "list_sort_impl",
            "binarysort", "merge_lo", "merge_hi", "merge_at", "gallop_left", "gallop_right",
            "Builtin:ArrayPrototypeSort", "Builtin:ArrayTimSort*", "Builtin:TypedArrayMergeSort*",
            "Builtin:Merge*", "Builtin:ComplexMerge", "Builtin:GallopLeft", "Builtin:GallopRight"),
    },
    {
        .id = "searching-lists",
        .doing = "searching lists from end to end",
        .advice = "keep the elements in a set or a map, or sort them and search by halves",
        .rank = LIBRARY,
        .calls_back = true,
        .functions = NAMES(
            "list_contains", "list_index", "list_count", "list_remove", "list_index_impl",
            "list_remove_impl", "tuplecontains", "tuple_contains", "PySequence_IterSearch*",
            "std::find*", "std::__find*", "std::count*", "std::__count*", "std::any_of*",
            "std::search*", "std::__search*", "lfind", "lsearch", "slices.Index*",
            "slices.Contains*", "Builtin:ArrayIncludes*", "Builtin:ArrayIndexOf*",
            "Builtin:ArrayPrototypeIncludes", "Builtin:ArrayPrototypeIndexOf", "Builtin:ArrayFind*",
            "Builtin:ArrayPrototypeFind*", "<*SliceContains>*", "php_search_array"),
    },
    {
        .id = "searching-text",
        .doing = "searching text",
        .advice = "search once, or build an index of the text",
        .rank = LIBRARY,
        .functions = NAMES("strstr", "strcasestr", "memmem", "strpbrk", "strspn", "strcspn",
                           "strtok", "strtok_r", "two_way_long_needle", "two_way_short_needle",
                           "std::__cxx11::basic_string*::find*", "std::basic_string_view*::find*",
                           "strings.Index*", "strings.Contains*", "bytes.Index*",
                           "internal/bytealg.Index*", "core::str::pattern::*",
                           "<core::str::pattern::*", "ucs1lib_find*", "stringlib_find*",
                           "fastsearch*", "ucs1lib_fastsearch*", "PyUnicode_Find", "any_find_slice",
                           "Builtin:StringPrototypeIndexOf", "Builtin:StringPrototypeIncludes",
                           "v8::internal::String::IndexOf", "memchr::memmem::*"),
    },
    {
        .id = "matching-expressions",
        .doing = "matching regular expressions",
        .advice = "anchor the expression, make it simpler, or test a fixed text first",
        .rank = LIBRARY,
        .functions =
            NAMES("regexec", "re_search_internal", "re_search*", "re_match*", "pcre_exec",
                  "pcre2_match*", "pcre2_jit_match*", "std::__detail::_Executor*",
                  "std::regex_match*", "std::regex_search*", "std::regex_replace*",
                  "regexp.(*Regexp)*", "regexp.(*machine)*", "regex::*", "regex_automata::*",
                  "sre_ucs1_match*", "sre_ucs2_match*", "sre_ucs4_match*", "sre_match*",
                  "sre_ucs1_search*", "sre_ucs1_charset", "sre_ucs1_count", "RegExp:*",
                  "v8::internal::RegExp*", "v8::internal::IrregexpInterpreter*", "Builtin:RegExp*"),
    },
    {
        .id = "splitting-text",
        .doing = "splitting and cutting text",
        .advice = "go through the text in place, without a string for each part",
        .rank = LIBRARY,
        .is_of_memory = true,
        .functions =
            NAMES("strings.Split*", "strings.Fields*", "bytes.Split*", "strsep", "unicode_split*",
                  "PyUnicode_Split", "split_whitespace*", "ucs1lib_split*", "asciilib_split*",
                  "asciilib_split_whitespace", "std::__cxx11::basic_string*::substr",
                  "Builtin:StringPrototypeSplit", "v8::internal::Runtime_StringSplit",
                  "<core::str::iter::Split*", "std::getline*"),
    },
    {
        .id = "parsing-numbers",
        .doing = "reading numbers from text",
        .advice = "read each number once, or with a cheaper function (std::from_chars)",
        .rank = LIBRARY,
        .functions = NAMES(
            "strtol", "strtoll", "strtoul", "strtoull", "strtod", "strtof", "strtold",
            "strtol_l_internal", "strtoll_l_internal", "strtoul_l_internal", "strtod_l_internal",
            "strtof_l_internal", "atoi", "atol", "atof", "sscanf", "fscanf", "scanf",
            "isoc99_sscanf", "isoc99_fscanf", "vfscanf_internal", "std::num_get*",
            "std::istream::operator>>", "std::basic_istream*", "std::stoi*", "std::stod*",
            "std::stol*", "std::from_chars*", "strconv.Parse*", "strconv.Atoi", "strconv.readFloat",
            "core::num::*from_str*", "core::num::dec2flt*", "PyLong_FromString*",
            "PyFloat_FromString", "long_from_string_base", "PyOS_string_to_double"),
    },
    {
        .id = "digests",
        .doing = "computing digests and ciphers",
        .advice = "digest less data, or a cheaper function where no attacker is feared",
        .rank = LIBRARY,
        .functions = NAMES("PHP_MD5*", "PHP_SHA*", "EVP_Digest*", "EVP_Encrypt*", "EVP_Decrypt*",
                           "EVP_Cipher*", "SHA1_*", "SHA256_*", "SHA512_*", "MD5_*", "sha1_block*",
                           "sha256_block*", "sha512_block*", "md5_block*", "aesni_*", "AES_*",
                           "crypt_r", "crypto/*", "sha2::*", "md5::*", "EVP_MD_CTX*", "EVPUpdate",
                           "EVP_update*", "file:/hashlib.py"),
    },
    {
        .id = "queries",
        .doing = "running statements of a database",
        .advice = "ask for many rows in one statement, and add an index for what it searches",
        .rank = LIBRARY,
        .functions = NAMES("sqlite3_step", "sqlite3_exec", "sqlite3_prepare*", "sqlite3VdbeExec",
                           "sqlite3Step", "sqlite3LockAndPrepare", "pysqlite_*", "PQexec*",
                           "PQprepare", "PQgetResult", "mysql_query", "mysql_real_query",
                           "mysql_stmt_execute", "database/sql.*"),
    },
    {
        .id = "compressing",
        .doing = "compressing and inflating data",
        .advice = "take a faster level or format (zstd, lz4), or compress less",
        .rank = LIBRARY,
        .functions = NAMES("deflate", "deflate_*", "libdeflate_*", "inflate", "inflate_*",
                           "longest_match", "compress2", "uncompress*", "ZSTD_*", "HUF_*", "FSE_*",
                           "LZ4_*", "BZ2_*", "lzma_*", "lz_encode*", "Brotli*", "snappy::*",
                           "compress/*", "file:/gzip.py", "miniz_oxide::*", "flate2::*"),
    },
    {
        .id = "tables-by-order",
        .doing = "looking up ordered maps and sets",
        .advice = "take a hash table or a sorted array, or look up once and keep the place",
        .rank = LIBRARY,
        .calls_back = true,
        .functions = NAMES("std::_Rb_tree*", "std::map*", "std::set*", "std::multimap*", "tsearch",
                           "tfind", "bsearch", "std::lower_bound*", "std::__lower_bound*",
                           "std::__upper_bound*", "alloc::collections::btree::*"),
    },
    {
        .id = "tables-by-hash",
        .doing = "looking up hash tables",
        .advice = "look up once and keep the place, or take a cheaper key",
        .rank = LIBRARY,
        .functions = NAMES(
            "std::_Hashtable*", "std::__detail::_Hash*", "std::__detail::_Map_base*",
            "std::unordered_*", "std::_Hash_bytes", "runtime.mapaccess*", "runtime.mapassign*",
            "runtime.mapdelete*", "runtime.mapiter*", "internal/runtime/maps.*", "runtime.memhash*",
            "runtime.strhash*", "aeshash*", "hashbrown::*", "<*hash::sip::*", "core::hash::*",
            "<core::hash::*", "hsearch*", "dict_subscript", "PyDict_GetItem*", "PyDict_SetItem*",
            "lookdict*", "dictresize", "insertdict", "set_add_entry", "set_contains*",
            "set_lookkey", "unicode_hash", "tuplehash", "absl::*hash*", "g_hash_table_*",
            "Builtin:MapPrototype*", "Builtin:SetPrototype*", "Builtin:FindOrderedHash*"),
    },
    {
        .id = "random-numbers",
        .doing = "making random numbers",
        .advice = "seed one generator and keep it",
        .rank = LIBRARY,
        .in_kernel = true,
        .functions = NAMES("rand", "random", "rand_r", "random_r", "drand48*", "getrandom",
                           "std::random_device*", "std::mersenne_twister_engine*", "std::uniform_*",
                           "std::normal_distribution*", "math/rand.*", "math/rand/v2.*", "rand::*",
                           "rand_chacha::*", "file:/random.py", "x64_sys_getrandom"),
    },
    {
        .id = "dates",
        .doing = "converting dates and times",
        .advice = "keep times as numbers and convert them when they are shown",
        .rank = LIBRARY,
        .functions =
            NAMES("localtime", "localtime_r", "tz_convert", "tzset_internal", "tzfile_*",
                  "tz_compute", "mktime", "mktime_internal", "gmtime", "gmtime_r", "strftime*",
                  "strptime*", "offtime", "time.Time.Format", "time.Parse",
                  "time.Time.AppendFormat", "file:/_strptime.py", "file:/datetime.py", "chrono::*"),
    },
    {
        .id = "clock",
        .doing = "reading the clock",
        .advice = "read the clock less often",
        .rank = LIBRARY,
        .in_kernel = true,
        .functions =
            NAMES("clock_gettime", "gettimeofday", "vdso_clock_gettime", "vdso_gettimeofday",
                  "time.now", "time.Now", "time.Since", "runtime.nanotime*", "std::chrono::*",
                  "std::time::*", "x64_sys_clock_gettime", "read_tsc", "pvclock_clocksource_read*",
                  "time_perf_counter", "time_time", "pysys_clock*"),
    },
    {
        .id = "casts",
        .doing = "finding out the types of objects (dynamic_cast)",
        .advice = "take a virtual function, or keep the type with the object",
        .rank = LIBRARY,
        .functions = NAMES("dynamic_cast", "cxxabiv1::*do_dyncast*", "__cxxabiv1::*",
                           "runtime.assertE2I*", "runtime.typeAssert*", "object_isinstance",
                           "object_recursive_isinstance", "file:/abc.py"),
    },
    {
        .id = "mathematics",
        .doing = "computing functions of mathematics",
        .advice = "compute each value once, or take a coarser function",
        .rank = LIBRARY,
        .functions = NAMES("sin", "cos", "tan", "sincos", "exp", "exp2", "log", "log2", "log10",
                           "pow", "sqrt", "atan", "atan2", "asin", "acos", "sinf", "cosf", "expf",
                           "logf", "powf", "fmod", "ieee754_*", "exp1", "math.*", "k_mul*",
                           "x_mul*", "x_add", "x_divrem", "l_divmod", "long_pow"),
    },
    {
        .id = "locks",
        .doing = "taking and waiting for locks",
        .advice = "hold locks for less time, or share less between threads",
        .rank = LIBRARY,
        .in_kernel = true,
        .functions =
            NAMES("pthread_mutex_lock*", "pthread_mutex_unlock*", "pthread_mutex_trylock*",
                  "pthread_mutex_cond_lock*", "pthread_rwlock_*", "pthread_spin_lock", "lll_lock_*",
                  "lll_unlock_*", "futex_*", "do_futex", "x64_sys_futex", "do_sys_futex",
                  "native_queued_spin_lock_slowpath", "pv_queued_spin_lock_slowpath",
                  "rwsem_down_*", "mutex_lock", "mutex_spin_on_owner", "osq_lock", "runtime.lock2",
                  "runtime.unlock2", "sync.(*Mutex)*", "sync.(*RWMutex)*", "std::sys::*Mutex*",
                  "std::sync::*", "std::mutex::lock", "std::unique_lock*", "std::lock_guard*",
                  "parking_lot::*", "take_gil", "PyThread_acquire_lock*", "sem_wait*"),
    },
    {
        .id = "file-pages",
        .doing = "bringing pages of mapped files into memory",
        .advice = "touch less of the files; programs and libraries are mapped files, too",
        .rank = LIBRARY,
        .in_kernel = true,
        .functions = NAMES("filemap_fault", "filemap_map_pages", "do_read_fault", "do_cow_fault",
                           "next_uptodate_folio"),
    },
    /* ---- The system ---- */
    {
        .id = "allocating",
        .doing = "allocating and freeing memory",
        .advice = "keep objects and buffers, and use them again",
        .rank = SYSTEM,
        .functions = NAMES(
            "malloc", "calloc", "free", "cfree", "int_malloc", "int_free*", "malloc_consolidate",
            "unlink_chunk*", "sysmalloc", "tcache_*", "memalign", "posix_memalign", "aligned_alloc",
            "systrim*", "operator new*", "operator delete*", "std::allocator*",
            "std::__new_allocator*", "je_malloc", "je_free", "tc_malloc", "tc_free", "tcmalloc::*",
            "mi_malloc*", "mi_free*", "runtime.mallocgc*", "runtime.newobject", "runtime.makeslice",
            "rust_alloc*", "rdl_alloc", "rust_dealloc*", "rdl_dealloc", "alloc::alloc::*",
            "alloc::raw_vec::*", "<alloc::raw_vec::*", "PyObject_Malloc*", "PyObject_Free",
            "PyMem_*", "pymalloc_alloc*", "PyObject_GC_New*", "PyObject_GC_Del",
            "PyType_GenericAlloc", "subtype_dealloc", "gc_alloc", "brk", "sbrk", "do_brk_flags",
            "x64_sys_brk", "v8::internal::Heap::AllocateRaw*", "v8::internal::Factory::New*"),
    },
    {
        .id = "page-faults",
        .doing = "getting fresh pages of memory from the kernel",
        .advice = "use memory again in place of getting and returning it",
        .rank = SYSTEM,
        .functions = NAMES("asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault",
                           "handle_mm_fault", "__handle_mm_fault", "do_anonymous_page",
                           "clear_page_erms", "clear_page_orig", "clear_page_rep", "do_page_fault",
                           "do_mem_abort", "el0_da", "page_fault", "wp_page_copy"),
    },
    {
        .id = "mapping-memory",
        .doing = "mapping and unmapping memory",
        .advice = "map once and keep it; raise the allocator's threshold for mappings",
        .rank = SYSTEM,
        .functions = NAMES("mmap", "mmap64", "munmap", "mremap", "mprotect", "madvise",
                           "x64_sys_mmap", "x64_sys_munmap", "x64_sys_madvise", "x64_sys_mprotect",
                           "x64_sys_mremap", "do_munmap", "vm_mmap_pgoff", "runtime.sysMap",
                           "runtime.sysUsed", "runtime.madvise"),
    },
    {
        .id = "system-calls-write",
        .doing = "in system calls that write",
        .advice = "write larger pieces: gather them in a buffer",
        .rank = SYSTEM,
        .is_of_files = true,
        .functions = NAMES(
            "write", "pwrite", "pwrite64", "writev", "pwritev*", "send", "sendto", "sendmsg",
            "sendfile", "sendfile64", "copy_file_range", "splice", "ksys_write", "vfs_write",
            "ksys_pwrite64", "x64_sys_write", "x64_sys_writev", "x64_sys_sendto", "x64_sys_sendmsg",
            "sys_sendto", "new_sync_write", "syscall.write", "syscall.Write",
            "internal/poll.(*FD).Write", "fputs", "fwrite", "IO_fwrite", "IO_new_file_write",
            "new_do_write", "IO_do_write", "FileIO_write", "_io_FileIO_write"),
    },
    {
        .id = "system-calls-read",
        .doing = "in system calls that read",
        .advice = "read larger pieces into a buffer, or map the file",
        .rank = SYSTEM,
        .is_of_files = true,
        .functions =
            NAMES("read", "pread", "pread64", "readv", "preadv*", "recv", "recvfrom", "recvmsg",
                  "ksys_read", "vfs_read", "ksys_pread64", "x64_sys_read", "x64_sys_pread64",
                  "x64_sys_readv", "x64_sys_recvfrom", "x64_sys_recvmsg", "sys_recvfrom",
                  "syscall.read", "syscall.Read", "internal/poll.(*FD).Read", "fread", "IO_fread",
                  "fgets", "fgetc", "getline", "getdelim", "IO_getdelim", "IO_new_file_underflow",
                  "underflow", "uflow", "filemap_read"),
    },
    {
        .id = "system-calls-files",
        .doing = "opening files, reading folders and asking for the status of files",
        .advice = "open each file once, and keep what was found out",
        .rank = SYSTEM,
        .is_of_files = true,
        .functions = NAMES(
            "open", "open64", "openat", "openat64", "creat", "close", "stat", "stat64", "fstat",
            "fstat64", "lstat", "lstat64", "fstatat64", "statx", "access", "faccessat",
            "getdents64", "readdir", "readdir64", "opendir", "readlink", "unlink", "rename",
            "mkdir", "getxattr", "lgetxattr", "x64_sys_openat", "x64_sys_open", "x64_sys_close",
            "x64_sys_newfstatat", "x64_sys_newstat", "x64_sys_statx", "x64_sys_access",
            "x64_sys_getdents64", "x64_sys_unlink*", "do_sys_openat2", "do_filp_open",
            "path_openat", "vfs_statx", "filp_close", "os.Open*", "os.Stat*"),
    },
    {
        .id = "yielding",
        .doing = "giving up the CPU and asking again at once (sched_yield)",
        .advice = "wait at a lock or a condition variable, which wakes the thread",
        .rank = SYSTEM,
        .functions = NAMES("sched_yield", "x64_sys_sched_yield", "do_sched_yield", "thrd_yield",
                           "pthread_yield", "std::this_thread::yield", "runtime.osyield*"),
    },
    {
        .id = "system-calls-wait",
        .doing = "waiting for other threads, the network or time",
        .advice = "wait for more at once: fewer, longer turns",
        .rank = SYSTEM,
        .functions = NAMES("poll", "ppoll", "select", "epoll_wait", "epoll_pwait*", "nanosleep",
                           "clock_nanosleep*", "usleep", "pause", "sigwait*", "do_epoll_wait",
                           "ep_poll", "do_sys_poll", "x64_sys_epoll_wait", "x64_sys_poll",
                           "x64_sys_nanosleep", "x64_sys_clock_nanosleep", "runtime.futex*",
                           "runtime.netpoll*", "runtime.usleep*", "pthread_cond_wait*",
                           "pthread_cond_timedwait*", "pthread_join*", "accept", "accept4"),
    },
    {
        .id = "system-calls",
        .doing = "in system calls",
        .advice = "make fewer of them",
        .rank = SYSTEM,
        .functions = NAMES("do_syscall_64", "entry_SYSCALL_64*", "x64_sys_*", "syscall",
                           "syscall.Syscall*", "syscall.RawSyscall*", "runtime/internal/syscall.*",
                           "internal/runtime/syscall.*", "el0_svc*", "invoke_syscall", "getpid",
                           "ioctl", "lseek", "lseek64", "kill", "getppid", "gettid"),
    },
    /* ---- Single functions of the C library ---- */
    {
        .id = "copying-memory",
        .doing = "copying memory",
        .advice = "pass large objects by reference, or copy less of them",
        .rank = MACHINE,
        .functions =
            NAMES("memcpy", "memmove", "mempcpy", "memcpy_chk", "memmove_chk", "strcpy", "strncpy",
                  "stpcpy", "strdup", "strndup", "bcopy", "runtime.memmove", "runtime.typedmemmove",
                  "std::copy*", "std::__copy*", "std::__uninitialized_copy*",
                  "std::uninitialized_copy*", "std::__do_uninit_copy*", "std::char_traits*",
                  "core::ptr::copy*", "core::intrinsics::copy*"),
    },
    {
        .id = "filling-memory",
        .doing = "filling memory with one value",
        .advice = "clear less, or only what will be read",
        .rank = MACHINE,
        .functions = NAMES("memset", "memset_chk", "bzero", "explicit_bzero", "std::fill*",
                           "std::__fill*", "std::__uninitialized_default_n*",
                           "std::__uninitialized_fill*", "runtime.memclr*"),
    },
    {
        .id = "lengths-of-strings",
        .doing = "measuring the length of strings",
        .advice = "measure once before the loop, or keep the length beside the string",
        .rank = MACHINE,
        .functions = NAMES("strlen", "strnlen", "wcslen", "std::char_traits<char>::length",
                           "std::__cxx11::list*::size"),
    },
    {
        .id = "comparing-text",
        .doing = "comparing strings and memory",
        .advice = "compare lengths, hashes or numbers first",
        .rank = MACHINE,
        .functions =
            NAMES("strcmp", "strncmp", "strcasecmp", "strncasecmp", "strcoll", "strcoll_l",
                  "memcmp", "bcmp", "memcmpeq", "strcasecmp_l*", "wcscmp", "runtime.memequal*",
                  "runtime.cmpstring*", "internal/bytealg.Compare*", "internal/bytealg.Equal*",
                  "unicode_compare*", "PyUnicode_RichCompare", "PyUnicode_EqualTo*", "unicode_eq",
                  "fnmatch", "std::operator==*", "std::__cxx11::basic_string*::compare",
                  "Builtin:StringEqual", "Builtin:StringLessThan*"),
    },
    {
        .id = "searching-bytes",
        .doing = "searching memory for single bytes",
        .advice = "search once and keep the places",
        .rank = MACHINE,
        .functions =
            NAMES("memchr", "memrchr", "rawmemchr", "strchr", "strrchr", "strchrnul", "index",
                  "rindex", "internal/bytealg.IndexByte*", "core::slice::memchr*", "memchr::*"),
    },
};
const size_t pt_why_cause_count = sizeof pt_why_causes / sizeof pt_why_causes[0];

/* ---- Names ---- */

/* Affixes of glibc's variants of one function: __memmove_avx_unaligned_erms, __GI___libc_write. */
static const char *const variants[] = {
    "_avx",       "_sse",  "_evex",  "_erms",   "_ssse3",    "_generic",
    "_unaligned", "_fma",  "_sve",   "_neon",   "_thunderx", "_falkor",
    "_a64fx",     "_mops", "_ifunc", "_cancel", "_nocancel", NULL,
};

/* The name of a C function as the table spells it: *ret_size bytes of name, from the return value
 * on. */
static const char *plain_c_name(const char *name, size_t *ret_size)
{
    const char *at = name;
    *ret_size = strlen(name);
    if (strchr(name, ':') != NULL || strchr(name, '.') != NULL) return name;
    while (*at == '_')
        at++;
    if (pt_begins(at, "GI_")) {
        at += strlen("GI_");
        while (*at == '_')
            at++;
    }
    if (pt_begins(at, "libc_")) at += strlen("libc_");
    size_t size = strcspn(at, "@");
    for (const char *const *v = variants; *v != NULL; v++) {
        const char *const found = strstr(at, *v);
        if (found != NULL && found > at && (size_t)(found - at) < size) size = (size_t)(found - at);
    }
    *ret_size = size;
    return at;
}

/* Does the text match the pattern, in which each "*" stands for any text? The parts between are
 * looked for from left to right, each at its first place; the first part begins the text, the last
 * one ends it. */
static bool matches_pattern(const char *pattern, const char *text, size_t size)
{
    const char *at = text, *const end = text + size;
    for (const char *part = pattern;; part += strcspn(part, "*") + 1) {
        const size_t length = strcspn(part, "*");
        const size_t left = (size_t)(end - at);
        if (length > left) return false;
        if (part[length] == '\0') {
            if (part == pattern) return left == length && memcmp(at, part, length) == 0;
            return memcmp(end - length, part, length) == 0;
        }
        const char *found = at;
        if (part != pattern)
            found = memmem(at, left, part, length);
        else if (memcmp(at, part, length) != 0)
            return false;
        if (found == NULL) return false;
        at = found + length;
    }
}

/* "_ZNSt6vectorIlSaIlEEC2ERKS1_": a constructor (C1 to C5) of one argument, a reference to const.
 */
static bool is_copy_constructor(const char *linkage)
{
    static const char parameter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!pt_begins(linkage, "_ZN")) return false;
    const char *rest =
        linkage + strlen(linkage); /* must be the type of the parameter, and nothing else */
    while (rest > linkage && strchr(parameter, rest[-1]) != NULL)
        rest--;
    for (const char *at = strstr(linkage, "ERKS"); at != NULL; at = strstr(at + 1, "ERKS"))
        if (at >= linkage + 5 && at[-2] == 'C' && at[-1] >= '1' && at[-1] <= '5' && at + 4 >= rest)
            return true;
    return false;
}

typedef struct {
    const char *name, *c_name, *system_name, *file;
    size_t size, c_size;
    const char *builtin; /* of V8, without "Builtin:" or "Builtins_"; NULL = it is none */
} candidate;

/* V8's dump calls a function "Builtin:ArrayMap", the symbol table of node "Builtins_ArrayMap". */
static const char *builtin_name(const char *name)
{
    if (pt_begins(name, "Builtin:")) return name + strlen("Builtin:");
    return pt_begins(name, "Builtins_") ? name + strlen("Builtins_") : NULL;
}

static bool shows_pattern(const candidate *c, const char *pattern, pt_why_origin origin)
{
    /* Most patterns begin otherwise; f, c and B begin the special ones below. */
    const char first = pattern[0];
    if (first != c->name[0] && first != c->c_name[0] && first != '*' && first != 'f' &&
        first != 'c' && first != 'B')
        return false;
    if (origin == PT_WHY_OF_PROGRAM && strstr(pattern, "::") == NULL && c->name[0] != '_')
        return false;
    if (pt_begins(pattern, "file:")) return strstr(c->file, pattern + strlen("file:")) != NULL;
    if (strcmp(pattern, "copy-constructor") == 0) return is_copy_constructor(c->system_name);
    if (pt_begins(pattern, "Builtin:"))
        return c->builtin != NULL &&
               matches_pattern(pattern + strlen("Builtin:"), c->builtin, strlen(c->builtin));
    return matches_pattern(pattern, c->c_name, c->c_size) ||
           matches_pattern(pattern, c->name, c->size);
}

uint8_t pt_why_cause_of(const char *name, const char *system_name, const char *file,
                        pt_why_origin origin)
{
    candidate c = {.name = pt_without_return_type(name), .system_name = system_name, .file = file};
    c.size = strlen(c.name);
    c.c_name = plain_c_name(c.name, &c.c_size);
    c.builtin = builtin_name(c.name);
    if (c.size == 0) return PT_WHY_NO_CAUSE;
    for (size_t i = PT_WHY_INTERPRETER; i < pt_why_cause_count; i++) {
        const pt_why_cause *const cause = &pt_why_causes[i];
        if (origin == PT_WHY_OF_KERNEL && cause->rank > SYSTEM && !cause->in_kernel) continue;
        for (const char *const *pattern = cause->functions; *pattern != NULL; pattern++)
            if (shows_pattern(&c, *pattern, origin)) return (uint8_t)i;
    }
    return PT_WHY_NO_CAUSE;
}
