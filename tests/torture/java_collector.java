// java_collector.java SECONDS: classes that the machine loads and unloads all the time. Their names, and those of their methods, have
// a number, and tell who calls whom: Made0017.leaf_0017 is called by Made0017.mid_0017, that by Made0017.top_0017, that by from_1 (the
// number's rest of 8). java_collector.py judges recorded stacks by these rules.
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

class Collector {
    static final String TEMPLATE = "public class Made9999 {\n"
        + "  public static long top_9999(long n) { return mid_9999(n) + 1; }\n"
        + "  static long mid_9999(long n) {\n    return leaf_9999(n) + 1;\n  }\n"
        + "  static long leaf_9999(long n) {\n    long sum = n;\n    for (long i = 0; i < n; i++) sum = sum * 31 + (sum >>> 7) + i;\n    return sum;\n  }\n}\n";
    static volatile long sink;

    interface Call { long go() throws Exception; }
    static void from_0(Call c) throws Exception { sink += c.go(); }
    static void from_1(Call c) throws Exception { sink += c.go(); }
    static void from_2(Call c) throws Exception { sink += c.go(); }
    static void from_3(Call c) throws Exception { sink += c.go(); }
    static void from_4(Call c) throws Exception { sink += c.go(); }
    static void from_5(Call c) throws Exception { sink += c.go(); }
    static void from_6(Call c) throws Exception { sink += c.go(); }
    static void from_7(Call c) throws Exception { sink += c.go(); }
    static void from(int rest, Call c) throws Exception {
        switch (rest) {
        case 0: from_0(c); break;
        case 1: from_1(c); break;
        case 2: from_2(c); break;
        case 3: from_3(c); break;
        case 4: from_4(c); break;
        case 5: from_5(c); break;
        case 6: from_6(c); break;
        default: from_7(c);
        }
    }

    static class Loader extends ClassLoader {
        Class<?> make(byte[] bytes) { return defineClass(null, bytes, 0, bytes.length); }
    }

    static byte[] compile() throws Exception {
        Path folder = Files.createTempDirectory("collector"), source = folder.resolve("Made9999.java"), made = folder.resolve("Made9999.class");
        Files.write(source, TEMPLATE.getBytes(StandardCharsets.UTF_8));
        javax.tools.ToolProvider.getSystemJavaCompiler().run(null, null, null, "-g", source.toString());
        byte[] bytes = Files.readAllBytes(made);
        for (Path p : new Path[] {source, made, folder}) Files.delete(p);
        return bytes;
    }

    /** The class with that number: each 9999 in its bytes is in a name. */
    static byte[] numbered(byte[] template, int number) {
        byte[] bytes = template.clone(), digits = String.format("%04d", number).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i + 4 <= bytes.length; i++)
            if (bytes[i] == '9' && bytes[i + 1] == '9' && bytes[i + 2] == '9' && bytes[i + 3] == '9')
                System.arraycopy(digits, 0, bytes, i, 4);
        return bytes;
    }

    static void work(byte[] template, long until, int seed) {
        Random random = new Random(seed);
        try {
            while (System.nanoTime() < until) {
                List<Method> methods = new ArrayList<>();
                int[] numbers = new int[20];
                for (int i = 0; i < numbers.length; i++) {
                    numbers[i] = random.nextInt(9999);
                    Class<?> made = new Loader().make(numbered(template, numbers[i]));
                    methods.add(made.getMethod(String.format("top_%04d", numbers[i]), long.class));
                }
                for (int round = 0; round < 200; round++) {
                    int i = random.nextInt(numbers.length);
                    Method m = methods.get(i);
                    from(numbers[i] % 8, () -> (Long) m.invoke(null, 500L + random.nextInt(3000)));
                }
                if (random.nextInt(8) == 0) System.gc();
            }
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] template = compile();
        long until = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            int seed = i;
            threads[i] = new Thread(() -> work(template, until, seed));
            threads[i].start();
        }
        for (Thread t : threads) t.join();
    }
}
