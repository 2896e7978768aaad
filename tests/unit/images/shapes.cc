// shapes.cc: what makes naming an address hard: templates, inlined calls three deep, an anonymous
// namespace, a lambda, an operator, static functions. Needs no library.
#define NOINLINE __attribute__((noinline))
#define INLINE   inline __attribute__((always_inline))

namespace geometry {

template <typename T> struct vector {
    T x, y;
    INLINE T dot(const vector &o) const
    {
        return x * o.x + y * o.y;
    }
};

namespace {
INLINE int sign_of(int v)
{
    return v > 0 ? 1 : v < 0 ? -1 : 0;
}

struct walker {
    int steps;
    INLINE int walk(int from)
    {
        int sum = from;
        for (int i = 0; i < steps; i++)
            sum += sign_of(sum) * i;
        return sum;
    }
};
} // namespace

template <typename T> NOINLINE T length_squared(const vector<T> *all, int count)
{
    T sum = 0;
    for (int i = 0; i < count; i++)
        sum += all[i].dot(all[i]);
    return sum;
}

NOINLINE int walk_all(int count)
{
    walker w = {count};
    return w.walk(count) + w.walk(-count);
}

NOINLINE bool operator<(const vector<int> &a, const vector<int> &b)
{
    return a.dot(a) < b.dot(b);
}

} // namespace geometry

static NOINLINE int stay(int v)
{
    auto twice = [](int by) { return by * 2; };
    return twice(v) + 1;
}

extern "C" NOINLINE int run_shapes(int n)
{
    geometry::vector<int> ints[2] = {{n, 2}, {3, n}};
    geometry::vector<long> longs[2] = {{n, 2}, {3, n}};
    return geometry::length_squared(ints, 2) + (int)geometry::length_squared(longs, 2) +
           geometry::walk_all(n) + (ints[0] < ints[1]) + stay(n);
}

#ifdef WITH_MAIN
int main(int argc, char **)
{
    return run_shapes(argc) & 1;
}
#endif
