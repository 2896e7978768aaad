// java_stacks.java EXPECTED SECONDS: goes through Java in many ways, again and again, and writes the callers of each function at_N
// to EXPECTED: {"at_1": [[name, file, line], ...], ...}. stacks_check.py compares them with what was recorded.
class Stacks {
    static void at_1(long n) { at("at_1"); sink += busy(n); }
    static void at_2(long n) { at("at_2"); sink += busy(n); }
    static void at_3(long n) { at("at_3"); sink += busy(n); }
    static void at_4(long n) { at("at_4"); sink += busy(n); }
    static void at_5(long n) { at("at_5"); sink += busy(n); }
    static void at_6(long n) { at("at_6"); sink += busy(n); }
    static void at_7(long n) { at("at_7"); sink += busy(n); }
    static void at_8(long n) { at("at_8"); sink += busy(n); }
    static void at_9(long n) { at("at_9"); sink += busy(n); }
    static void at_10(long n) { at("at_10"); sink += busy(n); }
    static void at_11(long n) { at("at_11"); sink += busy(n); }
    static void at_12(long n) { at("at_12"); sink += busy(n); }
    static void at_13(long n) { at("at_13"); sink += busy(n); }
    static void at_14(long n) { at("at_14"); sink += busy(n); }
    static void at_15(long n) { at("at_15"); sink += busy(n); }
    static void at_16(long n) { at("at_16"); sink += busy(n); }
    static void at_17(long n) { at("at_17"); sink += busy(n); }
    static void at_18(long n) { at("at_18"); sink += busy(n); }
    static final int FIRST_LINE = 4; // of the functions above

    static volatile long sink;
    static final java.util.concurrent.ConcurrentHashMap<String, String> expected = new java.util.concurrent.ConcurrentHashMap<>();

    static long busy(long n) {
        long sum = n;
        for (long i = 0; i < n; i++)
            sum = sum * 31 + (sum >>> 7) + i;
        return sum;
    }

    /** Notes the callers of the function that calls this one, the first time. */
    static void at(String place) {
        if (!expected.containsKey(place)) note(place);
    }

    static void note(String place) {
        StringBuilder text = new StringBuilder();
        StackTraceElement[] all = new Throwable().getStackTrace();
        for (int i = 3; i < all.length; i++) {
            StackTraceElement e = all[i];
            String name = e.getClassName(), file = e.getFileName();
            if (file == null || name.startsWith("java.lang.invoke.")) continue;
            int dot = name.lastIndexOf('.');
            String folder = dot < 0 ? "" : name.substring(0, dot + 1).replace('.', '/');
            text.append(text.length() > 0 ? ", " : "").append("[\"").append(name).append('.').append(e.getMethodName());
            text.append("\", \"").append(folder).append(file).append("\", ").append(Math.max(e.getLineNumber(), 0)).append("]");
        }
        expected.putIfAbsent(place, "[" + text + "]");
    }

    interface Shape { void go(long n); default void twice(long n) { go(n); } }
    static class Square implements Shape { public void go(long n) { at_3(n); } }
    static class Circle implements Shape { public void go(long n) { at_4(n); } }
    static class Ring extends Circle { @Override public void twice(long n) { super.twice(n); } }
    static abstract class Base { Base(long n) { run(n); } abstract void run(long n); }
    static class Derived extends Base {
        Derived(long n) {
            super(n);
        }
        void run(long n) { at_5(n); }
    }
    static class Once {
        static {
            at_6(3000000);
        }
        static void touch() { }
    }
    static class Bad extends RuntimeException {
        Bad(long n) {
            super("bad");
            at_7(n);
        }
    }

    static void deep(int depth, long n) {
        if (depth > 0)
            deep(depth - 1, n);
        else
            at_8(n);
    }
    static void inner(long n) { at_9(n); }
    static void middle(long n) { inner(n); }
    static void outer(long n) { middle(n); }
    static synchronized void locked(long n) { at_10(n); }
    static long many(int a, long b, double c, float d, long e, int f, long g, double h, long i, long j, Object k) {
        at_11(b + a + f);
        return (long) (c + d + e + g + h + i + j);
    }
    public static void reflected(long n) { at_12(n); }
    static void handled(long n) { at_13(n); }
    int compare(long n, Integer a, Integer b) {
        if (a == 1) at_14(n);
        return a.compareTo(b);
    }
    static boolean isEven(int depth, long n) { return depth == 0 ? last(n) : isOdd(depth - 1, n); }
    static boolean isOdd(int depth, long n) { return depth != 0 && isEven(depth - 1, n); }
    static boolean last(long n) { at_15(n); return true; }
    static void loops(long n) {
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 5; k++) sink += k;
            if (i == 1)
                at_16(n);
        }
    }
    static <T extends Comparable<T>> T generic(T a, T b, long n) {
        try {
            if (a.compareTo(b) > 10000) throw new Bad(n);
            at_17(n);
        } finally {
            sink++;
        }
        return a;
    }

    static int rounds;
    static void round(long n) throws Throwable {
        at_1(n);
        Runnable lambda = () -> at_2(n);
        lambda.run();
        Shape[] shapes = {new Square(), new Circle()};
        for (Shape s : shapes) if (s instanceof Square) s.twice(n);
        new Ring().twice(n);
        new Derived(n);
        try { throw new Bad(n); } catch (Bad e) { sink++; }
        deep(40, n);
        outer(n);
        locked(n);
        sink += many(1, n, 2, 3, 4, 5, 6, 7, 8, 9, "");
        if (rounds++ < 8) REFLECTED.invoke(null, 2000000); // later calls go through code that Java makes
        HANDLED.invokeExact(n);
        Integer[] two = {1, 2};
        Stacks self = new Stacks();
        java.util.Arrays.sort(two, (a, b) -> self.compare(n, b, a));
        isEven(8, n);
        loops(n);
        generic(3, 4, n);
        java.util.stream.IntStream.range(0, 1).forEach(i -> at_18(n));
    }
    static java.lang.reflect.Method REFLECTED;
    static java.lang.invoke.MethodHandle HANDLED;

    static void all(long until) {
        try {
            for (long n = 500; System.nanoTime() < until; n = 20000) round(n);
        } catch (Throwable e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Throwable {
        long until = System.nanoTime() + (long) (Double.parseDouble(args[1]) * 1e9);
        REFLECTED = Stacks.class.getMethod("reflected", long.class);
        HANDLED = java.lang.invoke.MethodHandles.lookup().findStatic(Stacks.class, "handled",
            java.lang.invoke.MethodType.methodType(void.class, long.class));
        Once.touch();
        Thread worker = new Thread(() -> all(until));
        worker.start();
        worker.join();
        StringBuilder text = new StringBuilder();
        for (java.util.Map.Entry<String, String> e : expected.entrySet())
            text.append(text.length() > 0 ? ",\n" : "{").append("\"Stacks.").append(e.getKey()).append("\": ").append(e.getValue());
        java.nio.file.Files.write(java.nio.file.Paths.get(args[0]), (text + "}\n").getBytes());
        Thread.sleep(500); // the recorder reads methods that it meets last while the process is there
    }
}
