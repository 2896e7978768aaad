/* google/profiler.h: the older name of gperftools/profiler.h. */
#include <gperftools/profiler.h>
