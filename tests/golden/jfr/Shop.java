import java.util.*;

/** Spends its time in four functions, allocates in one, and waits for a lock in two threads. */
public class Shop {
    static volatile double sink;
    static final Object counter = new Object();
    static final List<byte[]> kept = new ArrayList<>();

    static double price(int n) {
        double x = 0;
        for (int i = 1; i < n; i++) x += Math.sqrt(i) / (i + x);
        return x;
    }

    static double discount(int n) {
        double x = 1;
        for (int i = 1; i < n; i++) x = x * 1.0000001 + i % 7;
        return x;
    }

    static void remember(int n) {
        for (int i = 0; i < n; i++) {
            if (kept.size() > 1000) kept.clear();
            kept.add(new byte[2000 + i % 100]);
        }
    }

    static void queue() throws InterruptedException {
        synchronized (counter) {
            Thread.sleep(25);
        }
    }

    static void till(int customers) {
        for (int i = 0; i < customers; i++) {
            sink += price(200_000);
            sink += discount(100_000);
            remember(200);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] waiting = new Thread[2];
        for (int i = 0; i < waiting.length; i++) {
            waiting[i] = new Thread(() -> {
                try {
                    for (int k = 0; k < 6; k++) queue();
                } catch (InterruptedException e) {
                }
            }, "customer-" + i);
            waiting[i].start();
        }
        till(Integer.parseInt(args[0]));
        for (Thread t : waiting) t.join();
    }
}
